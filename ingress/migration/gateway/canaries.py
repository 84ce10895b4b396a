"""Finds the paths beside which canary Ingresses stand, and says what becomes of each canary. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from balancer.model.publication import RoutingModel
from ingress.migration.gateway.forms import forms_of
from ingress.migration.gateway.moves import MovedCanary, MovedIngress, paths_of
from ingress.migration.overrides import overrides_of
from ingress.objects.kinds import Ingress, key_of
from ingress.settings.table.canaries import CanaryRules

Place = tuple[str, str]
"""A host and a path."""


def canary_rules(ingress: Ingress) -> CanaryRules:
    """By which rules requests go to an Ingress, if it is a canary."""
    return overrides_of(ingress).over(CanaryRules())


def canaries_of(model: RoutingModel, canaries: Iterable[Ingress]) -> dict[Place, MovedCanary]:
    """The canary beside each path, of those that get requests; one for each path, as ingress-nginx has it."""
    asked = {
        (host.name, route.path, branch.owner.full_name)
        for host in model.hosts
        for route in (*(() if host.default is None else (host.default,)), *host.routes)
        for branch in route.branches[1:]
    }
    found: dict[Place, MovedCanary] = {}
    for each in canaries:
        namespace, name = key_of(each)
        for host, path, backend in paths_of(each):
            place = host, path.text or "/"
            if (*place, f"{namespace}/{name}") in asked:
                found.setdefault(place, MovedCanary(canary_rules(each), namespace, name, backend))
    return found


def told_canaries(
    canaries: Iterable[Ingress], beside: Mapping[Place, MovedCanary], moved: Iterable[MovedIngress]
) -> Iterator[MovedIngress]:
    """What becomes of each canary: it stands in the routes of the Ingress beside it, if that Ingress has moved."""
    hosts = {host.host for each in moved for host in each.hosts if host.rules}
    for each in canaries:
        namespace, name = key_of(each)
        withheld: list[str] = []
        places = [(host, path.text or "/") for host, path, _ in paths_of(each)]
        for host, path in places:
            canary = beside.get((host, path))
            if canary is None or (canary.namespace, canary.name) != (namespace, name):
                withheld.append(f"{host or '*'}{path}: it gets no requests there: see zonal check.")
            elif host not in hosts:
                withheld.append(f"{host or '*'}{path}: the Ingress beside it stays.")
        yield MovedIngress(
            namespace,
            name,
            names=forms_of(each.metadata.annotations),
            withheld=tuple(dict.fromkeys(withheld)),
            joins=len(withheld) < len(places),
        )
