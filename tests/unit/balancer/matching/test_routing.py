"""Which route serves a host and a path: the tables of the Kubernetes documentation, and the rules between them."""

from __future__ import annotations

import json
import re
import sys
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from balancer.errors import ErrorKind
from balancer.matching.gates.making import make_gate
from balancer.matching.routing import RouteTable, Served, compile_routes
from balancer.model.gates import SourceRanges
from balancer.model.policies import Affinity, RoutePolicy
from balancer.model.rewriting import Rewriting
from balancer.model.routes import Host, PathKind, Route
from tests import builders as build
from tests.matches import route_for

CASES = json.loads((Path(__file__).parents[3] / "cases" / "path_matching.json").read_text(encoding="utf-8"))
NOT_STANDARD = {"hosts/16"}  # an alias by an ingress-nginx annotation


def table(*hosts: Host, default_route: Route | None = None) -> RouteTable:
    return compile_routes(build.model(hosts=hosts, default_route=default_route))


def of_one_host(*routes: Route) -> RouteTable:
    return table(build.host("shop.test", *routes))


def matched(routes: RouteTable, path: str, host: str = "shop.test") -> str | None:
    route = route_for(routes, host.encode(), path.encode())
    return route.path if route is not None else None


def documented_route(path: str | dict[str, str], kind: str) -> Route:
    text, kind = (path, kind) if isinstance(path, str) else (path["path"], path["pathType"])
    return build.route(text, exact=kind == "Exact")


@pytest.mark.parametrize("case", CASES["kubernetes_docs_table"], ids=lambda case: f"row {case['row']}")
def test_the_table_of_paths_in_the_kubernetes_documentation(case: dict[str, Any]) -> None:
    routes = of_one_host(*(documented_route(path, case["kind"]) for path in case["paths"]))
    route = route_for(routes, b"shop.test", case["request_path"].encode())
    assert (route is not None) == case["matches"]
    if route is not None:
        path, _, kind = case["matched_path"].partition(" ")
        assert route.path == path
        assert route.kind is (PathKind.EXACT if kind or case["kind"] == "Exact" else PathKind.PREFIX)


@pytest.mark.parametrize("case", CASES["kubernetes_wildcard_table"], ids=lambda case: case["request_host"])
def test_the_table_of_wildcards_in_the_kubernetes_documentation(case: dict[str, Any]) -> None:
    routes = table(build.host(case["host"], build.route("/")))
    assert (matched(routes, "/", case["request_host"]) is not None) == case["matches"]


def hosts_of(ingresses: list[dict[str, Any]]) -> list[Host]:
    """The rules of all Ingresses, merged by host."""
    by_host: dict[str, list[Route]] = {}
    for rule in (rule for ingress in ingresses for rule in ingress["rules"]):
        for path in rule["paths"]:
            service, exact = f"default/{path['service']}:80", path["pathType"] == "Exact"
            by_host.setdefault(rule["host"], []).append(build.route(path["path"] or "/", service, exact=exact))
    return [build.host(name, *routes) for name, routes in by_host.items()]


@pytest.mark.parametrize(
    "case",
    [case for case in CASES["cases"] if case["group"] in ("precedence", "hosts") and case["id"] not in NOT_STANDARD],
    ids=lambda case: case["id"],
)
def test_precedence_of_paths_and_hosts(case: dict[str, Any]) -> None:
    host_name = case["request"]["host"].partition(":")[0]
    routes = table(*hosts_of(case["ingresses"]))
    route = route_for(routes, host_name.encode(), case["request"]["target"].encode())
    service = route.service if route is not None else "default-backend"
    expected = case["expect"]
    assert service != expected["not_service"] if "not_service" in expected else service == expected["service"]


BOTH = of_one_host(build.route("/foo/bar"), build.route("/foo/bar/"))


