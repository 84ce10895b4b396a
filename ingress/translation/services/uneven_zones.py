"""Makes a finding about zones with so few endpoints that a policy overloads them, which no autoscaler by CPU sees.

An autoscaler compares the average over all pods with its target, and its new pods start in any zone. The message holds
no numbers, because a rollout must not make a new finding with each of its steps. Does not know where replicas are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, repeat
from typing import Final, TypeAlias

from balancer.model.endpoints import Endpoint
from balancer.model.zones import Zone, ZonePolicy, ZonePolicyName
from balancer.zones.skew import expected_loads
from balancer.zones.verdicts import Surroundings
from ingress.findings import Report, Severity
from ingress.objects.kinds import Service, key_of

# An endpoint with more than twice the average is overloaded at half of the load that the others can carry.
_TOO_MUCH = 2.001
_ZONES_NAMED = 10

_SHAPES_REMEMBERED: Final = 256

_Kind: TypeAlias = tuple[Zone | None, tuple[Zone, ...], tuple[str, ...], tuple[tuple[str, str], ...]]
"""What a policy looks at in an endpoint: its zone, its hints for zones and nodes, its labels."""

_Shape: TypeAlias = frozenset[tuple[_Kind, int]]
"""How many ready endpoints of each kind a Service has. Thousands of Services have one of a few shapes."""

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
        suspects = [policy for policy in policies if policy.name not in _SEE_LOAD and not policy.dry_run]
        shape = _shape(endpoints) if suspects else frozenset()
        for policy in suspects:
            if found := _overloaded(shape, policy):
                zones |= found
                names.add(policy.name.value)
    if zones:
        report.add(
            reason="ZoneOverloadUnseen",
            message=_message("/".join(key_of(service)), sorted(zones), sorted(names)),
            effect="Endpoints there get more than twice the average if each zone has as many requests.",
            severity=Severity.DEGRADED,
        )


def _shape(endpoints: Iterable[Endpoint]) -> _Shape:
    kinds = ((each.zone, each.hint_zones, each.hint_nodes, each.labels) for each in endpoints if each.ready)
    return frozenset(Counter(kinds).items())


@lru_cache(maxsize=_SHAPES_REMEMBERED)
def _overloaded(shape: _Shape, policy: ZonePolicy) -> frozenset[Zone]:
    """The zones whose endpoints get too much. Which address an endpoint has decides nothing."""
    endpoints = tuple(map(_endpoint, chain.from_iterable(repeat(kind, count) for kind, count in shape)))
    loads = expected_loads(endpoints, Surroundings(), policy)
    return frozenset(zone for zone, load in loads.items() if load > _TOO_MUCH)


def _endpoint(kind: _Kind) -> Endpoint:
    zone, hint_zones, hint_nodes, labels = kind
    return Endpoint("", 0, zone=zone, hint_zones=hint_zones, hint_nodes=hint_nodes, labels=labels)


def _message(service: str, zones: list[Zone], policies: list[str]) -> str:
    named = ", ".join(zones[:_ZONES_NAMED]) + (", …" if len(zones) > _ZONES_NAMED else "")
    return (
        f"Service {service} has too few endpoints in {named} for the zone policy {' and '.join(policies)}, and "
        "autoscaling by CPU sees only the average of all zones: spread the pods (topologySpreadConstraints), or set "
        "zone-policy adaptive or zone-min-percent."
    )
