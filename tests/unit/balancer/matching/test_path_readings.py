"""What endpoints may find in a target, and which targets a host refuses for it."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind, Refusal
from balancer.matching.path_readings import path_without_parameters, readings
from balancer.matching.routing import compile_routes
from balancer.model.gates import SourceRanges
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import PathParameters, Route
from tests import builders as build

SEGMENTS = st.sampled_from(
    (b"", b".", b"..", b"a", b"..;x", b";", b"%2e%2E", b"%252e", b"a%2fb", b"%5c", b"%c0%af", b"b;c", b"%", b"%zz")
)
PATHS = st.lists(SEGMENTS, min_size=1, max_size=7).map(lambda segments: b"/" + b"/".join(segments))


@pytest.mark.parametrize(
    ("target", "found"),
    [
        (b"/", {b"/"}),
        (b"/a/b?c;d//..", {b"/a/b"}),
        (b"/a;b/c", {b"/a;b/c", b"/a/c"}),
        (b"/a%3bb", {b"/a%3bb", b"/a;b", b"/a"}),
        (b"/a%5cb", {b"/a%5cb", b"/a\\b", b"/a/b"}),
        (b"/a%2562", {b"/a%2562", b"/a%62", b"/ab"}),
        (b"//a/b", {b"//a/b", b"/a/b", b"/b"}),
        (b"/a//../b", {b"/a//../b", b"/a/b", b"/a/../b", b"/b"}),
        (b"/%c0%ae", {b"/%c0%ae", b"/\xc0\xae", b"/.", b"/"}),
        (b"/../a", {b"/../a", b"/a"}),
    ],
)
def test_the_readings_of_a_target(target: bytes, found: set[bytes]) -> None:
    assert readings(target, strips_parameters=True) == found


def test_parameters_stay_where_no_endpoint_strips_them() -> None:
    assert readings(b"/a;b/..;/c", strips_parameters=False) == {b"/a;b/..;/c"}


@given(PATHS, st.booleans())
def test_readings_are_rooted_and_few_and_the_path_as_it_stands_is_one(target: bytes, strips: bool) -> None:
    try:
        found = readings(target, strips_parameters=strips)
    except Refusal as refusal:
        assert refusal.kind is ErrorKind.BAD_REQUEST
        return
    assert target in found
    assert len(found) <= 16
    assert all(path.startswith(b"/") for path in found)


@pytest.mark.parametrize("target", [b"//a/;x/%25%2e./\\%5c/../b", b"//" + b"%41" * 4000 + b"/;/../%2541"])
def test_a_path_with_too_many_readings_is_refused(target: bytes) -> None:
    with pytest.raises(Refusal) as refusal:
        readings(target, strips_parameters=True)
    assert refusal.value.kind is ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("target", "path"),
    [
        (b"/a;b=c/d;e?f;g", b"/a/d"),
        (b"/x/..;/admin", b"/admin"),
        (b"/;x/admin", b"/admin"),
        (b"/a%3bb", b"/a;b"),
        (b"/a;%zz", b"/a"),
    ],
)
def test_a_path_without_its_parameters(target: bytes, path: bytes) -> None:
    assert path_without_parameters(target) == path


def test_a_path_that_leaves_the_root_without_its_parameters_is_refused() -> None:
    with pytest.raises(Refusal):
        path_without_parameters(b"/..;/..;/admin")


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
