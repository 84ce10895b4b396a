"""Targets that an endpoint could read as a path with other gates."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.gates import SourceRanges
from balancer.model.publication import RoutingModel
from balancer.model.redirects import HttpsRedirect
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import Host, PathParameters, Route
from tests import builders as build

SEGMENTS = st.sampled_from(
    (b"", b".", b"..", b"a", b"..;x", b";", b"%2e%2E", b"%252e", b"a%2fb", b"%5c", b"%c0%af", b"b;c", b"%", b"%zz")
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=7).map(lambda segments: b"/" + b"/".join(segments))

GUARDED = msgspec.structs.replace(build.route("/secret"), gates=(SourceRanges(allowed=("10.0.0.0/8",)),))
REDIRECTED = msgspec.structs.replace(build.route("/secret"), gates=(HttpsRedirect(),))


@pytest.mark.parametrize("routes", [(build.route("/"), REDIRECTED), (GUARDED,), (build.route("/"),)])
def test_a_path_that_could_be_read_in_two_ways_is_served_where_no_gate_is_passed_by(routes: tuple[Route, ...]) -> None:
    default = msgspec.structs.replace(routes[0], path="/")
    model = build.model(hosts=[build.host("shop.test", *routes)], default_route=default)
    found = compile_routes(model).match(b"shop.test", b"/x;a", b"/x;a")
    assert found is not None
    assert found.served.route.path == "/"


def test_a_path_that_an_endpoint_could_read_as_a_guarded_one_is_refused() -> None:
    routes = compile_routes(build.model(hosts=[build.host("shop.test", build.route("/"), GUARDED)]))
    with pytest.raises(Refusal) as refusal:
        routes.match(b"shop.test", b"/secret;a", b"/secret;a")
    assert refusal.value.kind is ErrorKind.BAD_REQUEST
    for path, target in ((b"/secret/a", b"/secret/a?b;c"), (b"/a b", b"/a%20b"), (b"/", b"*")):
        assert routes.match(b"shop.test", path, target) is not None
    guarded = routes.match(b"shop.test", b"/secret/a", b"/secret/a;b")
    assert guarded is not None
    assert guarded.served.route is GUARDED


def test_a_host_that_changes_what_parameters_mean_is_compiled_anew() -> None:
    before = compile_routes(build.model(hosts=[build.host("shop.test", build.route("/"), GUARDED)]))
    host = msgspec.structs.replace(
        build.host("shop.test", build.route("/"), GUARDED), path_parameters=PathParameters.STRIP
    )
    after = compile_routes(build.model(hosts=[host]), before)
    found = after.match(b"shop.test", b"/secret;a", b"/secret;a")
    assert found is not None
    assert found.served.route.path == "/secret"


def falling(*hosts: Host) -> RouteTable:
    gateway = RouteConfiguration("gateway", wildcards=Wildcards.MANY_LABELS, falls_through=True)
    placed = tuple(msgspec.structs.replace(host, configuration="gateway", listener="web") for host in hosts)
    model = RoutingModel(
        entry_points=(), route_configurations=(gateway,), listeners=(Listener("web", "gateway"),), hosts=placed
    )
    return compile_routes(model, configuration="gateway")


def test_a_protected_path_of_another_host_that_requests_fall_to_is_compared_too() -> None:
    routes = falling(build.host("a.shop.test", build.route("/public")), build.host("*.shop.test", GUARDED))
    with pytest.raises(Refusal):
        routes.match(b"a.shop.test", b"/public/..;/secret", b"/public/..;/secret")
    assert routes.match(b"a.shop.test", b"/public/x;y", b"/public/x;y") is not None
    assert routes.match(b"a.shop.test", b"/secret", b"/secret") is not None
    alike = falling(
        build.host("a.shop.test", build.route("/public")), build.host("*.shop.test", build.route("/secret"))
    )
    assert alike.match(b"a.shop.test", b"/public/..;/secret", b"/public/..;/secret") is not None


def test_bytes_that_are_no_ascii_are_read_in_all_ways_also_unescaped() -> None:
    routes = compile_routes(build.model(hosts=[build.host("shop.test", build.route("/"), GUARDED)]))
    hostile = b"/x/\xc0\xae\xc0\xae/secret"
    with pytest.raises(Refusal):
        routes.match(b"shop.test", hostile, hostile)
    honest = "/x/caf\u00e9".encode()
    assert routes.match(b"shop.test", honest, honest) is not None


def test_where_readings_are_searched_for_long_few_are_tried() -> None:
    searched = msgspec.structs.replace(
        build.route("/x"), conditions=Conditions(fields=(ValueCondition("x-a", "a", is_expression=True),))
    )
    target = b"/a;b/%2e/%252e/c"
    for routes, refuses in (((build.route("/"), GUARDED), False), ((build.route("/"), GUARDED, searched), True)):
        table = compile_routes(build.model(hosts=[build.host("shop.test", *routes)]))
        try:
            assert table.match(b"shop.test", b"/a;b/%2e/c", target) is not None
            assert not refuses
        except Refusal:
            assert refuses
