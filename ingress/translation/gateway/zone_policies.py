"""Attaches zone policies in Gateway API's way: which of them count for a branch, and what their statuses say.

Strongest first: overrides of the Gateway, of the listener · the rule · the route · its annotations · the port of the
Service · the Service · the Service's annotations · defaults of the listener, of the Gateway · the Gateway's
annotations · the ConfigMap. Of an Ingress: its policies · its annotations · and on as for a route, without Gateways. Of
two policies with one target the older counts. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final

import msgspec

from balancer.model.routes import Owner, ServiceName
from ingress.findings import Findings, Severity, Subject
from ingress.objects.gateway import Gateway
from ingress.objects.gateway_references import GATEWAY_GROUP, ObjectReference
from ingress.objects.gateway_routes import ROUTE_RECORDS, GatewayRoute
from ingress.objects.kinds import Ingress, KubernetesObject, ServicePort, key_of, subject_of
from ingress.objects.metadata import Metadata
from ingress.objects.zone_policy import ZonePolicyObject, ZoneWishes
from ingress.settings.reading import read_options
from ingress.settings.table.option import OWN_PREFIX, OptionSource, Overrides
from ingress.settings.table.whole import SERVICE_OPTIONS
from ingress.settings.table.zones import ZONE_OPTIONS, ZoneSettings
from ingress.sources.inventory import Inventory
from ingress.translation.claims import created_epoch_seconds
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.standings import (
    AncestorStanding,
    ObjectStanding,
    ParentName,
    PolicyStatus,
    Problem,
    StatusCondition,
    condition,
    standing_of,
)

Target = tuple[str, str, str, str]
"""Kind, namespace, name and section of what a policy is attached to; the section is empty for the whole."""

Key = tuple[str, str]

_NOTHING: Final = Overrides()
_ANCESTORS_MOST: Final = 16  # gateway.networking.k8s.io/v1 PolicyStatus
_INGRESS_GROUP: Final = "networking.k8s.io"
_PARENT_KINDS: Final = frozenset(record.kind.value for record in (Gateway, *ROUTE_RECORDS))
_ZONES: Final = {name: option for name, option in SERVICE_OPTIONS.items() if option in ZONE_OPTIONS}
_FIELDS: Final[Mapping[str, str]] = {
    "policy": "zone-policy",
    "min_endpoints": "zone-min-endpoints",
    "min_percent": "zone-min-percent",
    "min_cluster_size": "zone-min-cluster-size",
    "rollout": "zone-rollout",
    "dry_run": "zone-dry-run",
    "toll": "zone-toll",
    "spill_budget": "zone-spill-budget",
    "evacuation": "zone-evacuation",
}


class JudgedZonePolicy(msgspec.Struct, frozen=True):
    """A policy, what it sets, and the targets that it has. `invalid` is why it sets nothing."""

    policy: ZonePolicyObject
    defaults: Overrides = _NOTHING
    overrides: Overrides = _NOTHING
    wins: frozenset[Target] = frozenset()
    invalid: Problem | None = None

    @property
    def own(self) -> Overrides:
        """What it sets where nothing is below it."""
        return over(self.defaults, self.overrides)


class BranchZones(msgspec.Struct, frozen=True):
    """What is set for the requests of one branch: `weak` gives way to what the Service says, `strong` does not."""

    weak: Overrides = _NOTHING
    strong: Overrides = _NOTHING


class ZonePolicies:
    """Every policy of the cluster, judged, and the annotations of Gateways."""

    __slots__ = ("_annotations", "_by_target", "_inventory", "_objects", "judged")

    def __init__(self, inventory: Inventory, gateways: Mapping[Key, Gateway]) -> None:
        self._inventory = inventory
        self._objects: dict[str, dict[Key, Gateway | GatewayRoute | Ingress]] = {}
        unheard = Findings()
        self._by_target: dict[Target, JudgedZonePolicy] = {}
        self._annotations = {key: said for key, each in gateways.items() if (said := _annotated(each, unheard)).values}
        self.judged: list[JudgedZonePolicy] = []
        """By age, then namespace and name."""
        for each in sorted(inventory.of(ZonePolicyObject), key=_seniority):
            self._add(each)

    def __eq__(self, other: object) -> bool:
        """Whether equal policies are attached to the same targets, and Gateways say the same."""
        if not isinstance(other, ZonePolicies):
            return NotImplemented
        said = (self.judged, self._by_target, self._annotations)
        return said == (other.judged, other._by_target, other._annotations)

    __hash__ = None  # type: ignore[assignment]

    def for_branch(
        self, listener: ReadListener, read: ReadRoute, rule: str, port: NamedPort, said: Overrides
    ) -> BranchZones:
        """What counts for a branch to a port of a Service. `rule` is the name of its rule, `said` what the annotations
        of the route set, zones and others.
        """
        if not self._by_target and not self._annotations:
            return BranchZones(strong=said)
        route = read.route
        kind, place = route.kind.value, key_of(route)
        service = ("Service", port.namespace, port.service)
        strong = over(*self._own((*service, ""), (*service, port.port_name)), said)
        strong = over(strong, *self._own((kind, *place, ""), (kind, *place, rule)))
        above = [self._of(target) for target in _targets_of(listener)]
        weak = over(self._annotations.get(listener.gateway, _NOTHING), *(each.defaults for each in above))
        return BranchZones(weak, over(strong, *(each.overrides for each in reversed(above))))

    def for_ingress(self, owner: Owner, service: ServiceName, port: ServicePort | None, said: Overrides) -> Overrides:
        """What counts for a branch of an Ingress. `said` is what its annotations set, zones and others."""
        if owner.kind != Ingress.kind.value or not self._by_target:
            return said
        place = ("Service", service.namespace, service.name)
        below = self._own((*place, ""), (*place, port.name if port is not None else ""))
        return over(*below, said, *self._own((owner.kind, owner.namespace, owner.name, "")))

    def names_listener(self, listener: ReadListener) -> bool:
        """Whether a policy is attached to this listener alone."""
        return _targets_of(listener)[1] in self._by_target

    def standings(
        self, routes: Iterable[ReadRoute], listeners: Iterable[ReadListener], controller: str
    ) -> Iterator[ObjectStanding]:
        """What the statuses of the policies should say: one entry for each Gateway that they concern."""
        if not self.judged:
            return
        above = _Above(routes, listeners)
        for each in self.judged:
            asked = tuple(_asked(each.policy))
            gateways = sorted({key for target in asked for key in above.gateways(target)})
            ingresses = sorted({(*target[1:3],) for target in asked if target[0] == "Ingress" and self._exists(target)})
            conditions = tuple(self._conditions(each, gateways))
            named = [ParentName(GATEWAY_GROUP, "Gateway", *key) for key in gateways]
            named += [ParentName(_INGRESS_GROUP, "Ingress", *key) for key in ingresses]
            entries = (AncestorStanding(each, controller, conditions) for each in named[:_ANCESTORS_MOST])
            yield standing_of(each.policy, PolicyStatus(tuple(entries)))

    def note(
        self,
        standings: Iterable[ObjectStanding],
        gateways: Mapping[Key, Gateway],
        findings: Findings,
        *,
        uses: Callable[[Key], bool] = lambda _: False,
    ) -> None:
        """Notes what annotations of Gateways say wrong, and each policy whose status nobody can read, because it
        concerns neither a Gateway nor an Ingress. `uses` says whether an Ingress names a Service.
        """
        for gateway in gateways.values():
            _annotated(gateway, findings)
        if not self.judged:
            return
        told = {(each.namespace, each.name) for each in standings if getattr(each.status, "ancestors", ())}
        for each in self.judged:
            problem = self._refusal(each)
            if key_of(each.policy) in told or (problem is None and any(map(uses, _services_of(each.policy)))):
                continue
            if problem is None:
                said = "Nothing that the policy names is reached through a Gateway or an Ingress of ours."
                problem = Problem("TargetNotFound", said)
            findings.add(
                subject_of(each.policy),
                reason=problem.reason,
                message=problem.message,
                effect="The policy has no effect.",
                severity=Severity.DEGRADED,
            )

    def affecting(self) -> dict[tuple[str, str, str], tuple[str, ...]]:
        """The objects that policies are attached to, by kind, namespace and name, with the names of the policies."""
        found: dict[tuple[str, str, str], set[str]] = {}
        for target, judged in self._by_target.items():
            found.setdefault(target[:3], set()).add("/".join(key_of(judged.policy)))
        return {target: tuple(sorted(names)) for target, names in found.items()}

    def _add(self, policy: ZonePolicyObject) -> None:
        defaults, overrides = _read(policy.spec.defaults), _read(policy.spec.overrides)
        problem = defaults if isinstance(defaults, Problem) else overrides if isinstance(overrides, Problem) else None
        if isinstance(defaults, Problem) or isinstance(overrides, Problem):
            self.judged.append(JudgedZonePolicy(policy, invalid=problem))
            return
        won = frozenset(each for each in _asked(policy) if each not in self._by_target and self._exists(each))
        judged = JudgedZonePolicy(policy, defaults, overrides, won)
        self.judged.append(judged)
        self._by_target.update(dict.fromkeys(won, judged))

    def _of(self, target: Target) -> JudgedZonePolicy:
        return self._by_target.get(target) or _NO_POLICY

    def _own(self, *targets: Target) -> Iterator[Overrides]:
        """What the policies of targets set. A section without a name has none of its own."""
        known = dict.fromkeys(targets)
        yield from (self._by_target[each].own for each in known if each in self._by_target)

    def _conditions(self, item: JudgedZonePolicy, gateways: Iterable[Key]) -> Iterator[StatusCondition]:
        generation = item.policy.metadata.generation
        refused = self._refusal(item)
        yield condition("Accepted", refused, generation, said="The policy counts.")
        stronger = self._stronger(item, gateways) if refused is None else None
        if stronger is not None:
            message = f"The policy {stronger} overrides fields of this one."
            yield StatusCondition("PartiallyInForce", "True", "Overridden", message, generation)

    def _stronger(self, item: JudgedZonePolicy, gateways: Iterable[Key]) -> str | None:
        """The policy of a Gateway that sets what `item` sets for something below it."""
        mine = set(item.own.of(ZoneSettings))
        if all(kind == "Gateway" for kind, *_ in item.wins):
            return None
        for key in gateways:
            above = self._of(("Gateway", *key, ""))
            if mine & set(above.overrides.of(ZoneSettings)):
                return "/".join(key_of(above.policy))
        return None

    def _refusal(self, item: JudgedZonePolicy) -> Problem | None:
        if item.invalid is not None:
            return item.invalid
        asked = [*_asked(item.policy)]
        if not any(self._exists(each) for each in asked):
            return Problem("TargetNotFound", "targetRefs names nothing that exists: correct kind, name or sectionName.")
        if item.wins:
            return None
        other = next(self._by_target[each].policy for each in asked if each in self._by_target)
        message = f"The policy {other.metadata.name} is older or comes first: remove one of them."
        return Problem("Conflicted", message)

    def _exists(self, target: Target) -> bool:
        kind, namespace, name, section = target
        if kind == "Service":
            service = self._inventory.service(namespace, name)
            return service is not None and (not section or any(each.name == section for each in service.spec.ports))
        found = self._objects_of(kind).get((namespace, name))
        if found is None or isinstance(found, Ingress):
            return found is not None and not section
        sections = found.spec.listeners if isinstance(found, Gateway) else found.spec.rules
        return not section or any(each.name == section for each in sections)

    def _objects_of(self, kind: str) -> Mapping[Key, Gateway | GatewayRoute | Ingress]:
        """The objects of a kind by namespace and name."""
        if kind not in self._objects:
            gateways: tuple[type[Gateway | GatewayRoute], ...] = (Gateway, *ROUTE_RECORDS)
            objects = (each for record in gateways if record.kind.value == kind for each in self._inventory.of(record))
            ingresses = self._inventory.of(Ingress) if kind == Ingress.kind.value else ()
            self._objects[kind] = {key_of(each): each for each in (*objects, *ingresses)}
        return self._objects[kind]


class _Above:
    """Through which Gateways each target is reached."""

    def __init__(self, routes: Iterable[ReadRoute], listeners: Iterable[ReadListener]) -> None:
        self._gateways = {each.gateway for each in listeners}
        self._routes: dict[tuple[str, str, str], set[Key]] = {}
        for each in routes:
            named = {attachment.listener.gateway for parent in each.parents for attachment in parent.attached}
            metadata = each.route.metadata
            self._routes[each.route.kind.value, metadata.namespace, metadata.name] = named
            for port in each.ports:
                self._routes.setdefault(("Service", port.namespace, port.service), set()).update(named)

    def gateways(self, target: Target) -> Collection[Key]:
        kind, namespace, name, _ = target
        if kind == "Gateway":
            return self._gateways & {(namespace, name)}
        return self._routes.get((kind, namespace, name), set())


_NO_POLICY: Final = JudgedZonePolicy(ZonePolicyObject(metadata=Metadata("")))
_NOBODY: Final = Subject("ZonePolicy", "", "")


def over(*said: Overrides) -> Overrides:
    """All of `said`; of two that set one field the later one counts."""
    found: dict[type[msgspec.Struct], dict[str, object]] = {}
    for each in said:
        for struct, fields in each.values.items():
            found.setdefault(struct, {}).update(fields)
    return Overrides(found)


def _targets_of(listener: ReadListener) -> tuple[Target, Target]:
    """The Gateway of a listener, and the listener, as targets. Of a ListenerSet's listener nobody can be the target."""
    section = listener.spec.name if listener.owner.kind == "Gateway" else "\0"
    return ("Gateway", *listener.gateway, ""), ("Gateway", *listener.gateway, section)


