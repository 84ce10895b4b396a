"""What the objects of a cluster tell about an explanation: who set the policy, slices, and findings.

Asks what translates them, so that nothing is read in two ways. It must not know how an endpoint is chosen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from balancer.explaining import PolicySource
from balancer.model import Route
from ingress.endpoint_hints import EndpointHints
from ingress.findings import Finding, Findings
from ingress.inventory import Inventory
from ingress.objects import EndpointSlice, Ingress, SliceEndpoint, key_of, subject_of
from ingress.settings import read_configmap
from ingress.translation.acceptance import classes_of, is_accepted
from ingress.translation.annotations import OWN_PREFIX, read_ingress_annotations, read_service_annotations
from ingress.translation.backend_zones import policy_origin
from ingress.translation.conflicts import covering
from ingress.translation.context import TranslationContext
from ingress.translation.zones import follows_hints
from ingress.zone_settings import SECTION

# More than a person reads; a Service may have thousands of endpoints, and a host as many findings.
_NAMED_MOST = 50
# What an Ingress that lost a claim is told; it tells as much about the winner.
_LOSSES = frozenset({"Conflict", "CanaryWithoutMain", "CanaryIgnored"})


class Evidence:
    """The objects at one moment, and what is wrong with them. A `Background`."""

    __slots__ = ("_context", "_findings", "_inventory")

    def __init__(self, inventory: Inventory, context: TranslationContext, *, findings: Sequence[Finding] = ()) -> None:
        self._inventory = inventory
        self._context = context
        self._findings = findings

    def policy_source(self, route: Route) -> PolicySource:
        """Where the zone policy of a route was set."""
        namespace, _, name = self._context.configmap.partition("/")
        config_map = self._inventory.config_map(namespace, name)
        data = config_map.data if config_map is not None else {}
        settings, _ = read_configmap(data)
        service = self._inventory.service(route.namespace, route.service)
        ingress = self._ingress(route)
        said_by_ingress: Mapping[str, Any] = {}
        if ingress is not None:
            report = Findings().about(subject_of(ingress))
            said_by_ingress = read_ingress_annotations(ingress, settings, report=report).zones
        said_by_service: Mapping[str, Any] = {}
        if service is not None:
            said = read_service_annotations(service, Findings().about(subject_of(service)))
            said_by_service = said.get(SECTION, {})
        source, choice = policy_origin(settings, data, service=said_by_service, ingress=said_by_ingress)
        sentence = self._sentence(source, route)
        if choice.name is None and service is not None:
            asks = "asks for hints" if follows_hints(service) else "does not ask for hints"
            sentence += f"; it is what auto comes to, because the Service {asks}"
        return PolicySource(source, sentence)

    def slice_steps(self, route: Route) -> list[str]:
        """Every slice of a route's Service with the conditions of its endpoints."""
        service = self._inventory.service(route.namespace, route.service)
        if service is not None and service.spec.type == "ExternalName":
            return [f"Service {route.namespace}/{route.service} is an ExternalName, whose addresses are looked up."]
        slices = sorted(self._inventory.slices(route.namespace, route.service), key=key_of)
        if not slices:
            return [f"Service {route.namespace}/{route.service} has no EndpointSlice."]
        steps = [_slice_step(each) for each in slices[:_NAMED_MOST]]
        if len(slices) > _NAMED_MOST:
            steps.append(f"{len(slices) - _NAMED_MOST} more EndpointSlices are not listed.")
        return steps

    def finding_steps(self, host: str, routes: Sequence[Route]) -> list[str]:
        """Findings about the objects involved; without routes, about Ingresses that name the host, if ours or not."""
        naming = [ingress for ingress in self._inventory.ingresses() if _names(ingress, host)]
        steps = [] if routes else list(self._not_ours(naming))
        rivals = {("Ingress", *key_of(ingress)) for ingress in naming}
        involved = self._involved(routes) if routes else rivals
        told = [
            finding
            for finding in self._findings
            if (subject := (finding.kind, finding.namespace, finding.name)) in involved
            or (subject in rivals and finding.reason in _LOSSES)
        ]
        for finding in told[:_NAMED_MOST]:
            place = f"{finding.namespace}/{finding.name}" if finding.namespace else finding.name
            steps.append(f"Finding {finding.reason}, {finding.kind} {place}: {finding.message} {finding.effect}")
        return steps

    def _involved(self, routes: Sequence[Route]) -> set[tuple[str, str, str]]:
        namespace, _, name = self._context.configmap.partition("/")
        found = {("ConfigMap", namespace, name)}
        for route in routes:
            found.add(("Ingress", route.namespace, route.ingress))
            found.update(("Ingress", canary.namespace, canary.ingress) for canary in route.canaries)
            found.add(("Service", route.namespace, route.service))
            slices = self._inventory.slices(route.namespace, route.service)
            found.update(("EndpointSlice", *key_of(each)) for each in slices)
        return found

    def _not_ours(self, naming: Sequence[Ingress]) -> Iterator[str]:
        classes = classes_of(self._inventory.ingress_classes(), self._context.controller_class)
        for ingress in naming:
            if not is_accepted(ingress, classes, context=self._context):
                name = "/".join(key_of(ingress))
                yield f"Ingress {name} names this host and is not served: its class or namespace is not ours."

    def _ingress(self, route: Route) -> Ingress | None:
        key = route.namespace, route.ingress
        return next((ingress for ingress in self._inventory.ingresses() if key_of(ingress) == key), None)

    def _sentence(self, source: str, route: Route) -> str:
        annotation = f"set by the annotation {OWN_PREFIX}zone-policy of"
        return {
            "flag-off": f'zone-aware-routing is not "true" in ConfigMap {self._context.configmap}',
            "default": "the default, as nobody sets another",
            "configmap": f"set by zone-policy in ConfigMap {self._context.configmap}",
            "service": f"{annotation} Service {route.namespace}/{route.service}",
            "ingress": f"{annotation} Ingress {route.namespace}/{route.ingress}",
        }[source]


def _names(ingress: Ingress, host: str) -> bool:
    covered = covering(host)
    return any(rule.host in covered for rule in ingress.spec.rules)


def _slice_step(item: EndpointSlice) -> str:
    ports = ", ".join(f"{port.name or 'unnamed'} {port.port or 'any'}" for port in item.ports) or "no port"
    endpoints = [_endpoint(each) for each in item.endpoints[:_NAMED_MOST]]
    if len(item.endpoints) > _NAMED_MOST:
        endpoints.append(f"and {len(item.endpoints) - _NAMED_MOST} more")
    return f"EndpointSlice {'/'.join(key_of(item))} ({item.address_type}; {ports}): {'; '.join(endpoints) or 'empty'}."


def _endpoint(endpoint: SliceEndpoint) -> str:
    conditions = endpoint.conditions
    said = ["not ready" if conditions.ready is False else "ready"]
    if conditions.terminating:
        said.append("terminating")
    if conditions.ready is False:
        said.append("not serving" if conditions.serving is False else "serving")
    said += [f"zone {endpoint.zone}"] if endpoint.zone else []
    if isinstance(endpoint.hints, EndpointHints) and endpoint.hints.zones:
        said.append(f"hinted for {' '.join(endpoint.hints.zones)}")
    return f"{endpoint.addresses[0] if endpoint.addresses else 'no address'} {', '.join(said)}"
