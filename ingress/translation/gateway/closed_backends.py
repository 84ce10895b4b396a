"""Tells routes in their statuses which of their backends are closed by a BackendTLSPolicy that cannot be carried out.

Such a reference of an HTTPRoute or GRPCRoute is invalid (gateway.networking.k8s.io/v1 HTTPBackendRef). Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from ingress.objects.gateway_routes import GrpcRoute, HttpRoute
from ingress.objects.kinds import key_of
from ingress.translation.gateway.backend_policies import JudgedPolicy
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.service_references import NamedPort
from ingress.translation.gateway.standings import ObjectStanding, ParentStanding, RouteStatus, StatusCondition


def with_closed_backends(
    standings: Iterable[ObjectStanding], routes: Iterable[ReadRoute], policies: Mapping[NamedPort, JudgedPolicy]
) -> Iterator[ObjectStanding]:
    """The standings, those of routes with such a backend with a false ResolvedRefs. `policies` are those of ports."""
    closed = {port: each for port, each in policies.items() if each.invalid is not None}
    if not closed:
        yield from standings
        return
    told = {
        (each.route.kind.value, *key_of(each.route)): _said(port, closed[port])
        for each in routes
        if isinstance(each.route, (HttpRoute, GrpcRoute))
        for port in sorted(each.ports & closed.keys(), reverse=True)
    }
    for standing in standings:
        said = told.get((standing.kind, standing.namespace, standing.name))
        if said is not None and isinstance(standing.status, RouteStatus):
            parents = tuple(_told(each, said) for each in standing.status.parents)
            yield msgspec.structs.replace(standing, status=RouteStatus(parents))
        else:
            yield standing


def _said(port: NamedPort, judged: JudgedPolicy) -> str:
    return (
        f"The BackendTLSPolicy {judged.policy.metadata.name} cannot be carried out, which closes port {port.port} of"
        f" the Service {port.namespace}/{port.service}: see the status of the policy."
    )


def _told(parent: ParentStanding, said: str) -> ParentStanding:
    conditions = tuple(
        StatusCondition(each.type, "False", "InvalidBackendTLS", said, each.observed_generation)
        if (each.type, each.status) == ("ResolvedRefs", "True")
        else each
        for each in parent.conditions
    )
    return msgspec.structs.replace(parent, conditions=conditions)