@pytest.mark.parametrize(
    ("path", "expected"), [("/foo/bar", "/foo/bar"), ("/foo/bar/", "/foo/bar/"), ("/foo/bar/x", "/foo/bar/")]
)
def test_a_prefix_with_and_one_without_a_trailing_slash_are_two(path: str, expected: str) -> None:
    assert matched(BOTH, path) == expected


@pytest.mark.parametrize("path", ["/foo/bar", "/foo/bar/", "/foo/bar/x"])
def test_a_prefix_with_a_trailing_slash_alone_takes_the_path_without_it(path: str) -> None:
    assert matched(of_one_host(build.route("/foo/bar/")), path) == "/foo/bar/"


def test_paths_are_compared_as_bytes() -> None:
    routes = of_one_host(build.route("/käse"))
    assert matched(routes, "/käse/alt") == "/käse"
    assert routes.match(b"shop.test", b"/k\xff\xfe") is None


HOSTS = table(
    build.host("a.shop.test", build.route("/only-a"), default=build.route("/default-of-a")),
    build.host("b.shop.test", build.route("/only-b")),
    build.host("*.shop.test", build.route("/wild")),
    build.host("", build.route("/catch-all")),
    default_route=build.route("/default-of-all"),
)


@pytest.mark.parametrize("path", ["/wild", "/catch-all", "/nowhere"])
def test_a_chosen_host_answers_its_other_paths_with_its_own_default(path: str) -> None:
    assert matched(HOSTS, path, "a.shop.test") == "/default-of-a"


@pytest.mark.parametrize("host", ["b.shop.test", "x.shop.test", "other.test"])
def test_a_chosen_host_without_a_default_answers_with_the_default_of_all(host: str) -> None:
    assert matched(HOSTS, "/nowhere", host) == "/default-of-all"


def test_without_any_default_an_unmatched_path_has_no_route() -> None:
    assert matched(of_one_host(build.route("/a")), "/b") is None


def test_without_a_catch_all_an_unknown_host_goes_to_the_default_of_all() -> None:
    routes = table(build.host("a.test", build.route("/")), default_route=build.route("/default-of-all"))
    assert matched(routes, "/", "b.test") == "/default-of-all"
    assert matched(of_one_host(build.route("/")), "/", "b.test") is None


@pytest.mark.parametrize("host", ["", "other.test", "shop.test", "x.y.shop.test", "[::1]"])
def test_a_host_that_is_not_named_goes_to_the_catch_all(host: str) -> None:
    assert matched(HOSTS, "/catch-all", host) == "/catch-all"


@pytest.mark.parametrize("label", ["x", "X-1", "b_1", "-"])
def test_a_wildcard_stands_for_one_label_of_letters_digits_hyphens_and_underscores(label: str) -> None:
    assert matched(HOSTS, "/wild", f"{label}.shop.test") == "/wild"


@pytest.mark.parametrize("label", ["", "*", "a b", "é", "a%41"])
def test_a_wildcard_stands_for_nothing_else(label: str) -> None:
    assert matched(HOSTS, "/wild", f"{label}.shop.test") == "/default-of-all"


def test_a_matched_route_with_canaries_or_affinity_has_a_junction() -> None:
    sticky = msgspec.structs.replace(build.route("/a"), affinity=Affinity())
    routes = table(build.host("shop.test", sticky, build.route("/b")))
    found, plain = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert found is not None and found.served.junction is not None
    assert found.served.junction.main.route is found.served.route is sticky
    assert plain is not None and plain.served.junction is None


def test_a_model_without_hosts_matches_nothing() -> None:
    assert matched(table(), "/") is None


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


host_names = st.sampled_from(["", "a.test", "b.a.test", "*.test", "*.a.test"])
asked_names = st.sampled_from(["", "test", "a.test", "b.test", "a.a.test", "b.a.test", "c.b.a.test"])


def chosen_host(names: set[str], asked: str) -> str | None:
    """The exact name, else the wildcard over the asked name's parent, else the catch-all."""
    wildcard = "*" + asked[asked.find(".") :] if "." in asked else None
    return next((name for name in (asked, wildcard, "") if name in names), None)


