"""`spec.topologyKeys` is told with the policy that says the same, and this policy does say the same."""

from __future__ import annotations

import msgspec
import pytest

from balancer.model.zones import ZONES_OFF, ZonePolicy, ZonePolicyName
from ingress.findings import Finding, Findings, Severity
from ingress.objects.converting import decode
from ingress.objects.kinds import Service, subject_of
from ingress.settings.zone_values import policy_choice
from ingress.translation.services.topology_keys import note_topology_keys
from tests.unit.balancer.zones.surroundings import cases
from tests.unit.ingress.cluster import ingress, path, rule, service, translated

KEYS = [case["topologyKeys"] for case in cases("topology_keys.json")["cases"] if case["topologyKeys"]]


def with_keys(keys: object) -> Service:
    item = decode(
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": "cart", "namespace": "shop"},
            "spec": {"ports": [{"port": 80, "name": "http"}], "topologyKeys": keys},
        }
    )
    assert isinstance(item, Service)
    return item


def found(keys: object, policy: ZonePolicy = ZONES_OFF) -> tuple[Finding, ...]:
    item, findings = with_keys(keys), Findings()
    note_topology_keys(item, policy, findings.about(subject_of(item)))
    return findings.frozen()


@pytest.mark.parametrize("keys", KEYS)
def test_the_policy_that_is_named_is_the_list(keys: list[str]) -> None:
    [finding] = found(keys)
    assert (finding.reason, finding.severity) == ("TopologyKeysIgnored", Severity.DEGRADED)
    named = finding.message.partition('zonal-ingress.io/zone-policy: "')[2].partition('"')[0]
    assert policy_choice(named).keys == tuple(keys)


@pytest.mark.parametrize("keys", [["a b"], ["*", "rack"], [3], "rack", {"a": "b"}, [[]], ["rack"] * 2])
def test_what_is_no_list_of_labels_is_told_without_a_policy(keys: object) -> None:
    [finding] = found(keys)
    assert "no list of node labels" in finding.message
    assert "zone-policy" not in finding.message


def test_without_keys_or_with_an_ordered_list_nothing_is_told() -> None:
    assert found([]) == found(None) == ()
    assert found(["rack"], ZonePolicy(ZonePolicyName.ORDERED, keys=("rack",))) == ()


def test_the_service_is_served_all_the_same() -> None:
    spec = msgspec.structs.replace(service().spec, topology_keys=["kubernetes.io/hostname", "*"])
    made = translated(ingress("web", rule("shop.test", path("/"))), msgspec.structs.replace(service(), spec=spec))
    assert [each.reason for each in made.findings] == ["TopologyKeysIgnored"]
    assert len(made.model.backends[0].endpoints) == 1
