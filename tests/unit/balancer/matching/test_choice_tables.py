"""Hosts whose paths lead to several routes: the table agrees with a naive sort over all routes."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import Refusal
from balancer.http.messages import RequestHead
from balancer.matching.choice_tables import ChoiceTable
from balancer.matching.gates.making import make_gate
from balancer.matching.host_compiling import compiling_host
from balancer.matching.host_tables import HostTable
from balancer.matching.routing import compile_routes
from balancer.model.conditions import ANY, Conditions, ValueCondition
from balancer.model.gates import SourceRanges
from balancer.model.routes import Host, PathKind, Route, TrailingSlash
from balancer.runtime.steps import finished
from tests import builders as build
from tests.properties import examples
from tests.questions import question_of

CONDITIONS = (
    ANY,
    Conditions("POST"),
    Conditions(fields=(ValueCondition("version", "one"),)),
    Conditions(query=(ValueCondition("a", "1"),)),
    Conditions("POST", (ValueCondition("version", "one"),), (ValueCondition("a", "1"),)),
)


def made(kind: PathKind, path: str, conditions: Conditions = ANY) -> Route:
    expression = path if kind is PathKind.REGEX else ""
    return msgspec.structs.replace(build.route(path), kind=kind, conditions=conditions, expression=expression)


def table_of(*routes: Route, slash: TrailingSlash = TrailingSlash.SAME, default: Route | None = None) -> HostTable:
    host = Host("a.test", routes, default, trailing_slash=slash)
    return finished(compiling_host(host, None, make_gate))


def asked(path: str, *fields: str, method: str = "GET") -> RequestHead:
    return msgspec.structs.replace(question_of(f"http://a.test{path}", fields).request, method=method.encode())


def served(table: HostTable, request: RequestHead) -> Route | None:
    match = table.match(request.path, request.target, request)
    return None if match is None else match.served.route


# The naive table: every route whose path and conditions fit, sorted.


def holds(conditions: Conditions, method: str, version: str, query: str) -> bool:
    return (
        conditions.method in ("", method)
        and all(each.value == version for each in conditions.fields)
        and all(f"{each.name}={each.value}" == query for each in conditions.query)
    )


def rank(route: Route, path: str, *, same: bool) -> tuple[int, ...] | None:
    """How far in front a route comes, None if its path does not fit. The order of the model decides between equals."""
    if route.kind is PathKind.EXACT:
        return (0,) if route.path == path else None
    if route.kind is PathKind.REGEX:
        return (1,) if re.search(route.path, path, re.IGNORECASE) else None
    bare = route.path.removesuffix("/")
    if path != bare and not path.startswith(bare + "/"):
        return None
    is_first = same or route.path.endswith("/") is (path != bare)
    return 2, -bare.count("/"), 0 if is_first else 1


def naive(routes: list[Route], path: str, method: str, version: str, query: str, *, same: bool) -> Route | None:
    fitting = [route for route in routes if holds(route.conditions, method, version, query)]
    ranked = [(found, route) for route in fitting if (found := rank(route, path, same=same)) is not None]
    return min(ranked, key=lambda each: each[0])[1] if ranked else None


segments = st.sampled_from(["a", "b", ""])
paths = (
    st.lists(segments, min_size=1, max_size=4)
    .map(lambda parts: "/" + "/".join(parts))
    .filter(lambda path: "//" not in path)
)
expressions = st.sampled_from(["^/a", "^/a/b$", "b", "^/[ab]+/"])
routes_of = st.lists(
    st.one_of(
        st.builds(made, st.sampled_from([PathKind.EXACT, PathKind.PREFIX]), paths, st.sampled_from(CONDITIONS)),
        st.builds(made, st.just(PathKind.REGEX), expressions, st.sampled_from(CONDITIONS)),
    ),
    max_size=8,
)


@examples(300)
@given(routes_of, paths, st.sampled_from(["GET", "POST"]), st.sampled_from(["one", ""]), st.sampled_from(["a=1", ""]))
def test_it_agrees_with_a_naive_sort_over_all_routes(
    routes: list[Route], path: str, method: str, version: str, query: str
) -> None:
    for slash in TrailingSlash:
        numbered = [numbered_as(route, place) for place, route in enumerate(routes)]
        table = finished(ChoiceTable.compiling(Host("a.test", tuple(numbered), trailing_slash=slash), None, make_gate))
        fields = [f"Version: {version}"] if version else []
        request = asked(f"{path}?{query}" if query else path, *fields, method=method)
        expected = naive(numbered, path, method, version, query, same=slash is TrailingSlash.SAME)
        assert served(table, request) == expected


def numbered_as(route: Route, place: int) -> Route:
    """Routes that are equal otherwise differ by their owner."""
    return msgspec.structs.replace(route, owner=build.owner(f"route-{place}"))


@pytest.mark.parametrize(
    ("routes", "needed"),
    [
        ([made(PathKind.PREFIX, "/a"), made(PathKind.EXACT, "/a")], False),
        ([made(PathKind.REGEX, "^/a"), made(PathKind.REGEX, "^/b")], True),
        ([made(PathKind.PREFIX, "/a", Conditions("POST"))], True),
        ([made(PathKind.PREFIX, "/a"), made(PathKind.PREFIX, "/a")], True),
        ([made(PathKind.PREFIX, "/a"), made(PathKind.PREFIX, "/a/")], True),
        ([made(PathKind.PREFIX, "/a"), made(PathKind.REGEX, "^/b")], True),
    ],
)
def test_only_hosts_that_need_it_have_such_a_table(routes: list[Route], needed: bool) -> None:
    assert isinstance(table_of(*routes), ChoiceTable) is needed


def test_two_spellings_of_a_prefix_are_apart_for_ingresses() -> None:
    assert not isinstance(
        table_of(made(PathKind.PREFIX, "/a"), made(PathKind.PREFIX, "/a/"), slash=TrailingSlash.APART), ChoiceTable
    )


def test_a_shorter_prefix_serves_where_no_condition_holds() -> None:
    post, root = made(PathKind.PREFIX, "/a/b", Conditions("POST")), made(PathKind.PREFIX, "/")
    table = table_of(post, root)
    assert served(table, asked("/a/b/c", method="POST")) is post
    assert served(table, asked("/a/b/c")) is root


def test_the_default_of_a_host_serves_where_no_condition_holds() -> None:
    default = build.route("/default")
    table = table_of(made(PathKind.PREFIX, "/", Conditions("POST")), default=default)
    assert served(table, asked("/x")) is default


def test_an_expression_says_what_its_groups_captured_where_something_asks() -> None:
    gated = msgspec.structs.replace(made(PathKind.REGEX, "^/a/(.*)$"), gates=(SourceRanges(denied=("192.0.2.0/24",)),))
    table = table_of(made(PathKind.PREFIX, "/"), gated)
    request = asked("/a/b")
    match = table.match(request.path, request.target, request)
    assert match is not None and match.captures == (b"b",)


def test_a_path_that_is_too_long_for_an_expression_is_refused_where_it_may_match() -> None:
    costly = msgspec.structs.replace(made(PathKind.REGEX, "^/a/x*y{0,200}$"), long_expression="^/a")
    table = table_of(costly, made(PathKind.PREFIX, "/"))
    request = asked("/a/" + "x" * 3000)
    match = table.match(request.path, request.target, request)
    assert match is not None and match.served.closed
    request = asked("/b/" + "x" * 300)
    match = table.match(request.path, request.target, request)
    assert match is not None and not match.served.closed


def test_conditions_reach_the_table_through_hosts() -> None:
    post = made(PathKind.PREFIX, "/", Conditions("POST"))
    routes = compile_routes(build.model(hosts=[Host("a.test", (post,))]))
    request = asked("/", method="POST")
    assert routes.match(b"a.test", b"/", b"/", request) is not None
    assert routes.match(b"a.test", b"/", b"/", asked("/")) is None
    assert routes.match(b"a.test", b"/") is None


def test_hosts_of_ingresses_with_expressions_alone_have_a_simpler_table() -> None:
    routes = made(PathKind.REGEX, "^/a"), made(PathKind.REGEX, "^/b")
    assert not isinstance(table_of(*routes, slash=TrailingSlash.APART), ChoiceTable)


@pytest.mark.parametrize("others", [(), (made(PathKind.PREFIX, "/"),)])
def test_a_path_that_is_not_searched_gets_round_no_expression(others: tuple[Route, ...]) -> None:
    table = table_of(made(PathKind.REGEX, "^/admin/.*$"), made(PathKind.EXACT, "/admin/\n"), *others)
    for path in ("/admin/x%0a", "/admin/%0bx"):
        with pytest.raises(Refusal):
            served(table, asked(path))
    assert served(table, asked("/admin/%0a")) is not None, "an exact path is not searched"


def test_a_route_with_the_place_and_conditions_of_an_earlier_one_is_never_asked() -> None:
    routes = [
        numbered_as(made(kind, path, Conditions("POST")), place)
        for place, (kind, path) in enumerate(
            [(PathKind.PREFIX, "/a"), (PathKind.PREFIX, "/a/"), (PathKind.REGEX, "^/b"), (PathKind.REGEX, "^/b")] * 50
        )
    ]
    table = table_of(*routes)
    assert isinstance(table, ChoiceTable)
    assert len(table._whole[b"/a"]._candidates) == 1
    assert [served(table, asked(path, method="POST")) for path in ("/a", "/b")] == [routes[0], routes[2]]


def test_a_long_path_is_searched_for_a_wide_expression_as_far_as_that_may_cost() -> None:
    wide, root = made(PathKind.REGEX, "^/w(a|b)*[0-9]{0,20}c$"), made(PathKind.PREFIX, "/")
    table = table_of(msgspec.structs.replace(wide, long_expression="^/w"), root)
    for length, found in ((8, "w"), (1000, "w"), (7000, None)):
        for end in "cx":
            match = table.match(f"/w{'ab' * (length // 2)}{end}".encode(), b"", asked("/"))
            assert match is not None
            closed = match.served.closed
            assert (closed, match.served.route.path) == (
                (True, wide.path) if found is None else (False, wide.path if end == "c" else "/")
            )
    other = table.match(b"/" + b"a" * 7000, b"", asked("/"))
    assert other is not None and other.served.route is root
