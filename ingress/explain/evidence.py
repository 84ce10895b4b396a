"""Adds to an explanation what the cluster's objects say: who set the policy, the slices, and findings.

Asks the code that translates the objects, so that no object is read in two ways. Does not know how an endpoint is
chosen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import ip_address

from balancer.explain.drafts import PolicySource, RouteName, SliceEntry
from balancer.model.routes import Owner
from ingress.explain.attached import attached_policy, said_by_route
from ingress.findings import Finding, Findings, Severity, quote
from ingress.objects.endpoint_hints import EndpointHints
from ingress.objects.kinds import EndpointSlice, Ingress, IngressClass, Kind, SliceEndpoint, key_of, subject_of
from ingress.objects.names import covering
from ingress.settings.configmap import read_configmap
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import OWN_PREFIX, Overrides
from ingress.sources.inventory import Inventory
from ingress.translation.cluster.zone_findings import ZONE_OPTION
from ingress.translation.cluster.zones import follows_hints
from ingress.translation.ingress.acceptance import CLASS_ANNOTATION, Classes, classes_of, is_accepted
from ingress.translation.ingress.annotations import read_ingress_annotations
from ingress.translation.services.backend_zones import policy_origin
from ingress.translation.services.service_annotations import read_service_annotations

# The most slices or findings that an explanation lists, because a host may have thousands.
_NAMED_MOST = 50
# Findings of an Ingress that lost a claim. They concern the winner's host, too.
_LOSSES = frozenset({"Conflict", "CanaryWithoutMain", "CanaryIgnored"})
# What `auto` means.
_ASKS = "auto means hints for a Service that asks for them"
_ASKS_NOT = "auto means prefer-zone for a Service that does not ask for hints, unless every ready endpoint has one"
# Subjects that are not objects of the cluster: the manifest folder as a whole, and the option that sets the own zone.
_FOLDER = ("File", "", ".")
_ZONE_OPTION = (ZONE_OPTION.kind, ZONE_OPTION.namespace, ZONE_OPTION.name)


class Evidence:
    """The objects at one moment with their findings. A `Background`."""

    __slots__ = ("_context", "_findings", "_inventory")

    def __init__(self, inventory: Inventory, context: TranslationContext, *, findings: Sequence[Finding] = ()) -> None:
        self._inventory = inventory
        self._context = context
        self._findings = findings

    def policy_source(self, route: RouteName) -> PolicySource:
        """Who set the zone policy of a route."""
        namespace, _, name = self._context.configmap.partition("/")
        config_map = self._inventory.config_map(namespace, name)
        data = config_map.data if config_map is not None else {}
        settings, _ = read_configmap(data)
        service = self._inventory.service(route.service.namespace, route.service.name)
        ingress = self._ingress(route)
        said_by_ingress = Overrides()
        if ingress is not None:
            report = Findings().about(subject_of(ingress))
            said_by_ingress = read_ingress_annotations(ingress, settings, report=report).overrides
        said_by_service = Overrides()
        if service is not None:
            said_by_service = read_service_annotations(service, Findings().about(subject_of(service)))
        if route.owner.kind != Kind.INGRESS.value:
            said_by_ingress = said_by_route(self._inventory, route)
        source, choice = policy_origin(settings, data, service=said_by_service, ingress=said_by_ingress)
        sentence = self._sentence(source, route)
        if source != "flag-off":
            policy = attached_policy(self._inventory, route, said_by=source)
            if policy is not None:
                return PolicySource("zone-policy", f"set by ZonePolicy {policy}")
        if choice.name is None and service is not None:
            sentence += f"; {_ASKS if follows_hints(service) else _ASKS_NOT}"
        return PolicySource(source, sentence)

    def slice_steps(self, route: RouteName) -> list[str]:
        """Every slice of a route's Service, with the number of its endpoints by condition and zone."""
        service = self._inventory.service(route.service.namespace, route.service.name)
        if service is not None and service.spec.type == "ExternalName":
            name = route.service.full_name
            return [f"Service {name} is an ExternalName Service, so its addresses come from DNS."]
        slices = sorted(self._inventory.slices(route.service.namespace, route.service.name), key=key_of)
        if not slices:
            return [f"Service {route.service.full_name} has no EndpointSlice."]
        steps = [_slice_step(each) for each in slices[:_NAMED_MOST]]
        if len(slices) > _NAMED_MOST:
            steps.append(f"{len(slices) - _NAMED_MOST} more EndpointSlices are not listed.")
        return steps

    def slice_entries(self, route: RouteName) -> list[SliceEntry]:
        """Every endpoint of the slices of a route's Service, in the order of the slices."""
        slices = sorted(self._inventory.slices(route.service.namespace, route.service.name), key=key_of)
        return [_entry(endpoint) for item in slices for endpoint in item.endpoints]

    def finding_steps(self, host: str, routes: Sequence[RouteName]) -> list[str]:
        """Why other Ingresses that name the host do not serve, and findings about the objects involved."""
        naming = [ingress for ingress in self._inventory.of(Ingress) if _names(ingress, host)]
        steps = list(self._not_ours(naming))
        rivals = {("Ingress", *key_of(ingress)) for ingress in naming}
        involved = self._involved(routes) if routes else rivals | {_FOLDER}
        told = [
            finding
            for finding in self._findings
            if (subject := (finding.kind, finding.namespace, finding.name)) in involved
            or (subject in rivals and (finding.reason in _LOSSES or finding.severity is Severity.CLOSED))
        ]
        for finding in told[:_NAMED_MOST]:
            place = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
            about = f"{finding.reason}, {finding.kind} {place}, {finding.severity.value}"
            steps.append(f"Finding {about}: {finding.message} {finding.effect}")
        return steps

    def _involved(self, routes: Sequence[RouteName]) -> set[tuple[str, str, str]]:
        namespace, _, name = self._context.configmap.partition("/")
        found = {("ConfigMap", namespace, name), _ZONE_OPTION, ("Node", "", self._context.node_name or "")}
        for route in routes:
            found.add(_subject(route.owner))
            found.update(_subject(canary.owner) for canary in route.canaries)
            services = (route.service, *(canary.service for canary in route.canaries))
            found.update(("Service", service.namespace, service.name) for service in services)
            slices = self._inventory.slices(route.service.namespace, route.service.name)
            found.update(("EndpointSlice", *key_of(each)) for each in slices)
        return found

    def _not_ours(self, naming: Sequence[Ingress]) -> Iterator[str]:
        classes = classes_of(self._inventory.of(IngressClass), self._context.controller_class)
        for ingress in naming:
            if not is_accepted(ingress, classes, context=self._context):
                name = "/".join(key_of(ingress))
                yield f"Ingress {name} names this host and is not served: {self._why_not_ours(ingress, classes)}."

    def _why_not_ours(self, ingress: Ingress, classes: Classes) -> str:
        named = ingress.spec.ingress_class_name
        annotation = ingress.metadata.annotations.get(CLASS_ANNOTATION, "")
        if self._context.watch_namespaces and ingress.metadata.namespace not in self._context.watch_namespaces:
            return "--watch-namespace does not include its namespace"
        if named is not None:
            owner = "belongs to another controller" if named in classes.known else "does not exist"
            return f"its IngressClass {quote(named)} {owner}"
        if annotation:
            return f"its annotation {CLASS_ANNOTATION} is {quote(annotation)} instead of {self._context.ingress_class}"
        return "it names no class, and none of zonal's IngressClasses is the default"

    def _ingress(self, route: RouteName) -> Ingress | None:
        if route.owner.kind != Kind.INGRESS.value:
            return None
        key = route.owner.namespace, route.owner.name
        return next((ingress for ingress in self._inventory.of(Ingress) if key_of(ingress) == key), None)

    def _sentence(self, source: str, route: RouteName) -> str:
        annotation = f"set by the annotation {OWN_PREFIX}zone-policy of"
        return {
            "flag-off": f'zone-aware-routing is not "true" in ConfigMap {self._context.configmap}',
            "default": "the default, because no object sets another",
            "configmap": f"set by zone-policy in ConfigMap {self._context.configmap}",
            "service": f"{annotation} Service {route.service.full_name}",
            "ingress": f"{annotation} {route.owner.kind} {route.owner.full_name}",
        }[source]


