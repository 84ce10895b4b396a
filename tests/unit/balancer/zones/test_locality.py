"""Local or remote only where both zones are known."""

from __future__ import annotations

import pytest

from balancer.model.zones import Zone
from balancer.zones.locality import Locality, locality_of

A, B = Zone("zone-a"), Zone("zone-b")


@pytest.mark.parametrize(
    ("endpoint_zone", "own_zone", "expected"),
    [
        (A, A, Locality.LOCAL),
        (B, A, Locality.REMOTE),
        (None, A, Locality.UNKNOWN),
        (A, None, Locality.UNKNOWN),
        (None, None, Locality.UNKNOWN),
    ],
)
def test_locality(endpoint_zone: Zone | None, own_zone: Zone | None, expected: Locality) -> None:
    assert locality_of(endpoint_zone, own_zone) is expected


def test_the_values_are_the_labels_of_metrics() -> None:
    assert [locality.value for locality in Locality] == ["local", "remote", "unknown"]
