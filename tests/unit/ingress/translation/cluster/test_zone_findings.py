"""What is wrong with the zone of this replica, and what to do about it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.zones import OwnZone, Zone
from ingress.findings import Finding, Findings, Severity
from ingress.objects.kinds import Node
from ingress.settings.context import TranslationContext
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.cluster.zone_findings import GivenZone, given_zone, note_unknown_zone
from tests.unit.ingress.cluster import full_node, inventory, node

AWARE = ClusterSettings(zone_aware_routing=True)
A, B, C = map(Zone, ("zone-a", "zone-b", "zone-c"))


def unknown(*nodes: Node, context: TranslationContext, own: OwnZone | None = None) -> tuple[Finding, ...]:
    findings = Findings()
    note_unknown_zone(own or OwnZone(), inventory(*nodes), context, settings=AWARE, findings=findings)
    return findings.frozen()


@pytest.mark.parametrize(
    ("context", "subject", "words"),
    [
        (TranslationContext(), ("ConfigMap", "zonal", "zonal"), ["zone-aware-routing", "--zone", "--node-name"]),
        (TranslationContext(node_name="lost"), ("Node", "", "lost"), ['No Node "lost"', "--node-name", "--zone"]),
        (TranslationContext(node_name="bare"), ("Node", "", "bare"), ["topology.kubernetes.io/zone", "label it"]),
    ],
)
def test_an_unknown_zone_names_who_can_tell_it(
    context: TranslationContext, subject: tuple[str, str, str], words: list[str]
) -> None:
    (finding,) = unknown(full_node("bare", None), context=context)
    assert (finding.kind, finding.namespace, finding.name) == subject
    assert (finding.reason, finding.severity) == ("OwnZoneUnknown", Severity.DEGRADED)
    assert all(word in finding.message for word in words), finding.message


def test_a_known_zone_is_no_finding() -> None:
    assert unknown(context=TranslationContext(zone="zone-a"), own=OwnZone(A, "flag")) == ()


def test_without_the_option_or_with_a_node_in_its_zone_nothing_is_judged() -> None:
    assert given_zone(inventory(node()), TranslationContext()) is None
    assert given_zone(inventory(node(zone="zone-a")), TranslationContext(zone="zone-a")) is None
    expected = GivenZone(A, frozenset({B}))
    assert given_zone(inventory(node(zone="zone-b")), TranslationContext(zone="zone-a")) == expected


def test_a_zone_in_which_nothing_is_names_the_option_and_the_zones_there_are() -> None:
    (finding,) = GivenZone(Zone("zone-x"), frozenset({B}), {A: 2}).findings()
    assert (finding.kind, finding.name, finding.reason) == ("Option", "--zone", "OwnZoneEmpty")
    assert finding.severity is Severity.DEGRADED
    assert '"zone-x"' in finding.message
    assert 'known zones: "zone-a", "zone-b")' in finding.message
    assert "correct --zone" in finding.message


@pytest.mark.parametrize("judged", [GivenZone(A, frozenset({B}), {A: 1}), GivenZone(A)])
def test_a_zone_with_endpoints_and_a_cluster_without_zones_are_no_finding(judged: GivenZone) -> None:
    assert judged.findings() == ()


def test_many_zones_are_not_all_named() -> None:
    (finding,) = GivenZone(A, frozenset(Zone(f"z{number:02}") for number in range(20))).findings()
    assert '"z09", …)' in finding.message
    assert "z10" not in finding.message


ZONES = st.frozensets(st.sampled_from([A, B, C]))


@given(st.lists(st.tuples(ZONES, ZONES), max_size=5), st.lists(ZONES, max_size=3))
def test_counting_changes_gives_what_counting_everything_gives(
    changed: list[tuple[frozenset[Zone], frozenset[Zone]]], same: list[frozenset[Zone]]
) -> None:
    before, after = ([pair[side] for pair in changed] for side in (0, 1))
    start = GivenZone(A).changed((), [*same, *before])
    assert start.changed(before, after) == GivenZone(A).changed((), [*same, *after])
