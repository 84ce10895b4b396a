"""What Gateway API adds to a request: looking its route up, and its filters.

Responsible for the steps that `hot_path` times and tests count. It must not judge figures, nor know Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import Outgoing
from balancer.http1.heads import RequestHeadReader
from balancer.matching.gates.route_redirect import RouteRedirectGate
from balancer.matching.gates.verdicts import Asked
from balancer.matching.path_replacement import PathReplacer
from balancer.matching.request_edits import RequestEditor
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.edits import RequestEdit
from balancer.model.entry_points import HTTP
from balancer.model.publication import RoutingModel
from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Host, Route
from balancer.model.settings import ProxySettings

CONFIGURATION = "gateway:shop/web:80"
CANDIDATES = 10
REQUEST = (
    b"GET /section-7/page?lang=en&page=2&shop=5 HTTP/1.1\r\nHost: host-50.example\r\n"
    b"X-Version: 5\r\nX-Team: 5\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n"
)

Step = Callable[[], object]
MakeRoute = Callable[[int], Route]


def steps(model: RoutingModel, route: MakeRoute) -> dict[str, Step]:
    """The steps by name. `model` is one of Ingresses, whose hosts have ten routes that `route` makes."""
    request = RequestHeadReader(ProxySettings()).read(REQUEST)
    asked = Asked(request, Origin(peer="192.0.2.1", entry_point=HTTP), False)
    redirect = RouteRedirectGate(RouteRedirect(scheme="https", path=PathReplacement("/new", "/section-7")))
    replacer = PathReplacer(PathReplacement("/new", "/section-7"))
    editor = RequestEditor([RequestEdit(set=(("X-Set", "1"),), add=(("X-Add", "2"),), remove=("x-gone",))])
    return {
        "match an Ingress": matching(compile_routes(model), request),
        "match an HTTPRoute": matching(table_of(model), request),
        "match two fields among ten candidates": matching(table_of(model, choosing(route, by_fields)), request),
        "match two parameters among ten candidates": matching(table_of(model, choosing(route, by_query)), request),
        "edit the fields of a request": lambda: editor.put_on(Outgoing(request, asked.origin, b"0" * 32)),
        "make what a request becomes, unedited": lambda: Outgoing(request, asked.origin, b"0" * 32),
        "redirect with another prefix": lambda: redirect.judge(asked, _never),
        "replace a prefix": lambda: replacer.rewritten(request, "192.0.2.1", ()),
    }


def models(model: RoutingModel, route: MakeRoute) -> dict[str, RoutingModel]:
    """`model` as whole requests are timed with it, by what Gateway API adds to its routes."""
    edit = RequestEdit(set=(("X-Set", "1"),), add=(("X-Add", "2"),), remove=("x-gone",))
    return {
        "path and host": model,
        "two fields among ten candidates": _with_routes(model, lambda _: choosing(route, by_fields)),
        "two parameters among ten candidates": _with_routes(model, lambda _: choosing(route, by_query)),
        "fields edited": _changed(model, request_edits=(edit,)),
        "another prefix": _changed(model, rewriting=PathReplacement("/new", "/section-7")),
    }


def _changed(model: RoutingModel, **fields: object) -> RoutingModel:
    """`model` with these fields of every route."""
    return _with_routes(model, lambda host: tuple(msgspec.structs.replace(each, **fields) for each in host.routes))


def _with_routes(model: RoutingModel, routes: Callable[[Host], tuple[Route, ...]]) -> RoutingModel:
    return msgspec.structs.replace(
        model, hosts=tuple(msgspec.structs.replace(each, routes=routes(each)) for each in model.hosts)
    )


def with_gateway(model: RoutingModel, routes: tuple[Route, ...] = ()) -> RoutingModel:
    """`model` with a listener that has as many hosts, with the same routes; `routes` are those of each host instead."""
    hosts = (
        msgspec.structs.replace(
            each, routes=routes or each.routes, configuration=CONFIGURATION, listener="Gateway/shop/web/http"
        )
        for each in model.hosts
    )
    configuration = RouteConfiguration(CONFIGURATION, wildcards=Wildcards.MANY_LABELS, falls_through=True)
    return msgspec.structs.replace(
        model,
        hosts=tuple(sorted((*model.hosts, *hosts), key=_place)),
        route_configurations=tuple(sorted((*model.route_configurations, configuration), key=lambda each: each.key)),
        listeners=tuple(
            sorted((*model.listeners, Listener("Gateway/shop/web/http", CONFIGURATION)), key=lambda each: each.key)
        ),
    )


def table_of(model: RoutingModel, routes: tuple[Route, ...] = ()) -> RouteTable:
    """The table of a Gateway with the hosts of `model`, and their routes or `routes`."""
    return compile_routes(with_gateway(model, routes), configuration=CONFIGURATION)


def choosing(
    route: MakeRoute, conditions: Callable[[int], Conditions], candidates: int = CANDIDATES
) -> tuple[Route, ...]:
    """Routes of one path, each with its conditions."""
    return tuple(msgspec.structs.replace(route(7), conditions=conditions(number)) for number in range(candidates))


def matching(table: RouteTable, request: RequestHead) -> Step:
    """Looks the route of a request up, which there must be."""
    if table.match(request.host_name, request.path, request.target, request) is None:
        raise RuntimeError("the benchmark's request must match a route")
    return lambda: table.match(request.host_name, request.path, request.target, request)


def by_fields(number: int) -> Conditions:
    """Two fields, of which the request has the values of number 5."""
    return Conditions(fields=(ValueCondition("x-team", str(number)), ValueCondition("x-version", str(number))))


def by_query(number: int) -> Conditions:
    """Two parameters, of which the request has the values of number 5."""
    return Conditions(query=(ValueCondition("lang", "en"), ValueCondition("shop", str(number))))


def _place(host: Host) -> tuple[str, str]:
    return host.listener, host.name


def _never(_: object) -> None:
    raise AssertionError("a redirect is made at once")