@given(st.dictionaries(host_names, rules), asked_names, paths, st.booleans())
def test_only_the_chosen_host_is_asked_for_a_path(
    hosts: dict[str, list[tuple[str, bool]]], asked: str, path: str, with_default: bool
) -> None:
    """Each route carries the name of its host, so a route of any other host would show."""
    default = build.route("/default", ingress="default") if with_default else None
    built = {
        name: build.host(name, *(build.route(text, exact=exact, ingress=name) for text, exact in routes))
        for name, routes in hosts.items()
    }
    found = route_for(table(*built.values(), default_route=default), asked.encode(), path.encode())
    name = chosen_host(set(built), asked)
    alone = route_for(of_one_host(*built[name].routes), b"shop.test", path.encode()) if name is not None else None
    assert found == (alone or default)


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


hosts = st.dictionaries(host_names, rules, max_size=4).map(
    lambda found: [
        build.host(name, *(build.route(text, exact=exact, ingress=name) for text, exact in routes))
        for name, routes in found.items()
    ]
)


@settings(max_examples=60)
@given(hosts, hosts, st.booleans(), asked_names, paths)
def test_a_table_made_after_another_matches_as_one_made_anew(
    earlier: list[Host], later: list[Host], with_default: bool, asked: str, path: str
) -> None:
    default = build.route("/default", ingress="default") if with_default else None
    before = compile_routes(build.model(hosts=earlier))
    model = build.model(hosts=later, default_route=default)
    after = compile_routes(model, before)
    anew = compile_routes(model)
    assert route_for(after, asked.encode(), path.encode()) == route_for(anew, asked.encode(), path.encode())
    assert after.host(asked.encode()) == anew.host(asked.encode())


def test_a_host_that_has_not_changed_keeps_its_routes_and_junctions_when_another_does() -> None:
    sticky = msgspec.structs.replace(build.route("/"), affinity=Affinity())
    equal = msgspec.structs.replace(sticky)
    before = table(build.host("a.test", sticky), build.host("b.test"))
    after = compile_routes(build.model(hosts=[build.host("a.test", equal), build.host("b.test", equal)]), before)
    kept, other = after.match(b"a.test", b"/"), after.match(b"b.test", b"/")
    assert kept is not None and kept is before.match(b"a.test", b"/")
    assert other is not None and other.served.route is equal
    assert kept.served.junction is not None and other.served.junction is not kept.served.junction


def test_junctions_of_a_host_that_changed_or_left_are_gone() -> None:
    sticky = msgspec.structs.replace(build.route("/"), affinity=Affinity())
    before = compile_routes(build.model(hosts=[build.host("a.test", sticky), build.host("b.test", sticky)]))
    after = compile_routes(build.model(hosts=[build.host("a.test", build.route("/"))]), before)
    changed = after.match(b"a.test", b"/")
    assert changed is not None and changed.served.junction is None
    assert after.match(b"b.test", b"/") is None


def test_what_a_request_needs_of_a_route_is_ready_at_the_swap() -> None:
    replaced = build.route("/a", policy=RoutePolicy(host="other.test"))
    routes = table(build.host("shop.test", replaced, build.route("/b")))
    matches = routes.match(b"shop.test", b"/a"), routes.match(b"shop.test", b"/b")
    assert [match and (match.served.host, match.captures) for match in matches] == [(b"other.test", ()), (None, ())]


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
    route = msgspec.structs.replace(build.route("/"), kind=PathKind.REGEX)
    wide = msgspec.structs.replace(route, expression="^/w.*x", long_expression="^/w")
    narrow = msgspec.structs.replace(route, expression="^/a")
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


def test_a_closed_route_is_served_as_closed() -> None:
    assert Served(msgspec.structs.replace(build.route(), closed=True), make_gate).closed
    assert not Served(build.route(), make_gate).closed


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
