"""Reads one route: which rules can be carried out, where references lead, and what its parents make of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec

from ingress.objects.gateway_references import GATEWAY_GROUP, ParentReference, ServiceBackend
from ingress.objects.gateway_routes import (
    GatewayRoute,
    GrpcMatch,
    GrpcRoute,
    GrpcRule,
    HttpMatch,
    HttpRoute,
    HttpRule,
    RouteBackend,
    RouteFilter,
    UdpRoute,
)
from ingress.settings.hooks import RegisteredHook
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.attaching import NAMES_MOST, TOO_MANY_NAMES, Attachment, attach, hostnames_of
from ingress.translation.gateway.conditions import MatchPlace, grpc_place, http_place
from ingress.translation.gateway.extensions import Extensions, read_extensions
from ingress.translation.gateway.grants import NO_GRANTS, Grants, Referrer
from ingress.translation.gateway.hostname_room import NAMES_TOGETHER_MOST
from ingress.translation.gateway.listeners import ListenerOwner, ReadListener
from ingress.translation.gateway.namespaces import NamespaceLabels
from ingress.translation.gateway.route_facts import RouteFacts, facts_of
from ingress.translation.gateway.rules import grpc_rule_problem, http_rule_problem
from ingress.translation.gateway.service_references import NamedPort, ServiceFinder, plain
from ingress.translation.gateway.standings import Problem

NO_ROOM: Final = Problem(
    "UnsupportedValue",
    f"All routes together may have {NAMES_TOGETHER_MOST} hostnames on listeners, and older routes of this namespace"
    " leave too few of its share: name fewer, or fewer listeners.",
)


class RouteSurroundings(msgspec.Struct, frozen=True):
    """What decides about routes beside the Services that they name.

    `listeners` are those of each of our Gateways and ListenerSets. `defaults` are the Gateways, by namespace and name,
    that take routes that use default Gateways. `hooks` are those that the operator has registered. `allow_external`:
    the operator allows Services that stand for names outside of the cluster. `no_room` is why there is no room for
    them; then their rules are not read.
    """

    listeners: Mapping[ListenerOwner, tuple[ReadListener, ...]]
    labels: NamespaceLabels
    grants: Grants
    defaults: tuple[tuple[str, str], ...] = ()
    hooks: tuple[RegisteredHook, ...] = ()
    allow_external: bool = False
    no_room: Problem | None = None

    @property
    def near(self) -> RouteSurroundings:
        """What decides about routes that refer to their own namespace alone: all but the grants."""
        return msgspec.structs.replace(self, grants=NO_GRANTS)


class ReadParent(msgspec.Struct, frozen=True):
    """One parentRef of a route that names one of our objects: the attachments, or why there is none."""

    reference: ParentReference
    attached: tuple[Attachment, ...] = ()
    refused: Problem | None = None


class ReadRoute(msgspec.Struct, frozen=True):
    """A route as far as other objects decide about it. `oversized`: it has more conditions than there is room for.

    `dropped` are the problems of rules that cannot be carried out, by their number. `resolved` is where each reference
    leads, in the order of the rules. `extensions` are the hooks that rules ask. `looked_for` are the Services that were
    looked for, by namespace and name, whether they exist or not. `places` are those of the matches of each rule.
    `ports` are those of Services that its requests, connections and copies may go to. `is_costly`: some match is.
    """

    route: GatewayRoute
    facts: RouteFacts
    parents: tuple[ReadParent, ...]
    dropped: Mapping[int, str]
    resolved: Mapping[ServiceBackend, NamedPort | Problem]
    extensions: Extensions = Extensions()
    oversized: Problem | None = None
    looked_for: frozenset[tuple[str, str]] = frozenset()
    places: tuple[tuple[MatchPlace, ...], ...] = ()
    ports: frozenset[NamedPort] = frozenset()
    is_costly: bool = False

    @property
    def unresolved(self) -> Problem | None:
        """The first reference that leads nowhere."""
        extensions = self.extensions
        found = (*extensions.problems.values(), *extensions.backend_problems.values(), *self.resolved.values())
        return next((each for each in found if isinstance(each, Problem)), None)

    @property
    def refused(self) -> Problem | None:
        """Why the route is accepted by nobody: it is oversized, or none of its rules is left."""
        if self.oversized is not None:
            return self.oversized
        if self.dropped and len(self.dropped) == len(self.route.spec.rules):
            return Problem("UnsupportedValue", " ".join(self.dropped[each] for each in sorted(self.dropped)))
        return None


def read_route(route: GatewayRoute, around: RouteSurroundings, inventory: Inventory) -> ReadRoute:
    """Reads a route. Of the inventory only Services are looked for."""
    services = ServiceFinder(inventory, around.grants, allow_external=around.allow_external)
    extensions, places = Extensions(), tuple[tuple[MatchPlace, ...], ...]()
    is_read = around.no_room is None
    if isinstance(route, (HttpRoute, GrpcRoute)) and is_read:
        extensions = read_extensions(route.spec.rules, route.metadata.annotations, around.hooks)
        places = tuple(tuple(places_of(each)) for each in route.spec.rules)
    resolved = {plain(each): services.find(each, referrer_of(route)) for each in references_of(route)}
    parents = _parents(route, around)
    return ReadRoute(
        route,
        facts_of(route, (each.attached for each in parents)),
        parents,
        dropped={
            **{number: each.message for number, each in extensions.problems.items()},
            **(_dropped(route) if is_read else {}),
        },
        resolved=resolved,
        extensions=extensions,
        looked_for=frozenset(services.looked_for),
        places=places,
        ports=_ports(route, resolved.values()),
        is_costly=any(each.is_costly for own in places for each in own),
    )


def _ports(route: GatewayRoute, resolved: Iterable[NamedPort | Problem]) -> frozenset[NamedPort]:
    """The ports that a route leads to: none for a UDPRoute, because no listener takes it."""
    if isinstance(route, UdpRoute):
        return frozenset()
    return frozenset(each for each in resolved if isinstance(each, NamedPort))


def with_parents(read: ReadRoute, parents: tuple[ReadParent, ...]) -> ReadRoute:
    """The route with other attachments."""
    facts = facts_of(read.route, (each.attached for each in parents))
    return msgspec.structs.replace(read, parents=parents, facts=facts)


def places_of(rule: HttpRule | GrpcRule) -> Iterator[MatchPlace]:
    """The places of the matches of a rule that can be read."""
    if isinstance(rule, HttpRule):
        found = [http_place(each) for each in rule.matches or (HttpMatch(),)]
    else:
        found = [grpc_place(each) for each in rule.matches or (GrpcMatch(),)]
    yield from (each for each in found if each is not None)


def referrer_of(route: GatewayRoute) -> Referrer:
    """The route as one who refers to other objects."""
    return Referrer(route.kind.value, route.metadata.namespace)


def owner_named(reference: ParentReference, namespace: str) -> ListenerOwner | None:
    """The Gateway or ListenerSet that a parentRef of an object in `namespace` names; None for any other kind."""
    if reference.group != GATEWAY_GROUP or reference.kind not in {"Gateway", "ListenerSet"}:
        return None
    return ListenerOwner(reference.kind, reference.namespace or namespace, reference.name)


def references_of(route: GatewayRoute) -> Iterator[ServiceBackend]:
    """Every reference of a route to a Service, in the order of its rules."""
    for rule in route.spec.rules:
        yield from rule.backend_refs
    if isinstance(route, (HttpRoute, GrpcRoute)):
        for filters in _filters_of(route):
            for each in filters:
                if each.type == "RequestMirror" and each.request_mirror is not None:
                    yield each.request_mirror.backend_ref
                elif each.type == "ExternalAuth" and each.external_auth is not None:
                    yield each.external_auth.backend_ref


def needs_grants(route: GatewayRoute) -> bool:
    """Whether a route refers to another namespace."""
    own = route.metadata.namespace
    return any(each.namespace not in {"", own} for each in references_of(route))


def _filters_of(route: HttpRoute | GrpcRoute) -> Iterator[tuple[RouteFilter, ...]]:
    for rule in route.spec.rules:
        yield rule.filters
        backends: tuple[RouteBackend, ...] = rule.backend_refs
        for each in backends:
            yield each.filters


def names_at_most(route: GatewayRoute, around: RouteSurroundings) -> int:
    """No fewer hostnames than the route has on its listeners. Looks at none of them."""
    listeners = sum(len(around.listeners[owner]) for _, owner in _owners(route, around))
    return listeners * max(1, len(hostnames_of(route)))


def names_wanted(route: GatewayRoute, around: RouteSurroundings) -> int:
    """How many hostnames the route has on its listeners, if that is not too many for one route; then it has none."""
    return sum(len(each.hostnames) for parent in _parents(route, around) for each in parent.attached)


def _owners(route: GatewayRoute, around: RouteSurroundings) -> Iterator[tuple[ParentReference, ListenerOwner]]:
    """The parentRefs of a route that name one of our objects, each with that."""
    named = list(dict.fromkeys(route.spec.parent_refs))
    if route.spec.use_default_gateways == "All":
        owners = {owner_named(each, route.metadata.namespace) for each in named}
        added = (each for each in around.defaults if ListenerOwner("Gateway", *each) not in owners)
        named += [ParentReference(name, namespace=namespace) for namespace, name in added]
    for reference in named:
        owner = owner_named(reference, route.metadata.namespace)
        if owner is not None and owner in around.listeners:
            yield reference, owner


def _parents(route: GatewayRoute, around: RouteSurroundings) -> tuple[ReadParent, ...]:
    """The parents of a route, without any attachment if there is no room for its hostnames."""
    found: list[ReadParent] = []
    count, problem = 0, around.no_room
    for reference, owner in _owners(route, around):
        made = problem or attach(route, reference, around.listeners[owner], around.labels)
        if isinstance(made, Problem):
            problem = TOO_MANY_NAMES if made is TOO_MANY_NAMES else problem
            found.append(ReadParent(reference, refused=made))
            continue
        count += sum(len(each.hostnames) for each in made)
        problem = TOO_MANY_NAMES if count > NAMES_MOST else problem
        found.append(ReadParent(reference, attached=made))
    if problem is None:
        return tuple(found)
    return tuple(ReadParent(each.reference, refused=each.refused or problem) for each in found)


def _dropped(route: GatewayRoute) -> dict[int, str]:
    if isinstance(route, HttpRoute):
        problems = [http_rule_problem(each) for each in route.spec.rules]
    elif isinstance(route, GrpcRoute):
        problems = [grpc_rule_problem(each) for each in route.spec.rules]
    else:
        return {}
    return {number: problem for number, problem in enumerate(problems) if problem is not None}
