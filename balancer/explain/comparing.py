"""Explains why a request matches its host and path, and why other hosts and paths lose.

Asks the route table what matches, also for a table of a single host or route, so no rule of matching is written here a
second time. Does not know backends.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from balancer.http.messages import RequestHead
from balancer.matching.gates.leading import onward_target
from balancer.matching.host_tables import is_searchable
from balancer.matching.path_readings import path_without_parameters
from balancer.matching.regexes import compile_caseless
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.conditions import ANY
from balancer.model.publication import RoutingModel
from balancer.model.routes import SEARCHED_BYTES_WIDE, Branch, Host, Owner, PathKind, PathParameters, Route, ServiceName

# The most routes that are named as losers, because a host may have thousands.
_NAMED_MOST = 8
_NOBODY = Branch(None, Owner("", "", ""), ServiceName("", ""))
_ANY = Route(path="/", kind=PathKind.PREFIX, owner=_NOBODY.owner, branches=(_NOBODY,))


def host_steps(table: RouteTable, request: RequestHead) -> list[str]:
    """Which host of the table takes the request, and which other hosts match or nearly match."""
    name = request.host_name.decode()
    chosen = table.host(request.host_name)
    if chosen is None:
        return [f"No Ingress names host {name}, and no rule is without a host."]
    steps = [f"Host {name} is served by the {_said(chosen)}."]
    for other in table.content.hosts:
        if other.name == chosen.name:
            continue
        if _takes(other, request):
            steps.append(f"The {_said(other)} loses: {_why_host(chosen)}.")
        elif other.name.startswith("*.") and name.endswith(other.name[1:]):
            steps.append(f"The {_said(other)} does not match: * stands for exactly one label.")
    return steps


def path_steps(table: RouteTable, request: RequestHead) -> list[str]:
    """Which path takes the request, and which other paths match or nearly match.

    Raises `Refusal` where the request is refused, because endpoints could read its path in another way.
    """
    host = table.host(request.host_name)
    match = table.match(request.host_name, request.path, onward_target(request), request)
    if host is not None:
        request = msgspec.structs.replace(request, path=compared_path(host, request))
    chosen = match.served.route if match is not None else None
    if chosen is None:
        first = [f"No path matches {_text(request.path)}, and there is no default backend, so the answer is 404."]
    elif host is not None and chosen in host.routes:
        owner = f"{chosen.owner.kind} {_owner(chosen)}"
        first = [f"Path {_text(request.path)} is matched by {_place(chosen)} of {owner}."]
    elif host is not None and chosen is host.default:
        owner = f"{chosen.owner.kind} {_owner(chosen)}"
        first = [f"No path matches {_text(request.path)}: the default backend of {owner} serves."]
    else:
        service = chosen.main.service.full_name
        first = [f"No path matches {_text(request.path)}: zonal's default backend {service} serves."]
    if host is None:
        return first
    return [*first, *_limited(_losers(host, chosen, request))]


def compared_path(host: Host, request: RequestHead) -> bytes:
    """The path that the routes of `host` are compared with. Raises `Refusal` for one that is served nowhere."""
    target = onward_target(request)
    is_stripped = host.path_parameters is PathParameters.STRIP and target[:1] == b"/"
    return path_without_parameters(target) if is_stripped else request.path


def _losers(host: Host, chosen: Route | None, request: RequestHead) -> Iterator[str]:
    path = _text(request.path)
    if host.routes and all(route.kind is PathKind.REGEX for route in host.routes):
        yield from _losing_expressions(host, chosen, request)
        return
    for route in host.routes:
        bare = route.path.rstrip("/")
        is_near = path.startswith(bare) or route.path.startswith(path) or route.kind is PathKind.REGEX
        if route is chosen or not is_near:
            continue  # the paths share no beginning, so nobody expects a match
        if _matches(host, route, request):
            assert chosen is not None
            yield f"{_place(route)} matches as well and loses: {_why_path(chosen, route)}."
        elif _fits(host, route, request):
            yield f"{_place(route)} does not match: its conditions on method, fields or query do not hold."
        elif route.kind is PathKind.REGEX:
            yield f"{_place(route)} does not match."
        elif route.kind is PathKind.EXACT:
            yield f"{_place(route)} does not match: an exact path must equal the whole path."
        elif path.startswith(bare):
            yield f"{_place(route)} does not match: a prefix must end at the end of a path element."
        else:
            yield f"{_place(route)} does not match: it is longer than the path."


def _losing_expressions(host: Host, chosen: Route | None, request: RequestHead) -> Iterator[str]:
    """The expressions that match as well, then those that do not."""
    if not is_searchable(request.path):
        yield "A path with a line feed or a vertical tab matches no expression."
        return
    others = [route for route in host.routes if route is not chosen]
    is_long = len(request.path) > SEARCHED_BYTES_WIDE
    matching = [
        route
        for route in others
        if compile_caseless((is_long and route.long_expression) or route.expression).search(request.path)
    ]
    for route in matching:
        assert chosen is not None
        yield f"{_place(route)} matches as well and loses: {_why_expression(chosen, route)}."
    for route in others:
        if not any(route is each for each in matching):
            yield f"{_place(route)} does not match."


def _matches(host: Host, route: Route, request: RequestHead) -> bool:
    alone = msgspec.structs.replace(route, branches=_ANY.branches)
    table = compile_routes(RoutingModel(hosts=(Host(host.name, (alone,)),)))
    return table.match(request.host_name, request.path, request=request) is not None


def _fits(host: Host, route: Route, request: RequestHead) -> bool:
    """Whether only conditions keep a route from a request."""
    return route.conditions != ANY and _matches(host, msgspec.structs.replace(route, conditions=ANY), request)


def _takes(host: Host, request: RequestHead) -> bool:
    name = request.host_name.decode()
    if host.name and host.name != name and not (host.name.startswith("*.") and name.endswith(host.name[1:])):
        return False  # decided without a table, because a model may have thousands of hosts
    table = compile_routes(RoutingModel(hosts=(Host(host.name, default=_ANY),)))
    return table.match(request.host_name, b"/") is not None


def _limited(sentences: Iterator[str]) -> list[str]:
    every = list(sentences)
    if len(every) <= _NAMED_MOST:
        return every
    return [*every[:_NAMED_MOST], f"{len(every) - _NAMED_MOST} more paths of this host lose or do not match."]


def _why_host(chosen: Host) -> str:
    kind = "wildcard" if chosen.name.startswith("*.") else "exact name"
    return f"the {kind} comes first, and zonal never falls through to another host"


def _why_path(chosen: Route, loser: Route) -> str:
    if (chosen.kind, chosen.path) == (loser.kind, loser.path):
        return "of routes with one path the first one serves whose conditions hold"
    if chosen.kind is PathKind.EXACT:
        return "an exact path comes first"
    if chosen.kind is PathKind.REGEX:
        return "an expression comes before a prefix"
    if chosen.path.rstrip("/") == loser.path.rstrip("/"):
        return "of two spellings the one that equals the request comes first"
    return "the longer prefix comes first"


def _why_expression(chosen: Route, loser: Route) -> str:
    if len(chosen.path.encode()) > len(loser.path.encode()):
        return "the longer expression comes first"
    return "of expressions of equal length the last in alphabetical order comes first, then the older"


def _said(host: Host) -> str:
    if not host.name:
        return "catch-all (rules without a host)"
    return f"wildcard {host.name}" if host.name.startswith("*.") else f"exact name {host.name}"


def _place(route: Route) -> str:
    return f"{route.kind.value} {route.path}"


def _owner(route: Route) -> str:
    return route.owner.full_name


def _text(path: bytes) -> str:
    return path.decode(errors="backslashreplace")
