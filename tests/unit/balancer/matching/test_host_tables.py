"""Which route of a host serves a path: prefixes, exact paths, expressions, and what a look-up may cost."""

from __future__ import annotations

import re
import sys
from functools import partial

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.gates import SourceRanges
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Host, PathKind, Route
from tests import builders as build
from tests.matches import route_for


def table(*hosts: Host, default_route: Route | None = None) -> RouteTable:
    return compile_routes(build.model(hosts=hosts, default_route=default_route))


def of_one_host(*routes: Route) -> RouteTable:
    return table(build.host("shop.test", *routes))


def matched(routes: RouteTable, path: str, host: str = "shop.test") -> str | None:
    route = route_for(routes, host.encode(), path.encode())
    return route.path if route is not None else None


BOTH = of_one_host(build.route("/foo/bar"), build.route("/foo/bar/"))


@pytest.mark.parametrize(
    ("path", "expected"), [("/foo/bar", "/foo/bar"), ("/foo/bar/", "/foo/bar/"), ("/foo/bar/x", "/foo/bar/")]
)
def test_a_prefix_with_and_one_without_a_trailing_slash_are_two(path: str, expected: str) -> None:
    assert matched(BOTH, path) == expected


@pytest.mark.parametrize("path", ["/foo/bar", "/foo/bar/", "/foo/bar/x"])
def test_a_prefix_with_a_trailing_slash_alone_takes_the_path_without_it(path: str) -> None:
    assert matched(of_one_host(build.route("/foo/bar/")), path) == "/foo/bar/"


@pytest.mark.parametrize("path", ["/", "/foo", "/foo/bar/"])
def test_the_root_alone_serves_every_path_and_beside_others_the_rest(path: str) -> None:
    assert matched(of_one_host(build.route("/")), path) == "/"
    beside = of_one_host(build.route("/"), build.route("/foo", exact=True), build.route("/foo/bar"))
    assert matched(beside, path) == {"/foo/bar/": "/foo/bar"}.get(path, path)


def test_paths_are_compared_as_bytes() -> None:
    routes = of_one_host(build.route("/käse"))
    assert matched(routes, "/käse/alt") == "/käse"
    assert routes.match(b"shop.test", b"/k\xff\xfe") is None


segments = st.sampled_from(["a", "b", "ab", ""])


paths = (
    st.lists(segments, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts)).filter(lambda p: "//" not in p)
)


rules = st.lists(st.tuples(paths, st.booleans()), max_size=8, unique=True)


def prefix_length(prefix: str, path: str) -> int:
    """How long a match is, by the text of networking.k8s.io/v1; -1 is none. A trailing slash counts if it is there."""
    elements, wanted = path.split("/")[1:], prefix.rstrip("/").split("/")[1:]
    if elements[: len(wanted)] != wanted:
        return -1
    return 2 * len(wanted) + (prefix.endswith("/") and len(elements) > len(wanted))


@given(rules, paths)
def test_exact_wins_then_the_longest_prefix_by_elements(routes: list[tuple[str, bool]], path: str) -> None:
    compiled = of_one_host(*(build.route(text, exact=exact) for text, exact in routes))
    found = route_for(compiled, b"shop.test", path.encode())
    exact = [text for text, is_exact in routes if is_exact and text == path]
    lengths = {text: prefix_length(text, path) for text, is_exact in routes if not is_exact}
    best = max(lengths.values(), default=-1)
    if exact:
        assert found is not None and (found.kind, found.path) == (PathKind.EXACT, path)
    elif best < 0:
        assert found is None
    else:
        assert found is not None and found.kind is PathKind.PREFIX and lengths[found.path] == best


