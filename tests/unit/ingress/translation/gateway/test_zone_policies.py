"""Zone policies are attached: which of them counts, and what their statuses say."""

from __future__ import annotations

from typing import Any

from balancer.model.zones import ZonePolicyName
from ingress.findings import Findings
from ingress.objects.converting import decode
from ingress.objects.kinds import KubernetesObject, ServicePort
from ingress.objects.zone_policy import ZonePolicyObject
from ingress.settings.table.option import Overrides
from ingress.settings.table.zones import ZoneSettings
from ingress.translation.gateway.reading import ReadGateways
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.standings import PolicyStatus
from ingress.translation.gateway.zone_policies import BranchZones, over
from tests.unit.ingress.cluster import config_map, ingress, reasons, rule, service, translated
from tests.unit.ingress.translation.gateway.objects import conditions, gateway, http_route, listener, read_all

PORT = NamedPort("infra", "web", 80, "http")
WEB = service("web", ServicePort(80, "http"), namespace="infra")
GROUP = "gateway.networking.k8s.io"


def zone_policy(
    kind: str,
    name: str,
    section: str = "",
    *,
    called: str = "policy",
    created: str = "",
    namespace: str = "infra",
    **said: Any,
) -> ZonePolicyObject:
    group = {"Service": "", "Ingress": "networking.k8s.io"}.get(kind, GROUP)
    target = {"group": group, "kind": kind, "name": name, "sectionName": section}
    metadata = {"name": called, "namespace": namespace, "creationTimestamp": created, "generation": 2}
    document = {"apiVersion": "zonal-ingress.io/v1alpha1", "kind": "ZonePolicy", "metadata": metadata}
    found = decode({**document, "spec": {"targetRefs": [target], **said}})
    assert isinstance(found, ZonePolicyObject)
    return found


def read_with(*objects: KubernetesObject, **route: Any) -> ReadGateways:
    return read_all(gateway(listener(), listener("other", 8080)), http_route(**route), WEB, *objects)


def zones(found: ReadGateways, rule: str = "", said: Overrides | None = None, listener_at: int = 0) -> BranchZones:
    return found.zones.for_branch(found.listeners[listener_at], found.routes[0], rule, PORT, said or Overrides())


def name_of(said: Overrides) -> ZonePolicyName | None:
    return said.over(ZoneSettings()).choice.name


def test_without_policies_the_annotations_of_the_route_count() -> None:
    said = Overrides({ZoneSettings: {"min_endpoints": 7}})
    assert zones(read_with(), said=said) == BranchZones(strong=said)


def test_defaults_of_a_gateway_are_weak_and_overrides_are_strong() -> None:
    found = zones(read_with(zone_policy("Gateway", "gw", defaults={"policy": "hints"}, overrides={"minEndpoints": 3})))
    assert name_of(found.weak) is ZonePolicyName.HINTS
    assert found.strong.over(ZoneSettings()).min_endpoints == 3
    assert name_of(found.strong) is None


def test_the_strongest_counts() -> None:
    known = (
        zone_policy("Service", "web", called="a", defaults={"policy": "off", "minEndpoints": 1, "minPercent": 1}),
        zone_policy("Service", "web", "http", called="b", defaults={"minEndpoints": 2, "minPercent": 2}),
        zone_policy("HTTPRoute", "route", called="c", defaults={"minPercent": 3, "rollout": 3}),
        zone_policy("HTTPRoute", "route", "named", called="d", defaults={"rollout": 4, "minClusterSize": 4}),
        zone_policy("Gateway", "gw", "http", called="e", overrides={"minClusterSize": 5, "spillBudget": 5}),
        zone_policy("Gateway", "gw", called="f", overrides={"spillBudget": 6}),
    )
    rules = [{"name": "named", "backendRefs": [{"name": "web", "port": 80}]}]
    found = read_with(*known, rules=rules)
    said = zones(found, "named").strong.over(ZoneSettings())
    assert said.choice.name is ZonePolicyName.OFF
    assert (said.min_endpoints, said.min_percent, said.rollout_percent) == (2, 3, 4)
    assert (said.min_cluster_size, said.spill_budget_percent) == (5, 6)
    beside = zones(found, "", listener_at=1).strong.over(ZoneSettings())
    assert (beside.rollout_percent, beside.min_cluster_size) == (3, ZoneSettings().min_cluster_size)
    assert found.zones.names_listener(found.listeners[0])
    assert not found.zones.names_listener(found.listeners[1])


def test_annotations_of_a_gateway_are_its_weakest_defaults() -> None:
    owner = gateway()
    owner.metadata.annotations["zonal-ingress.io/zone-policy"] = "hints"
    found = read_all(owner, http_route(), WEB)
    assert name_of(zones(found).weak) is ZonePolicyName.HINTS


def test_a_policy_says_through_which_gateways_it_counts() -> None:
    for target in (("Gateway", "gw"), ("HTTPRoute", "route"), ("Service", "web")):
        found = read_with(zone_policy(*target, defaults={"policy": "hints"}))
        assert conditions(found, "ZonePolicy", "policy") == {"Accepted": ("True", "Accepted")}
        status = next(each.status for each in found.standings if each.kind == "ZonePolicy")
        assert isinstance(status, PolicyStatus)
        assert [each.ancestor_ref.name for each in status.ancestors] == ["gw"]


