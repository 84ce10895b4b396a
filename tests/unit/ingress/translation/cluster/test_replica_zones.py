"""A zone with endpoints and without a replica is a finding, unless nobody knows where replicas are."""

from __future__ import annotations

import pytest

from balancer.model.zones import Zone
from ingress.findings import Severity
from ingress.translation.cluster.replica_zones import ReplicaZones

A, B, C = Zone("zone-a"), Zone("zone-b"), Zone("zone-c")
SERVICES = [frozenset({A, B, C}), frozenset({A, B})]


def placed(*own: Zone, drained: frozenset[Zone] = frozenset()) -> ReplicaZones:
    return ReplicaZones(drained=drained).with_own([(zone, 1) for zone in own]).changed((), SERVICES)


def test_each_zone_without_a_replica_is_named_with_the_repair() -> None:
    first, second = placed(A).findings()
    assert [(each.kind, each.name, each.reason) for each in (first, second)] == [
        ("Zone", "zone-b", "ZoneWithoutReplica"),
        ("Zone", "zone-c", "ZoneWithoutReplica"),
    ]
    assert first.severity is Severity.DEGRADED
    assert "give the Deployment of zonal a replica there" in first.message


@pytest.mark.parametrize("known", [placed(), placed(A, B, C), placed(A, B, drained=frozenset({C}))])
def test_replicas_of_which_nothing_is_known_full_zones_and_drained_ones_are_none(known: ReplicaZones) -> None:
    assert known.findings() == ()


def test_a_zone_counts_until_its_last_service_has_left() -> None:
    left = placed(A, B).changed([SERVICES[0]], [frozenset({A, B})])
    assert left.findings() == ()
    assert placed(A, B).with_own(None).findings() == ()
