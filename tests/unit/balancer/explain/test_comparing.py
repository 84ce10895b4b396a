"""Why a host and a path were chosen, and why the others were not."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from balancer.explain.comparing import host_steps, path_steps
from balancer.matching.routing import compile_routes
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host, PathKind
from tests import builders as build
from tests.matches import route_for
from tests.questions import question_of


def hosts_told(name: str, *hosts: str) -> list[str]:
    content = build.model(hosts=[build.host(each, build.route()) for each in hosts])
    return host_steps(compile_routes(content), question_of(f"http://{name}/").request)


def paths_told(path: str, content: RoutingModel) -> list[str]:
    return path_steps(compile_routes(content), question_of(f"http://shop.test{path}").request)


def shop(*prefixes: str, exact: tuple[str, ...] = (), default: str | None = None) -> RoutingModel:
    routes = [build.route(path, ingress="web") for path in prefixes]
    routes += [build.route(path, exact=True, ingress="web") for path in exact]
    fallback = build.route("/", ingress=default) if default else None
    return build.model(hosts=[build.host("shop.test", *routes, default=fallback)])


def test_an_exact_host_wins_over_wildcard_and_catch_all() -> None:
    assert hosts_told("a.shop.test", "a.shop.test", "*.shop.test", "", "b.shop.test", "*.other.test") == [
        "Host a.shop.test is served by the exact name a.shop.test.",
        "The catch-all (rules without a host) loses: the exact name comes first, "
        "and zonal never falls through to another host.",
        "The wildcard *.shop.test loses: the exact name comes first, and zonal never falls through to another host.",
    ]


def test_a_wildcard_wins_over_the_catch_all_and_stands_for_one_label() -> None:
    first, *losers = hosts_told("b.a.shop.test", "*.a.shop.test", "*.shop.test", "")
    assert first == "Host b.a.shop.test is served by the wildcard *.a.shop.test."
    assert losers[0].startswith("The catch-all (rules without a host) loses: the wildcard comes first")
    assert losers[1:] == ["The wildcard *.shop.test does not match: * stands for exactly one label."]


def test_a_host_that_nobody_names_is_said_to_be_so() -> None:
    assert hosts_told("shop.test", "other.test") == ["No Ingress names host shop.test, and no rule is without a host."]


def test_longer_and_shorter_candidates_are_told_with_what_speaks_against_them() -> None:
    content = shop("/", "/cart", "/cart/items", "/ca", "/help", exact=("/cart/item", "/cart/item/"))
    assert paths_told("/cart/item/7", content) == [
        "Path /cart/item/7 is matched by Prefix /cart of Ingress shop/web.",
        "Prefix / matches as well and loses: the longer prefix comes first.",
        "Prefix /ca does not match: a prefix must end at the end of a path element.",
        "Exact /cart/item does not match: an exact path must equal the whole path.",
        "Exact /cart/item/ does not match: an exact path must equal the whole path.",
    ]
    assert (
        paths_told("/cart", content)[-1] == "Exact /cart/item/ does not match: an exact path must equal the whole path."
    )
    assert "Prefix /cart/items does not match: it is longer than the path." in paths_told("/cart", content)


def test_an_exact_path_wins_over_a_prefix() -> None:
    told = paths_told("/cart", shop("/cart", "/cart/", exact=("/cart",)))
    assert told[0] == "Path /cart is matched by Exact /cart of Ingress shop/web."
    assert told[1:] == [
        "Prefix /cart matches as well and loses: an exact path comes first.",
        "Prefix /cart/ matches as well and loses: an exact path comes first.",
    ]


def test_of_two_spellings_of_a_prefix_the_one_like_the_request_wins() -> None:
    told = paths_told("/cart/7", shop("/cart", "/cart/"))
    assert told[1:] == [
        "Prefix /cart matches as well and loses: of two spellings the one that equals the request comes first."
    ]


def test_a_default_backend_is_told() -> None:
    assert paths_told("/", shop("/cart", default="web"))[0] == (
        "No path matches /: the default backend of Ingress shop/web serves."
    )
    content = build.model(hosts=[Host("other.test")], default_route=build.route("/", "ops/fallback:80", ingress=""))
    assert paths_told("/", content) == ["No path matches /: zonal's default backend ops/fallback serves."]


def test_without_a_match_the_answer_is_404() -> None:
    assert paths_told("/", shop("/cart")) == [
        "No path matches /, and there is no default backend, so the answer is 404.",
        "Prefix /cart does not match: it is longer than the path.",
    ]


def test_of_many_losers_some_are_named() -> None:
    told = paths_told("/", shop("/", *(f"/{number}" for number in range(20))))
    assert (len(told), told[-1]) == (10, "12 more paths of this host lose or do not match.")


@given(
    st.lists(st.sampled_from(["/", "/a", "/a/", "/a/b", "/ab", "/b"]), unique=True),
    st.lists(st.sampled_from(["/", "/a", "/a/", "/a/b"]), unique=True).map(tuple),
    st.sampled_from(["/", "/a", "/a/", "/a/b", "/ab/c", "/c"]),
)
def test_a_path_that_is_said_to_match_as_well_would_match_alone(
    prefixes: list[str], exact: tuple[str, ...], path: str
) -> None:
    content = shop(*prefixes, exact=exact)
    asked = question_of(f"http://shop.test{path}").request
    chosen = route_for(compile_routes(content), asked.host_name, asked.path)
    told = paths_told(path, content)
    for route in content.hosts[0].routes:
        alone = compile_routes(build.model(hosts=[build.host("shop.test", route)]))
        sentence = f"{route.kind.value} {route.path} matches as well"
        matches = alone.match(asked.host_name, asked.path) is not None
        assert any(step.startswith(sentence) for step in told) == (matches and route is not chosen)


def test_conditions_that_do_not_hold_are_told_without_their_values() -> None:
    secret = Conditions(fields=(ValueCondition("x-try", "s3cret"),))
    routes = [msgspec.structs.replace(build.route("/cart"), conditions=each) for each in (Conditions("POST"), secret)]
    content = build.model(hosts=[build.host("shop.test", *routes, build.route("/cart"), build.route("/"))])
    assert paths_told("/cart", content) == [
        "Path /cart is matched by Prefix /cart of Ingress shop/web.",
        "Prefix /cart does not match: its conditions on method, fields or query do not hold.",
        "Prefix /cart does not match: its conditions on method, fields or query do not hold.",
        "Prefix / matches as well and loses: the longer prefix comes first.",
    ]


def test_an_expression_beside_other_kinds_is_told() -> None:
    found, missed = (
        msgspec.structs.replace(build.route(text), kind=PathKind.REGEX, expression=text) for text in ("^/ca", "^/x")
    )
    content = build.model(hosts=[build.host("shop.test", found, missed, build.route("/cart"), build.route("/cart"))])
    assert paths_told("/cart", content) == [
        "Path /cart is matched by Regex ^/ca of Ingress shop/web.",
        "Regex ^/x does not match.",
        "Prefix /cart matches as well and loses: an expression comes before a prefix.",
        "Prefix /cart matches as well and loses: an expression comes before a prefix.",
    ]