def _names(ingress: Ingress, host: str) -> bool:
    covered = covering(host)
    return any(rule.host in covered for rule in ingress.spec.rules)


def _subject(owner: Owner) -> tuple[str, str, str]:
    return owner.kind, owner.namespace, owner.name


def _slice_step(item: EndpointSlice) -> str:
    ports = ", ".join(f"{port.name or 'unnamed'} {port.port or 'any'}" for port in item.ports) or "no port"
    counts = Counter((_state(each), each.zone) for each in item.endpoints)
    said = (
        f"{count} {state} " + (f"in {zone}" if zone else "without a zone")
        for (state, zone), count in sorted(counts.items())
    )
    return f"EndpointSlice {'/'.join(key_of(item))} ({item.address_type}; {ports}): {', '.join(said) or 'empty'}."


def _entry(endpoint: SliceEndpoint) -> SliceEntry:
    target = endpoint.target_ref
    state = _state(endpoint)
    if isinstance(endpoint.hints, EndpointHints) and endpoint.hints.zones:
        state += f", hinted for {' '.join(endpoint.hints.zones)}"
    return SliceEntry(
        address=_canonical(endpoint.addresses[0]) if endpoint.addresses else "no address",
        zone=endpoint.zone or None,
        node=endpoint.node_name or None,
        pod=target.name if target is not None and target.kind == "Pod" else None,
        state=state,
    )


def _canonical(address: str) -> str:
    try:
        return str(ip_address(address))
    except ValueError:
        return address


def _state(endpoint: SliceEndpoint) -> str:
    conditions = endpoint.conditions
    state = "not ready" if conditions.ready is False else "ready"
    if conditions.terminating:
        state += " and terminating"
    if conditions.ready is False and conditions.terminating and conditions.serving is not False:
        state += " but serving"
    return state
