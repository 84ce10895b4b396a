"""Whether requests of an Ingress may stay in their zone, or why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ingress.migration.zone_columns import YES
from tests.integration.manifests import endpoint_slice, service
from tests.unit.ingress.migration.dumped import PlacedEndpoint, checked, nginx, of


@pytest.mark.parametrize(
    ("annotations", "word"),
    [
        ({"service_upstream": "true"}, "service-upstream"),
        ({"affinity": "cookie"}, "affinity"),
        ({"upstream_hash_by": "$host"}, "upstream-hash-by"),
    ],
)
def test_what_chooses_an_endpoint_without_regard_to_zones(
    tmp_path: Path, annotations: dict[str, str], word: str
) -> None:
    zones = of(checked(tmp_path, nginx("web", **annotations)), "web").zones
    assert zones.startswith("no, because ")
    assert word in zones


def test_others_may_stay(tmp_path: Path) -> None:
    assert of(checked(tmp_path, nginx("web", service_upstream="maybe")), "web").zones == YES


@pytest.mark.parametrize(("zone", "expected"), [(None, "no, because the EndpointSlices name no zone"), ("zone-a", YES)])
def test_slices_without_zones_keep_nobody(tmp_path: Path, zone: str | None, expected: str) -> None:
    placed = endpoint_slice(PlacedEndpoint("cart", zone))
    placed["endpoints"][0]["addresses"] = ["10.0.0.1"]
    assert of(checked(tmp_path, nginx("web"), service("cart"), placed), "web").zones == expected
