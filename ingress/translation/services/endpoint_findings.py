"""Makes findings about the endpoints of a Service as a whole: ports without endpoints, endpoints
without a zone, hints that nobody reads.

Finds the cause and names the repair. A Service gets one finding for each reason, however many endpoints it has. No
message holds a number of endpoints, because a rollout must not make a new finding with each of its steps. Findings
about one endpoint are made where the endpoint is read. Does not know routes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum, auto

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.zones.hints import are_complete
from ingress.findings import Findings, Report, Severity, quote
from ingress.objects.kinds import EndpointSlice, Service, ServicePort, key_of, subject_of
from ingress.sources.inventory import SERVICE_LABEL
from ingress.translation.services.endpoints import family_of, port_numbers
from ingress.translation.services.uneven_zones import note_uneven_zones

_CLOSED = "Requests for the Service are answered with 503."
_PORTS_NAMED = 10


class PortEndpoints(msgspec.Struct, frozen=True):
    """The endpoints of one Service port. `minds_zones`: a zone policy other than `off` chooses among them.

    `policies` are all that choose among them, while the flag is on.
    """

    port: ServicePort
    endpoints: tuple[Endpoint, ...]
    minds_zones: bool
    policies: frozenset[ZonePolicy] = frozenset()


class _Cause(Enum):
    """Why a port has no endpoint."""

    NO_SLICE = auto()
    OTHER_FAMILY = auto()
    EMPTY_SLICES = auto()
    OTHER_PORTS = auto()
    REFUSED = auto()
    NOT_READY = auto()


def note_endpoints(
    service: Service, ports: Collection[PortEndpoints], *, slices: Collection[EndpointSlice], findings: Findings
) -> None:
    """Notes findings about the endpoints of `ports`, which were made of `slices`, the slices of `service`."""
    report = findings.about(subject_of(service))
    unanswered: dict[_Cause, list[ServicePort]] = {}
    zones_known, deaf = set[bool](), set[str]()
    for each in ports:
        if each.policies and are_complete(tuple(endpoint for endpoint in each.endpoints if endpoint.ready)):
            deaf.update(policy.name.value for policy in each.policies if not _reads_hints(policy))
        if not each.endpoints:
            found = unanswered.setdefault(_cause(service, each.port, slices), [])
            if each.port not in found:  # two backends may differ only in their TLS
                found.append(each.port)
        elif each.minds_zones:
            zones_known.update(endpoint.zone is not None for endpoint in each.endpoints)
    for cause, found in unanswered.items():
        _note_unanswered(service, cause, found, slices=slices, report=report)
    if False in zones_known:
        _note_missing_zones(service, is_some=True in zones_known, report=report)
    if deaf:
        _note_unread_hints(service, sorted(deaf), report=report)
    note_uneven_zones(service, ((each.endpoints, each.policies) for each in ports), report)


def _cause(service: Service, port: ServicePort, slices: Collection[EndpointSlice]) -> _Cause:
    if not slices:
        return _Cause.NO_SLICE
    family = family_of(service, slices)
    of_family = [item for item in slices if item.address_type == family]
    if not of_family:
        return _Cause.OTHER_FAMILY
    # For a Service without pods, the EndpointSlice controller writes a slice without endpoints and ports.
    filled = [item for item in of_family if item.endpoints]
    if not filled:
        return _Cause.EMPTY_SLICES
    fitting = [item for item in filled if any(port_numbers(item, port))]
    if not fitting:
        return _Cause.OTHER_PORTS
    is_any_ready = any(each.conditions.ready is not False for item in fitting for each in item.endpoints)
    return _Cause.REFUSED if is_any_ready else _Cause.NOT_READY


def _note_unanswered(
    service: Service,
    cause: _Cause,
    ports: Collection[ServicePort],
    *,
    slices: Collection[EndpointSlice],
    report: Report,
) -> None:
    name = "/".join(key_of(service))
    numbers = ", ".join(str(port.port) for port in ports)
    place = f"port{'s' if len(ports) > 1 else ''} {numbers}"
    match cause:
        case _Cause.NO_SLICE:
            reason = "EndpointSliceMissing"
            message = (
                f"Service {name} has no EndpointSlice: give the Service a selector that matches pods, or write an "
                f"EndpointSlice with the label {SERVICE_LABEL}: {service.metadata.name} in its namespace."
            )
        case _Cause.OTHER_FAMILY:
            reason = "EndpointSliceMissing"
            family = family_of(service, slices)
            message = (
                f"Service {name} has no EndpointSlice of addressType {family or 'IPv4 or IPv6'}: write one, or "
                "correct spec.ipFamilies of the Service."
            )
        case _Cause.EMPTY_SLICES:
            reason = "NoReadyEndpoint"
            message = f"Service {name} has no endpoint: start pods, and check that the Service's selector matches them."
        case _Cause.OTHER_PORTS:
            reason = "EndpointPortMissing"
            message = (
                f"No EndpointSlice of Service {name} has the TCP port of {_named(ports)}; the slices have "
                f"{_offered(slices)}: give the port the same name in the Service and in the EndpointSlice."
            )
        case _Cause.REFUSED:
            reason = "EndpointRefused"
            message = (
                f"Service {name} has no endpoint on {place} whose address may be used: "
                "correct the addresses that the findings about its EndpointSlices name."
            )
        case _Cause.NOT_READY:
            reason = "NoReadyEndpoint"
            message = f"No endpoint of Service {name} is ready on {place}: find out why its pods are not ready."
    report.add(reason=reason, message=message, effect=_CLOSED, severity=Severity.CLOSED)


def _named(ports: Iterable[ServicePort]) -> str:
    """Service ports with the names by which a slice's port is found: `port 80 named "http"`."""
    return ", ".join(f"port {port.port} {f'named {quote(port.name)}' if port.name else '(no name)'}" for port in ports)


def _offered(slices: Iterable[EndpointSlice]) -> str:
    """The names of the TCP ports of slices, each once, sorted. Those beyond `_PORTS_NAMED` are left out."""
    named = sorted({port.name for item in slices for port in item.ports if port.protocol == "TCP"})
    said = [quote(name) if name else "one without a name" for name in named[:_PORTS_NAMED]]
    return ", ".join([*said, "others"] if len(named) > _PORTS_NAMED else said) or "no TCP port"


def _note_missing_zones(service: Service, *, is_some: bool, report: Report) -> None:
    who = "Some endpoints" if is_some else "All endpoints"
    report.add(
        reason="EndpointZoneMissing",
        message=(
            f"{who} of Service {'/'.join(key_of(service))} have no zone: give their Nodes the label "
            "topology.kubernetes.io/zone, or set zone in the EndpointSlice."
        ),
        effect="No zone policy counts an endpoint without a zone as local.",
        severity=Severity.DEGRADED,
    )


def _reads_hints(policy: ZonePolicy) -> bool:
    return policy.heeds_hints or policy.name is ZonePolicyName.HINTS


def _note_unread_hints(service: Service, policies: Iterable[str], *, report: Report) -> None:
    report.add(
        reason="HintsUnread",
        message=(
            f"Every ready endpoint of Service {'/'.join(key_of(service))} has hints, which the zone policy "
            f"{' and '.join(policies)} does not read: set zone-policy auto or hints, which kube-proxy equals, or let "
            "nobody write hints."
        ),
        effect="Requests go as if there were no hints.",
        severity=Severity.DEGRADED,
    )
