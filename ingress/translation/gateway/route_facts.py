"""What every translation asks of each route that it has read: worked out once, when the route is read.

Thousands of routes are the same from one translation to the next, and whoever walks over all of them should not look
into each. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from ingress.objects.gateway_routes import GatewayRoute, GrpcMatch, GrpcRoute, HttpMatch, HttpRoute
from ingress.translation.claims import created_epoch_seconds
from ingress.translation.gateway.attaching import Attachment, hostnames_of
from ingress.translation.gateway.hostnames import normal

Name = tuple[str, str]
"""The key of a listener, and a hostname of it."""


class RouteFacts(msgspec.Struct, frozen=True):
    """Facts about one route.

    `seniority` sorts routes: by age, then namespace and name, then kind. `names` are the hostnames that it has on its
    listeners, `listeners` the keys of these, and `gateways` their Gateways, by namespace and name. `conditions` is how
    many it adds to the model. `redirects`: some rule does. `has_matches`: it has more than one match. `hostnames` are
    those that it says, as they are compared.
    """

    seniority: tuple[float, str, str]
    names: tuple[Name, ...] = ()
    listeners: frozenset[str] = frozenset()
    gateways: frozenset[tuple[str, str]] = frozenset()
    conditions: int = 0
    redirects: bool = False
    has_matches: bool = False
    hostnames: frozenset[str] = frozenset()


def facts_of(route: GatewayRoute, attached: Iterable[Sequence[Attachment]]) -> RouteFacts:
    """The facts of a route. `attached` are its attachments, parent by parent."""
    metadata, every = route.metadata, [each for attachments in attached for each in attachments]
    rules = route.spec.rules if isinstance(route, HttpRoute) else ()
    return RouteFacts(
        (created_epoch_seconds(metadata), f"{metadata.namespace}/{metadata.name}", route.kind.value),
        tuple(dict.fromkeys((each.listener.key, hostname) for each in every for hostname in each.hostnames)),
        frozenset(each.listener.key for each in every),
        frozenset(each.listener.gateway for each in every),
        conditions=_conditions(route) * sum(len(each.hostnames) for each in every),
        redirects=any(each.request_redirect is not None for rule in rules for each in rule.filters),
        has_matches=_matches(route) > 1,
        hostnames=frozenset(map(normal, hostnames_of(route))),
    )


def _conditions(route: GatewayRoute) -> int:
    """How many conditions a route adds to the model for one name."""
    if isinstance(route, HttpRoute):
        return sum(_http(match) for rule in route.spec.rules for match in rule.matches or (HttpMatch(),))
    if isinstance(route, GrpcRoute):
        return sum(_grpc(match) for rule in route.spec.rules for match in rule.matches or (GrpcMatch(),))
    return len(route.spec.rules)


def _matches(route: GatewayRoute) -> int:
    if isinstance(route, (HttpRoute, GrpcRoute)):
        return sum(max(1, len(rule.matches)) for rule in route.spec.rules)
    return len(route.spec.rules)


def _http(match: HttpMatch) -> int:
    return 1 + bool(match.method) + len(match.headers) + len(match.query_params)


def _grpc(match: GrpcMatch) -> int:
    return 2 + len(match.headers)
