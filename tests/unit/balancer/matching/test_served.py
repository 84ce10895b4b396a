"""What is made of a route at the swap."""

from __future__ import annotations

import msgspec

from balancer.matching.gates.making import make_gate
from balancer.matching.routing import RouteTable, compile_routes
from balancer.matching.served import Served
from balancer.model.policies import RoutePolicy
from balancer.model.routes import Host, Route
from tests import builders as build


def table(*hosts: Host, default_route: Route | None = None) -> RouteTable:
    return compile_routes(build.model(hosts=hosts, default_route=default_route))


def test_a_matched_route_with_several_branches_has_a_junction() -> None:
    split = build.route("/a", canaries=[build.canary()])
    routes = table(build.host("shop.test", split, build.route("/b")))
    found, plain = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert found is not None and found.served.junction is not None
    assert found.served.junction.main.route is found.served.route is split
    assert plain is not None and plain.served.junction is None


def test_what_a_request_needs_of_a_route_is_ready_at_the_swap() -> None:
    replaced = build.route("/a", policy=RoutePolicy(host="other.test"))
    routes = table(build.host("shop.test", replaced, build.route("/b")))
    matches = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert [match and (match.served.host, match.captures) for match in matches] == [(b"other.test", ()), (None, ())]


def test_a_closed_route_is_served_as_closed() -> None:
    assert Served(msgspec.structs.replace(build.route(), closed=True), make_gate).closed
    assert not Served(build.route(), make_gate).closed
