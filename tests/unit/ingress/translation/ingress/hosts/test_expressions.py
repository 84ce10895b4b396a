"""Where one Ingress means expressions, every path of its host is one, in the order of ingress-nginx."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from balancer.matching.routing import compile_routes
from balancer.model.redirects import RewrittenRedirect
from balancer.model.rewriting import Rewriting
from balancer.model.routes import PathKind, Route
from ingress.findings import Severity
from ingress.objects.kinds import Ingress, IngressPath, KubernetesObject
from ingress.settings.table.option import NGINX_PREFIX
from ingress.translation.assembly import Translation
from tests.unit.ingress.cluster import backend, ingress, path, rule, service, translated

API = "/api(/|$)(.*)"
CASES = json.loads((Path(__file__).parents[5] / "cases" / "path_matching.json").read_text(encoding="utf-8"))["cases"]


def said(**annotations: str) -> Mapping[str, str]:
    return {NGINX_PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}


def shop(
    name: str, *paths: IngressPath, namespace: str = "shop", host: str = "shop.test", day: int = 1, **annotations: str
) -> Ingress:
    return ingress(
        name,
        rule(host, *paths),
        namespace=namespace,
        created=f"2024-01-{day:02}T00:00:00Z",
        annotations=said(**annotations),
    )


def to(text: str, name: str, kind: str = "ImplementationSpecific") -> IngressPath:
    return path(text, kind, backend(name))


def model_of(*objects: KubernetesObject) -> Translation:
    names = {
        (each.metadata.namespace, backend_of(one))
        for each in objects
        if isinstance(each, Ingress)
        for rule in each.spec.rules
        if rule.http
        for one in rule.http.paths
    }
    return translated(*objects, *(service(name, namespace=namespace) for namespace, name in sorted(names)))


def backend_of(asked: IngressPath) -> str:
    assert asked.backend.service is not None
    return asked.backend.service.name


def answers(result: Translation, target: str, host: str = "shop.test") -> str | None:
    """Who answers: a Service, `503` or nobody."""
    match = compile_routes(result.model).match(host.encode(), target.encode())
    if match is None:
        return None
    return "503" if match.served.closed else match.served.route.main.service.name


def routes(result: Translation) -> tuple[Route, ...]:
    (host,) = result.model.hosts
    return host.routes


def test_one_ingress_makes_every_path_of_its_host_an_expression() -> None:
    result = model_of(
        shop("web", to("/", "web", "Prefix"), to("/Exact", "exact", "Exact")),
        shop("api", to(API, "api"), rewrite_target="/$2"),
    )
    assert [(each.path, each.kind, each.expression) for each in routes(result)] == [
        (API, PathKind.REGEX, "^" + API),
        ("/Exact", PathKind.REGEX, "^/Exact"),
        ("/", PathKind.REGEX, "^/"),
    ]
    assert routes(result)[0].rewriting == Rewriting("/$2")
    asked = {"/": "web", "/api": "api", "/API/users": "api", "/apis": "web", "/exact/below": "exact"}
    assert {target: answers(result, target) for target in asked} == asked


def test_other_hosts_keep_their_kinds_of_paths() -> None:
    result = model_of(
        shop("web", to("/a", "web", "Exact"), host="other.test"), shop("api", to("/b", "api"), use_regex="true")
    )
    assert answers(result, "/a/b", "other.test") is None


@pytest.mark.parametrize(("target", "is_regex"), [("/foo", False), ("", False), ("/$1?tag=x", False), ("/bar", True)])
def test_a_rewrite_that_changes_nothing_leaves_the_host_alone(target: str, is_regex: bool) -> None:
    result = model_of(shop("web", to("/foo", "web", "Exact"), rewrite_target=target))
    assert (routes(result)[0].kind is PathKind.REGEX) is is_regex


def test_a_prefix_whose_target_is_itself_is_rewritten_below_its_slash() -> None:
    """ingress-nginx serves /foo/ beside /foo, and only /foo is the target."""
    (route,) = routes(model_of(shop("web", to("/foo", "web", "Prefix"), rewrite_target="/foo")))
    assert (route.expression, route.rewriting) == ("^/foo", Rewriting("/foo", "^/foo/"))


def test_a_prefix_beside_an_equal_exact_path_begins_at_the_slash() -> None:
    both = shop("web", to("/foo", "prefix", "Prefix"), to("/foo", "exact", "Exact"))
    result = model_of(both, shop("api", to("/api", "api"), use_regex="true"))
    assert {target: answers(result, target) for target in ("/foo", "/foo/x", "/foot")} == {
        "/foo": "exact",
        "/foo/x": "prefix",
        "/foot": "exact",
    }


def test_of_equal_texts_the_older_is_tried_first_and_the_root_is_a_prefix_first() -> None:
    exact = shop("exact", to("/foo", "exact", "Exact"), to("/", "root-exact", "Exact"))
    prefix = shop("prefix", to("/foo", "prefix", "Prefix"), to("/", "root", "Prefix"), day=2, use_regex="true")
    result = model_of(exact, prefix)
    assert {target: answers(result, target) for target in ("/foo/x", "/y")} == {"/foo/x": "exact", "/y": "root"}


def test_ties_in_length_go_to_the_last_in_the_order_of_bytes() -> None:
    result = model_of(shop("web", to("/a.", "dot"), to("/ab", "letter"), use_regex="true"))
    assert (answers(result, "/ab"), answers(result, "/ac")) == ("letter", "dot")


@pytest.mark.parametrize("case", [case for case in CASES if case["group"] == "regex"], ids=lambda case: case["id"])
def test_the_collected_cases(case: dict[str, Any]) -> None:
    made = [
        ingress(
            each["name"],
            *(
                rule(one["host"], *(to(p["path"], p["service"], p["pathType"]) for p in one["paths"]))
                for one in each["rules"]
            ),
            created=f"2024-01-{each['created']:02}T00:00:00Z",
            annotations={NGINX_PREFIX + name: text for name, text in each["annotations"].items()},
        )
        for each in case["ingresses"]
    ]
    answered = answers(model_of(*made), case["request"]["target"], case["request"]["host"])
    assert (answered or "default-backend") == case["expect"]["service"]


@pytest.mark.parametrize(
    ("text", "closed", "served"),
    [
        ("/a(b", "/ab", "/b"),
        ("/api/(?!v1)(.*)", "/API/v2", "/ap"),
        ("/\u00c9cole(.*)\\1", "/\u00c9cole/1", "/x"),
        ("/x(" + "a{99}" * 9 + "){9}", "/xa", "/a"),
    ],
)
def test_an_expression_that_is_refused_closes_what_it_may_match(text: str, closed: str, served: str) -> None:
    result = model_of(shop("web", to("/", "web", "Prefix")), shop("api", to(text, "api"), use_regex="true"))
    assert (answers(result, closed), answers(result, served)) == ("503", "web")
    (finding,) = (each for each in result.findings if each.reason == "ExpressionRefused")
    assert (finding.name, finding.severity) == ("api", Severity.CLOSED)


def test_a_longer_path_of_a_neighbour_wins_over_a_closed_expression() -> None:
    long = to("/api/very-long-path-of-web", "web", "Prefix")
    result = model_of(shop("web", long), shop("api", to("/api(?!x)(.*)", "api"), use_regex="true"))
    assert (answers(result, "/api/very-long-path-of-web"), answers(result, "/api/other")) == ("web", "503")


@pytest.mark.parametrize("target", ["/$nobody", "/$", "/$0/x"])
def test_a_target_that_refers_to_nothing_closes_its_path(target: str) -> None:
    result = model_of(shop("api", to("/api/(.*)", "api"), rewrite_target=target))
    assert answers(result, "/api/x") == "503"


def test_groups_may_have_names() -> None:
    result = model_of(shop("api", to("/(?<tenant>[^/]+)/api", "api"), rewrite_target="/t/$tenant"))
    assert answers(result, "/acme/api") == "api"


def test_only_the_first_alternative_is_anchored_and_the_rewriting_is_not() -> None:
    (route,) = routes(model_of(shop("api", to("/a(x)|(/b)", "api"), rewrite_target="/$1")))
    assert (route.expression, route.rewriting) == ("^/a(x)|(/b)", Rewriting("/$1", "/a(x)|(/b)"))


def test_expressions_that_are_too_large_together_close_the_youngest() -> None:
    costly = [to(f"/.*a.{{90}}{number:02}", "api") for number in range(20)]
    result = model_of(shop("api", *costly, use_regex="true"), shop("web", to("/web", "web", "Prefix")))
    closed = [each.path for each in routes(result) if each.closed]
    assert 0 < len(closed) < 20
    assert "/.*a.{90}00" not in closed
    assert "too large together" in next(each.message for each in result.findings if each.reason == "ExpressionRefused")


@pytest.mark.large
def test_hundreds_of_services_below_paths_of_their_own_are_not_too_large_together() -> None:
    many = [to(f"/service-{number}(/|$)(.*)", "api") for number in range(400)]
    many += [to(f"/.well-known/acme-challenge/{number:040}", "acme", "Exact") for number in range(50)]
    result = model_of(shop("api", *many, rewrite_target="/$2"))
    assert not any(each.closed for each in routes(result))
    assert answers(result, "/service-399/x") == "api"


def test_neighbours_are_told() -> None:
    web = shop("web", to("/foo", "web", "Exact"))
    result = model_of(web, shop("api", to("/re[0-9]", "api"), use_regex="true"))
    (finding,) = (each for each in result.findings if each.reason == "RegexHost")
    assert (finding.namespace, finding.name, finding.severity) == ("shop", "web", Severity.DEGRADED)
    assert 'Any path that begins like "/foo" matches, in any case' in finding.effect


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("/foo", "exact"),
        ("/foox", "root"),
        ("/FOO", "root"),
        ("/foo/", "slashed"),
        ("/bar", "plain"),
        ("/bar/x", "slashed-bar"),
        ("/barx", "root"),
        ("/ü/x", "others"),
        ("/a.b", "dotted"),
        ("/axb", "root"),
        ("/re7", "api"),
    ],
)
def test_paths_of_another_namespace_keep_their_meaning(asked: str, answered: str) -> None:
    web = shop(
        "web",
        to("/", "root", "Prefix"),
        to("/foo/", "slashed", "Prefix"),
        to("/foo", "exact", "Exact"),
        to("/bar", "plain", "Prefix"),
        to("/bar/", "slashed-bar", "Prefix"),
        to("/ü", "others", "Prefix"),
        to("/a.b", "dotted", "Prefix"),
    )
    result = model_of(web, shop("api", to("/re[0-9]", "api"), namespace="other", day=2, use_regex="true"))
    assert [each for each in result.findings if each.reason == "RegexHost"] == []
    assert answers(result, asked) == answered


@pytest.mark.parametrize(
    "text", ["/[a-z/]*(aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)?.*", "/(?!x).*", "/[ab]*a[ab]{220}c", "/|/x"]
)
def test_an_expression_takes_and_closes_no_path_of_an_older_namespace(text: str) -> None:
    web = shop("web", to("/", "web", "Prefix"), to("/private", "private", "Prefix"))
    result = model_of(web, shop("api", to(text, "api"), namespace="other", day=2, use_regex="true"))
    assert [answers(result, each) for each in ("/", "/x", "/private", "/private/x")] == ["web", "web"] + ["private"] * 2


def test_an_expression_that_lost_its_path_changes_nothing() -> None:
    older = shop("web", to("/a", "web", "Prefix"))
    result = model_of(older, shop("api", to("/a", "api"), day=2, use_regex="true"))
    assert routes(result)[0].kind is PathKind.PREFIX


def test_a_canary_makes_no_expressions() -> None:
    main = shop("web", to("/a", "web", "Prefix"))
    trial = shop("trial", to("/a", "next", "Prefix"), day=2, canary="true", canary_weight="10", use_regex="true")
    (route,) = routes(model_of(main, trial))
    assert (route.kind, len(route.canaries)) == (PathKind.PREFIX, 1)


def test_a_canary_of_an_expression_is_attached() -> None:
    main = shop("web", to(API, "web"), rewrite_target="/$2")
    trial = shop("trial", to(API, "next"), day=2, canary="true", canary_weight="10")
    (route,) = routes(model_of(main, trial))
    assert (route.kind, len(route.canaries)) == (PathKind.REGEX, 1)


def test_a_default_backend_is_rewritten_too() -> None:
    owner = ingress("web", rule("shop.test", path("/a", "Prefix", backend("web"))), default=backend("rest"))
    owner.metadata.annotations.update(said(rewrite_target="/x"))
    result = translated(owner, service("web"), service("rest"))
    (host,) = result.model.hosts
    assert host.default is not None
    assert (host.default.kind, host.default.rewriting) == (PathKind.PREFIX, Rewriting("/x"))


@pytest.mark.parametrize(
    "target", ["https://other.test/$1", "$scheme://$host/$1", "http://other.test:8080/$1", "https://other.test"]
)
def test_a_target_with_a_scheme_is_a_redirect(target: str) -> None:
    (route,) = routes(model_of(shop("api", to("/api/(.*)", "api"), rewrite_target=target)))
    assert (route.rewriting, route.gates) == (None, (RewrittenRedirect(target, "^/api/(.*)"),))


@pytest.mark.parametrize(
    "target", ["https://$1/x", "https://shop.test$1", "https://$1.shop.test/", "https://", "$scheme"]
)
def test_a_target_whose_host_a_request_could_choose_closes_its_path(target: str) -> None:
    result = model_of(shop("api", to("/api/(.*)", "api"), rewrite_target=target))
    assert answers(result, "/api/x") == "503"


@pytest.mark.large
def test_a_namespace_with_too_many_characters_closes_its_own_expressions_alone() -> None:
    long = "abcdefgh" * 120
    greedy = [to(f"/{number:03}{long}/.*", "cart") for number in range(300)]
    result = model_of(
        shop("greedy", *greedy, host="greedy.test", use_regex="true"),
        shop("modest", to("/cup/.*", "cart"), namespace="tea", host="tea.test", day=2, use_regex="true"),
    )
    hosts = {host.name: host for host in result.model.hosts}
    assert sorted({route.closed for route in hosts["greedy.test"].routes}) == [False, True]
    assert [route.closed for route in hosts["tea.test"].routes] == [False]
    (first, *_) = [finding for finding in result.findings if finding.reason == "ExpressionRefused"]
    assert (first.namespace, "more than 262,144 characters" in first.message) == ("shop", True)
