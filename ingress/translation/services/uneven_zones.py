"""Makes a finding about zones with so few endpoints that a policy overloads them, which no autoscaler by CPU sees.

An autoscaler compares the average over all pods with its target, and its new pods start in any zone. The message holds
no numbers, because a rollout must not make a new finding with each of its steps. Does not know where replicas are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicy, ZonePolicyName
from balancer.zones.skew import expected_loads
from balancer.zones.verdicts import Surroundings
from ingress.findings import Report, Severity
from ingress.objects.kinds import Service, key_of

# An endpoint with more than twice the average is overloaded at half of the load that the others can carry.
_TOO_MUCH = 2.001
_ZONES_NAMED = 10

# These move requests with the load, or compute shares from what is known. The others suppose that zones are even.
_SEE_LOAD = frozenset({ZonePolicyName.OFF, ZonePolicyName.ADAPTIVE})


def note_uneven_zones(
    service: Service, ports: Iterable[tuple[Collection[Endpoint], Collection[ZonePolicy]]], report: Report
) -> None:
    """Notes the zones of a Service whose endpoints get more than twice the average, if each zone has as many requests.

    `ports` are the endpoints of each port and the policies that choose among them.
    """
    zones, names = set[Zone](), set[str]()
    for endpoints, policies in ports:
        for policy in policies:
            if policy.name not in _SEE_LOAD and not policy.dry_run and (found := _overloaded(tuple(endpoints), policy)):
                zones |= found
                names.add(policy.name.value)
    if zones:
        report.add(
            reason="ZoneOverloadUnseen",
            message=_message("/".join(key_of(service)), sorted(zones), sorted(names)),
            effect="Endpoints there get more than twice the average if each zone has as many requests.",
            severity=Severity.DEGRADED,
        )


def _overloaded(endpoints: tuple[Endpoint, ...], policy: ZonePolicy) -> set[Zone]:
    loads = expected_loads(endpoints, Surroundings(), policy)
    return {zone for zone, load in loads.items() if load > _TOO_MUCH}


def _message(service: str, zones: list[Zone], policies: list[str]) -> str:
    named = ", ".join(zones[:_ZONES_NAMED]) + (", …" if len(zones) > _ZONES_NAMED else "")
    return (
        f"Service {service} has too few endpoints in {named} for the zone policy {' and '.join(policies)}, and "
        "autoscaling by CPU sees only the average of all zones: spread the pods (topologySpreadConstraints), or set "
        "zone-policy adaptive or zone-min-percent."
    )
