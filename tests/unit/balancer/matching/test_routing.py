"""Which route serves a host and a path: the tables of the Kubernetes documentation, and the rules between them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.policies import RoutePolicy
from balancer.model.routes import Host, PathKind, Route
from tests import builders as build
from tests.matches import route_for
from tests.properties import examples

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
    service = route.main.service.name if route is not None else "default-backend"
    expected = case["expect"]
    assert service != expected["not_service"] if "not_service" in expected else service == expected["service"]


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


def test_a_model_without_hosts_matches_nothing() -> None:
    assert matched(table(), "/") is None


segments = st.sampled_from(["a", "b", "ab", ""])


paths = (
    st.lists(segments, min_size=1, max_size=5).map(lambda parts: "/" + "/".join(parts)).filter(lambda p: "//" not in p)
)


rules = st.lists(st.tuples(paths, st.booleans()), max_size=8, unique=True)


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


hosts = st.dictionaries(host_names, rules, max_size=4).map(
    lambda found: [
        build.host(name, *(build.route(text, exact=exact, ingress=name) for text, exact in routes))
        for name, routes in found.items()
    ]
)


@pytest.mark.large
@examples(60)
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
    split = build.route("/", canaries=[build.canary()])
    equal = msgspec.structs.replace(split)
    before = table(build.host("a.test", split), build.host("b.test"))
    after = compile_routes(build.model(hosts=[build.host("a.test", equal), build.host("b.test", equal)]), before)
    kept, other = after.match(b"a.test", b"/"), after.match(b"b.test", b"/")
    assert kept is not None and kept is before.match(b"a.test", b"/")
    assert other is not None and other.served.route is equal
    assert kept.served.junction is not None and other.served.junction is not kept.served.junction


def decoded(host: Host) -> Host:
    """The host as it comes to a worker, with objects of its own."""
    return msgspec.msgpack.decode(msgspec.msgpack.encode(host), type=Host)


def policies(routes: RouteTable, hosts: Iterable[Host]) -> list[RoutePolicy]:
    """Those of the first route of each host, as requests read them."""
    found = [routes.match(host.name.encode(), b"/") for host in hosts]
    return [each.served.main.policy for each in found if each is not None]


def test_equal_policies_are_one_object_for_all_hosts_also_for_one_that_comes_or_changes_later() -> None:
    names, policy = ("a.test", "b.test"), RoutePolicy(tries=7)
    hosts = [decoded(build.host(name, build.route(policy=policy))) for name in names]
    before = table(*hosts)
    new = decoded(build.host("c.test", build.route(policy=policy)))
    more = compile_routes(build.model(hosts=[*hosts, new]), before)
    other = decoded(build.host("a.test", build.route(policy=policy), default=build.route(policy=policy)))
    after = compile_routes(build.model(hosts=[other, hosts[1], new]), more)
    found = [*policies(before, hosts), *policies(more, [new]), *policies(after, [other])]
    assert found == [policy] * 4
    assert len({id(each) for each in found}) == 1
    assert other.default is not None and other.default.policy is found[0]


def test_policies_that_changed_again_and_again_are_forgotten() -> None:
    routes = table(build.host("a.test", build.route()))
    for tries in range(100):
        host = build.host("a.test", build.route(policy=RoutePolicy(tries=tries)))
        routes = compile_routes(build.model(hosts=[host]), routes)
        assert policies(routes, [host]) == [RoutePolicy(tries=tries)]
    assert len(routes._policies) <= 2


def test_many_policies_of_one_host_leave_others_theirs() -> None:
    many = [build.route(f"/{tries}", policy=RoutePolicy(tries=tries)) for tries in range(1000)]
    modest = [decoded(build.host(name, build.route(policy=RoutePolicy(tries=7)))) for name in ("a.test", "z.test")]
    first, second = policies(table(build.host("m.test", *many), *modest), modest)
    assert first is second


def test_junctions_of_a_host_that_changed_or_left_are_gone() -> None:
    split = build.route("/", canaries=[build.canary()])
    before = compile_routes(build.model(hosts=[build.host("a.test", split), build.host("b.test", split)]))
    after = compile_routes(build.model(hosts=[build.host("a.test", build.route("/"))]), before)
    changed = after.match(b"a.test", b"/")
    assert changed is not None and changed.served.junction is None
    assert after.match(b"b.test", b"/") is None
