"""A request falls from host to host, and costs no more than one host may."""

from __future__ import annotations

import msgspec

from balancer.matching.falling import Falling, FallingFar, falling
from balancer.matching.gates.making import make_gate
from balancer.matching.host_compiling import care_for_all, compiling_host
from balancer.matching.routing import compile_routes
from balancer.matching.served import Match, Served
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Route
from balancer.runtime.steps import finished
from tests import builders as build
from tests.questions import question_of


def test_what_a_request_falls_through_searches_no_more_than_one_table_may() -> None:
    """Each wildcard has a field searched that would take nearly all that one search may; only the last would match."""

    def searched(end: str) -> Route:
        condition = ValueCondition("x", f"^a{{0,110}}[ab]*{end}$", is_expression=True)
        return msgspec.structs.replace(build.route("/"), conditions=Conditions(fields=(condition,)))

    names = ("*.a.b.test", "*.b.test", "*.test")
    hosts = [
        msgspec.structs.replace(build.host(name, searched(end)), listener="gateway", configuration="gateway")
        for name, end in zip(names, "xyb", strict=True)
    ]
    configuration = RouteConfiguration("gateway", wildcards=Wildcards.MANY_LABELS, falls_through=True)
    listeners = (Listener("gateway", "gateway"),)
    model = RoutingModel(route_configurations=(configuration,), listeners=listeners, hosts=tuple(hosts))
    table = compile_routes(model, configuration="gateway")
    for size, found in ((100, True), (550, False), (100, True), (550, False)):
        request = question_of("http://c.a.b.test/", (f"X: {'b' * size}",)).request
        assert (table.match(b"c.a.b.test", b"/", b"/", request) is not None) is found
        assert table.match(b"c.test", b"/", b"/", request) is not None, "it falls through no other"


def test_hosts_of_paths_alone_share_nothing() -> None:
    plain = [finished(compiling_host(build.host(name, build.route("/a")), None, make_gate)) for name in "ab"]
    care = care_for_all(())
    assert type(falling(tuple(plain), None, care)) is Falling
    method = msgspec.structs.replace(build.route("/"), conditions=Conditions("POST"))
    asking = [finished(compiling_host(build.host(name, method), None, make_gate)) for name in "ab"]
    assert type(falling((*plain, asking[0]), None, care)) is Falling
    assert type(falling((*plain, *asking), None, care)) is FallingFar


def test_the_default_serves_what_no_host_has() -> None:
    default = Match(Served(build.route("/default"), make_gate))
    tables = tuple(
        finished(compiling_host(build.host(name, build.route(f"/{name}")), None, make_gate)) for name in "ab"
    )
    table = falling(tables, default, care_for_all(()))
    found = [table.match(path, path) for path in (b"/a", b"/b", b"/c")]
    assert [each and each.served.route.path for each in found] == ["/a", "/b", "/default"]