def _asked(policy: ZonePolicyObject) -> Iterator[Target]:
    for each in policy.spec.target_refs:
        if _is_known(each):
            yield each.kind, policy.metadata.namespace, each.name, each.section_name


def _services_of(policy: ZonePolicyObject) -> Iterator[Key]:
    yield from ((namespace, name) for kind, namespace, name, _ in _asked(policy) if kind == "Service")


def _is_known(reference: ObjectReference) -> bool:
    if reference.kind == "Service":
        return not reference.group
    if reference.kind == "Ingress":
        return reference.group == _INGRESS_GROUP
    return reference.group == GATEWAY_GROUP and reference.kind in _PARENT_KINDS


def _read(wishes: ZoneWishes) -> Overrides | Problem:
    """What a policy says as the annotations of the same names would; or which field cannot be read."""
    texts: dict[str, str] = {}
    for field, name in _FIELDS.items():
        value = getattr(wishes, field)
        if value is not None:
            texts[OWN_PREFIX + name] = str(value).lower() if isinstance(value, bool) else str(value)
    findings = Findings()
    reading = read_options(texts, _ZONES, source=OptionSource.SERVICE, report=findings.about(_NOBODY))
    problems = [each.message for each in findings.frozen()] + [each.why for each in reading.refused]
    return Problem("Invalid", problems[0].replace("Annotation ", "", 1)) if problems else reading.overrides


def _annotated(gateway: Gateway, findings: Findings) -> Overrides:
    """What the annotations of a Gateway set for the zones of all its requests."""
    annotations = gateway.metadata.annotations
    if not annotations:
        return _NOTHING
    report = findings.about(subject_of(gateway))
    return read_options(annotations, _ZONES, source=OptionSource.SERVICE, report=report).overrides


def _seniority(policy: KubernetesObject) -> tuple[float, Key]:
    return created_epoch_seconds(policy.metadata), key_of(policy)


NO_ZONE_POLICIES: Final = ZonePolicies(Inventory(), {})
"""The zone policies of a cluster without any."""
