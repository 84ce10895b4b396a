"""Where one Ingress means regular expressions, its neighbours answer nothing in its place."""

from __future__ import annotations

import pytest

from balancer.matching.routing import compile_routes
from ingress.findings import Severity
from ingress.objects.kinds import Ingress
from ingress.translation.assembly import Translation
from tests.unit.ingress.cluster import backend, config_map, ingress, path, rule, service, translated

API = "/api(/|$)(.*)"


def api(*texts: str, namespace: str = "shop", host: str = "shop.test") -> Ingress:
    paths = [path(text, "ImplementationSpecific", backend("api")) for text in texts or (API,)]
    said = {"nginx.ingress.kubernetes.io/rewrite-target": "/$2"}
    return ingress("api", rule(host, *paths), namespace=namespace, annotations=said)


def answers(result: Translation, target: str, host: str = "shop.test") -> str | None:
    """Who answers: a Service, `503` or nobody."""
    match = compile_routes(result.model).match(host.encode(), target.encode())
    if match is None:
        return None
    served = match.served
    return "503" if served.closes(target.encode()) or served.route.backend is None else served.route.service


@pytest.mark.parametrize(
    ("target", "who"),
    [
        ("/", "cart"),
        ("/about", "cart"),
        ("/api", "503"),
        ("/api/users", "503"),
        ("/API/users", "503"),
        ("/apis", "503"),
    ],
)
def test_the_application_beside_an_api_does_not_answer_in_its_place(target: str, who: str) -> None:
    result = translated(ingress("web", rule()), api(), service(), service("api"))
    assert answers(result, target) == who


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("/\u00c9cole(.*)", "/\u00c9cole/1"),
        ("/\u212aey(.*)", "/\u212aEY"),
        ("/q[](]|/admin", "/admin"),
        ("/q\\Q(\\E|/admin", "/admin"),
    ],
)
def test_unusual_expressions_close_what_they_match(text: str, target: str) -> None:
    result = translated(ingress("web", rule()), api(text), service(), service("api"))
    assert answers(result, target) == "503"


def test_both_are_told() -> None:
    found = translated(ingress("web", rule()), api(), service(), service("api")).findings
    assert [(each.name, each.reason, each.severity) for each in found] == [
        ("api", "ClosedByAnnotation", Severity.CLOSED),
        ("web", "RegexHost", Severity.CLOSED),
    ]
    assert found[1].effect == 'Requests for the host answer 503 if the path begins with "/api".'


def test_a_longer_path_of_a_neighbour_wins_over_the_expression() -> None:
    longer = path("/api/very-long-path", to=backend())
    result = translated(ingress("web", rule("shop.test", path(), longer)), api(), service(), service("api"))
    assert answers(result, "/api/very-long-path/x") == "cart"
    assert answers(result, "/api/very") == "503"
    assert ("web", Severity.MISROUTED) in [(each.name, each.severity) for each in result.findings]


def test_what_no_path_of_the_host_matches_is_closed_too() -> None:
    result = translated(api(), service("api"))
    assert answers(result, "/api/users") == "503"


def test_another_namespace_cannot_be_closed() -> None:
    result = translated(
        ingress("web", rule()), api("/(.*)", namespace="evil"), service(), service("api", namespace="evil")
    )
    assert answers(result, "/anything") == "cart"


def test_an_expression_that_lost_its_path_closes_nothing() -> None:
    older = rule("shop.test", path("/", "ImplementationSpecific"))
    result = translated(ingress("web", older), api("/"), service(), service("api"))
    assert answers(result, "/anything") == "cart"


def test_other_hosts_are_left_alone() -> None:
    result = translated(ingress("web", rule("other.test")), api(), service(), service("api"))
    assert answers(result, "/api/users", "other.test") == "cart"


def test_ignored_by_the_operator_nothing_is_closed() -> None:
    settings = config_map(ignore_annotations="rewrite-target")
    result = translated(ingress("web", rule()), api(), service(), service("api"), settings)
    assert answers(result, "/api/users") == "cart"
    assert Severity.CLOSED not in {each.severity for each in result.findings}


def test_very_many_expressions_close_the_host() -> None:
    many = api(*(f"/{number:03}x(.*)" for number in range(200)))
    result = translated(ingress("web", rule()), many, service(), service("api"))
    assert answers(result, "/elsewhere") == "503"