def test_the_older_of_two_policies_counts() -> None:
    old = zone_policy("Service", "web", called="z", created="2020-01-01T00:00:00Z", defaults={"policy": "off"})
    new = zone_policy("Service", "web", called="a", created="2021-01-01T00:00:00Z", defaults={"policy": "hints"})
    found = read_with(old, new)
    assert name_of(zones(found).strong) is ZonePolicyName.OFF
    assert conditions(found, "ZonePolicy", "a")["Accepted"] == ("False", "Conflicted")


def test_what_cannot_be_read_sets_nothing() -> None:
    found = read_with(zone_policy("Service", "web", defaults={"policy": "odd"}))
    assert conditions(found, "ZonePolicy", "policy")["Accepted"] == ("False", "Invalid")
    assert zones(found) == BranchZones()


def test_a_policy_for_nothing_is_a_finding() -> None:
    found = read_with(zone_policy("Service", "nope", defaults={"policy": "hints"}))
    findings = Findings()
    found.zones.note(found.standings, found.gateways, findings)
    assert reasons(findings.frozen()) == [("policy", "TargetNotFound")]


def test_who_is_overridden_is_told() -> None:
    above = zone_policy("Gateway", "gw", called="above", overrides={"policy": "off"})
    found = read_with(above, zone_policy("HTTPRoute", "route", called="below", defaults={"policy": "hints"}))
    assert conditions(found, "ZonePolicy", "below")["PartiallyInForce"] == ("True", "Overridden")
    assert name_of(zones(found).strong) is ZonePolicyName.OFF


def chosen(*objects: KubernetesObject, **annotations: str) -> ZonePolicyName:
    """The zone policy of the one path of an Ingress with these annotations, whose Service says nothing."""
    own = {f"zonal-ingress.io/{name.replace('_', '-')}": value for name, value in annotations.items()}
    settings = config_map(zone_aware_routing="true", zone_policy="off")
    model = translated(ingress("web", rule(), annotations=own), service(), settings, *objects).model
    ((route,),) = [each.routes for each in model.hosts if each.name == "shop.test"]
    (backend,) = model.backends
    return (route.main.zone_policy or backend.zone_policy).name


def test_policies_of_an_ingress_and_of_services_count_for_its_requests() -> None:
    of_ingress = zone_policy("Ingress", "web", namespace="shop", defaults={"policy": "prefer-zone"})
    of_service = zone_policy("Service", "cart", called="s", namespace="shop", defaults={"policy": "hints"})
    of_port = zone_policy("Service", "cart", "http", called="p", namespace="shop", defaults={"policy": "proportional"})
    assert chosen() is ZonePolicyName.OFF
    assert chosen(of_service) is ZonePolicyName.HINTS
    assert chosen(of_service, of_port) is ZonePolicyName.PROPORTIONAL
    assert chosen(of_port, zone_policy="allocate") is ZonePolicyName.ALLOCATE
    assert chosen(of_port, of_ingress, zone_policy="allocate") is ZonePolicyName.PREFER_ZONE
    assert chosen(zone_policy("Ingress", "web", namespace="other", defaults={"policy": "hints"})) is ZonePolicyName.OFF


def test_a_policy_of_an_ingress_says_so_and_one_of_a_service_of_ingresses_is_no_finding() -> None:
    web = ingress("web", rule())
    known = (web, service(), zone_policy("Ingress", "web", namespace="shop", defaults={"policy": "hints"}))
    made = translated(*known)
    (standing,) = [each.status for each in made.standings if each.kind == "ZonePolicy"]
    assert isinstance(standing, PolicyStatus)
    (entry,) = standing.ancestors
    assert (entry.ancestor_ref.group, entry.ancestor_ref.kind) == ("networking.k8s.io", "Ingress")
    assert [(each.type, each.status) for each in entry.conditions] == [("Accepted", "True")]
    of_service = zone_policy("Service", "cart", namespace="shop", defaults={"policy": "hints"})
    assert reasons(translated(web, service(), of_service).findings) == []
    assert reasons(translated(service(), of_service).findings) == [("policy", "TargetNotFound")]


def test_an_ingress_has_no_sections() -> None:
    found = translated(ingress(), service(), zone_policy("Ingress", "web", "x", namespace="shop", defaults={}))
    assert ("policy", "TargetNotFound") in reasons(found.findings)


def test_equal_policies_are_equal_in_any_order() -> None:
    one, other = (zone_policy("Service", "web", called=name, defaults={"policy": "off"}) for name in "ab")
    assert read_with(one, other).zones == read_with(other, one).zones
    assert read_with(one).zones != read_with(other).zones


def test_later_values_lie_over_earlier_ones() -> None:
    first, second = Overrides({ZoneSettings: {"dry_run": True}}), Overrides({ZoneSettings: {"min_percent": 5}})
    assert over(first, second).of(ZoneSettings) == {"dry_run": True, "min_percent": 5}
