"""Own zone, zones of nodes, and whose policy holds."""

from __future__ import annotations

import pytest

from balancer.model import ZONES_OFF, OwnZone, Zone, ZonePolicy, ZonePolicyName
from ingress.findings import Findings, Subject
from ingress.settings import ClusterSettings
from ingress.translation.context import TranslationContext
from ingress.translation.zones import backend_policy, checked_zone, own_zone, route_policy, zone_of
from tests.unit.ingress.cluster import inventory, node

OLD_LABEL = "failure-domain.beta.kubernetes.io/zone"
PREFER = ZonePolicy(ZonePolicyName.PREFER_ZONE)
ON = ClusterSettings(zone_aware_routing=True)
OFF = ClusterSettings(zone_aware_routing=False)


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


def test_while_the_flag_is_off_nothing_else_counts() -> None:
    overrides = {"name": ZonePolicyName.PREFER_ZONE, "min_endpoints": 3}
    assert backend_policy(OFF, overrides) == ZONES_OFF
    assert route_policy(OFF, ZONES_OFF, ingress_overrides=overrides) is None


def test_the_service_overrides_the_configmap_field_by_field() -> None:
    assert backend_policy(ON, {}) == PREFER
    assert backend_policy(ON, {"min_endpoints": 3}) == ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=3)
    assert backend_policy(ON, {"name": ZonePolicyName.OFF}).name is ZonePolicyName.OFF


def test_the_ingress_overrides_the_service() -> None:
    service = backend_policy(ON, {"name": ZonePolicyName.OFF, "min_percent": 10})
    overridden = route_policy(ON, service, ingress_overrides={"name": ZonePolicyName.PREFER_ZONE})
    assert overridden == ZonePolicy(ZonePolicyName.PREFER_ZONE, min_percent=10)


def test_an_override_that_changes_nothing_is_none() -> None:
    assert route_policy(ON, PREFER, ingress_overrides={}) is None
    assert route_policy(ON, PREFER, ingress_overrides={"name": ZonePolicyName.PREFER_ZONE}) is None