def calls_to_match(routes: RouteTable, path: bytes) -> int:
    """How many calls one match makes, look-ups included."""
    calls = 0

    def count(_frame: object, event: str, _arg: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        routes.match(b"shop.test", path)
    finally:
        sys.setprofile(before)
    return calls


@pytest.mark.parametrize("path", [b"/" * 4000 + b"x" * 4192, b"/a" * 4096, b"/" + b"x" * 8191], ids=len)
def test_a_hostile_path_costs_no_more_than_one_as_deep_as_the_deepest_prefix(path: bytes) -> None:
    routes = of_one_host(build.route("/"), build.route("/a/b/c"))
    honest = calls_to_match(routes, b"/x/y/z/w")
    assert 0 < calls_to_match(routes, path) <= honest


def of_expressions(*expressions: str, default: Route | None = None) -> RouteTable:
    """A host whose routes are tried in this order; each captures."""
    routes = [
        msgspec.structs.replace(build.route(text), kind=PathKind.REGEX, expression=text, rewriting=Rewriting("/"))
        for text in expressions
    ]
    return table(build.host("shop.test", *routes, default=default))


def test_the_first_expression_that_is_found_serves_in_any_case() -> None:
    routes = of_expressions("^/id/[0-9]+$", "^/id", "^/")
    assert [matched(routes, path) for path in ("/ID/7", "/id/7x", "/identity", "/x")] == [
        "^/id/[0-9]+$",
        "^/id",
        "^/id",
        "^/",
    ]


def test_without_an_expression_that_is_found_the_default_serves() -> None:
    assert matched(of_expressions("^/a"), "/b") is None
    assert matched(of_expressions("^/a", default=build.route("/default")), "/b") == "/default"


def test_a_path_that_is_too_long_for_an_expression_is_refused_where_it_may_match() -> None:
    wide, narrow = (msgspec.structs.replace(build.route(path), kind=PathKind.REGEX) for path in ("/w", "/a"))
    wide = msgspec.structs.replace(wide, expression="^/w.*x", long_expression="^/w")
    narrow = msgspec.structs.replace(narrow, expression="^/a")
    routes = of_one_host(wide, narrow)
    for path, closing in ((b"/w1x", None), (b"/w" + b"y" * 300, ErrorKind.TARGET_TOO_LONG), (b"/a" + b"x" * 300, None)):
        match = routes.match(b"shop.test", path)
        assert match is not None
        assert (match.served.closed_as if match.served.closed else None) is closing
    assert routes.match(b"shop.test", b"/w1" + b"y" * 200) is None


def test_a_match_says_what_the_groups_captured() -> None:
    routes = of_expressions("^/(?:a|b)(/|$)(.*)", "^/x(y)?", "^/none")
    captures = [
        found and found.captures for found in map(partial(routes.match, b"shop.test"), (b"/B/c", b"/x", b"/none"))
    ]
    assert captures == [(b"/", b"c"), (b"",), ()]


def test_groups_are_captured_only_where_something_may_refer_to_them() -> None:
    route = msgspec.structs.replace(build.route("/(a)"), kind=PathKind.REGEX, expression="^/(a)")
    found = table(build.host("shop.test", route)).match(b"shop.test", b"/a")
    gated = msgspec.structs.replace(route, gates=(SourceRanges(denied=("192.0.2.0/24",)),))
    asked = table(build.host("shop.test", gated)).match(b"shop.test", b"/a")
    assert (found and found.captures, asked and asked.captures) == ((), (b"a",))


@pytest.mark.parametrize("path", [b"/admin\n", b"/admin/x\ny", b"/admin/\v"])
def test_a_path_in_which_engines_differ_matches_nothing(path: bytes) -> None:
    routes = of_expressions("^/admin(/.*)?$", "^/", default=build.route("/default"))
    assert routes.match(b"shop.test", path) is None


pieces = st.sampled_from(["/", "a", "B", ".", "[ab]", "(a|b)", "b?", "a*", "$", r"\.", "[^/]+", "(?:/|$)", "x{2}"])


expressions = st.lists(pieces, min_size=1, max_size=4).map(lambda parts: "^/" + "".join(parts))


asked_paths = st.text("aAbB./x", max_size=6).map(lambda text: "/" + text)


@given(st.lists(expressions, min_size=1, max_size=6), st.lists(asked_paths, min_size=1, max_size=4))
def test_expressions_match_and_capture_as_those_of_re(texts: list[str], asked: list[str]) -> None:
    """`re` takes the syntax of PCRE that is used here."""
    routes = of_expressions(*texts)
    for path in asked:
        found = routes.match(b"shop.test", path.encode())
        known = ((text, re.compile(text, re.IGNORECASE).search(path)) for text in texts)
        text, match = next(((text, match) for text, match in known if match), (None, None))
        if found is None or match is None:
            assert (found, match) == (None, None)
            continue
        captures = tuple(value.decode() for value in found.captures)
        assert (found.served.route.path, captures) == (text, match.groups(default=""))
