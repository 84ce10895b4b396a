"""Own zone, zones and labels of nodes, and who speaks of hints."""

from __future__ import annotations

import pytest

from balancer.model.zones import OwnZone, Zone
from ingress.findings import Findings, Subject
from ingress.settings.context import TranslationContext
from ingress.translation.cluster.zones import checked_zone, follows_hints, labels_of, own_zone, zone_of
from tests.unit.ingress.cluster import full_node, inventory, node, service

OLD_LABEL = "failure-domain.beta.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("context", "zone", "source"),
    [
        (TranslationContext(zone="z", node_name="node-1", pod_zone="p"), "z", "flag"),
        (TranslationContext(node_name="node-1", pod_zone="p"), "zone-a", "node"),
        (TranslationContext(node_name="other", pod_zone="p"), "p", "pod"),
        (TranslationContext(zone="", node_name="other", pod_zone=""), None, "none"),
        (TranslationContext(), None, "none"),
    ],
)
def test_the_first_that_answers_states_the_own_zone(context: TranslationContext, zone: str | None, source: str) -> None:
    found = own_zone(inventory(node("node-1", "zone-a")), context)
    assert found == OwnZone(Zone(zone) if zone else None, source, context.node_name)


def test_the_old_label_counts_where_the_new_one_is_absent() -> None:
    assert zone_of(node(label=OLD_LABEL, zone="old")) == "old"
    both = node()
    both.metadata.labels[OLD_LABEL] = "old"
    assert zone_of(both) == "zone-a"
    assert zone_of(node(zone="")) is None
    assert zone_of(None) is None


def test_a_zone_that_is_no_label_value_is_unknown_and_a_finding() -> None:
    findings = Findings()
    report = findings.about(Subject("EndpointSlice", "shop", "cart-1"))
    assert checked_zone("zone-a", report) == "zone-a"
    assert checked_zone("", report) is None
    assert checked_zone(None, report) is None
    assert findings.frozen() == ()
    assert checked_zone("zone a\n", report) is None
    assert [finding.reason for finding in findings.frozen()] == ["InvalidZone"]


def test_only_labels_that_somebody_asked_for_come_with_the_own_zone() -> None:
    ours = full_node("node-1", "zone-a", labels={"rack": "r1", "row": "", "bad": "a b", "other": "x"})
    context = TranslationContext(node_name="node-1", zone="z")
    found = own_zone(inventory(ours), context, {"row", "rack", "bad", "missing"})
    assert found == OwnZone(Zone("z"), "flag", "node-1", (("rack", "r1"), ("row", "")))
    assert own_zone(inventory(), TranslationContext(node_name="node-1"), {"rack"}).labels == ()


def test_labels_are_sorted_and_none_where_the_node_is_not_known() -> None:
    assert labels_of(full_node("n", "z", labels={"b": "2", "a": "1"}), ("b", "a")) == (("a", "1"), ("b", "2"))
    assert labels_of(None, ("a",)) == ()


OLD, NEW = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


@pytest.mark.parametrize(
    ("annotations", "distribution", "follows"),
    [
        ({}, "", False),
        ({NEW: "Auto"}, "", True),
        ({NEW: "auto"}, "", True),
        ({NEW: "AUTO"}, "", False),
        ({NEW: "Disabled"}, "", True),
        ({NEW: "example.com/mine"}, "", True),
        ({OLD: "auto"}, "", True),
        ({OLD: "disabled", NEW: "Atuo"}, "", True),
        ({OLD: "", NEW: "Auto"}, "", False),
        ({}, "PreferClose", True),
        ({}, "PreferSameZone", True),
        ({}, "PreferSameNode", True),
        ({}, "Nearest", False),
        ({NEW: "Disabled"}, "PreferClose", True),
    ],
)
def test_a_service_speaks_of_hints_whoever_shall_write_them(
    annotations: dict[str, str], distribution: str, follows: bool
) -> None:
    assert follows_hints(service(annotations=annotations, distribution=distribution)) is follows
