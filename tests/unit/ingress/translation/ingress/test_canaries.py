"""Canary Ingresses: their rules are read strictly, and they are attached where they belong and nowhere else."""

from __future__ import annotations

import pytest

from balancer.model.endpoints import LoadBalancing
from balancer.model.external_auth import ExternalAuth
from balancer.model.policies import Affinity
from balancer.model.routes import Canary, Route
from ingress.objects.kinds import ConfigMap, Ingress, IngressRule, Service
from ingress.settings.table.option import NGINX_PREFIX
from ingress.translation.assembly import Translation
from tests import builders as build
from tests.unit.ingress.cluster import backend, config_map, ingress, path, reasons, rule, service, translated

OLD, YOUNG = "2024-01-01T00:00:00Z", "2024-02-01T00:00:00Z"


def canary(
    *rules: IngressRule,
    name: str = "canary",
    to: str = "next",
    created: str = OLD,
    namespace: str = "shop",
    default: bool = False,
    **annotations: str,
) -> Ingress:
    """A canary of a.test/ unless other rules are given; its annotations are written with _ for -."""
    said = {"canary": "true", **annotations}
    return ingress(
        name,
        *(rules or ((rule("a.test", path("/", to=backend(to))),) if not default else ())),
        created=created,
        namespace=namespace,
        default=backend(to) if default else None,
        annotations={NGINX_PREFIX + key.replace("_", "-"): text for key, text in said.items()},
    )


def main(**annotations: str) -> Ingress:
    named = {NGINX_PREFIX + key.replace("_", "-"): text for key, text in annotations.items()}
    return ingress("web", rule("a.test", path("/")), annotations=named)


def cluster(*ingresses: Ingress, also: tuple[Service | ConfigMap, ...] = ()) -> Translation:
    return translated(*ingresses, service("cart"), service("next"), service("later"), *also)


def only_route(translation: Translation) -> Route:
    (host,) = translation.model.hosts
    (route,) = host.routes
    return route


def test_a_canary_is_attached_with_its_rules_and_its_own_names() -> None:
    made = cluster(
        main(),
        canary(
            canary_by_header="X-Try",
            canary_by_header_value="yes",
            canary_by_header_pattern="^y",
            canary_by_cookie="try",
            canary_weight="5",
            canary_weight_total="1000",
        ),
    )
    assert made.findings == ()
    assert only_route(made).main.backend == "shop/cart:80"
    assert only_route(made).canaries == (
        build.canary(
            ingress="canary",
            rules=Canary(
                header="X-Try",
                header_value="yes",
                header_pattern="^y",
                cookie="try",
                weight=5,
                weight_total=1000,
            ),
        ),
    )
    assert [each.key for each in made.model.backends] == ["shop/cart:80", "shop/next:80"]


def test_several_canaries_come_by_seniority() -> None:
    made = cluster(canary(name="b", to="later", created=YOUNG), canary(name="a", created=OLD), main())
    assert [each.owner.name for each in only_route(made).canaries] == ["a", "b"]
    assert made.findings == ()


@pytest.mark.parametrize(
    "of",
    [
        rule("b.test", path("/", to=backend("next"))),
        rule("a.test", path("/other", to=backend("next"))),
        rule("a.test", path("/", "Exact", to=backend("next"))),
        rule("*.test", path("/", to=backend("next"))),
    ],
)
def test_without_the_same_host_path_and_kind_a_canary_creates_nothing(of: IngressRule) -> None:
    made = cluster(main(), canary(of))
    assert only_route(made).canaries == ()
    assert reasons(made.findings) == [("canary", "CanaryWithoutMain")]
    assert [each.key for each in made.model.backends] == ["shop/cart:80"]


def test_a_canary_is_attached_to_one_location_and_not_to_all_of_its_service() -> None:
    """ingress-nginx 4692 and 4028: there it is attached to the Service, on every host."""
    made = cluster(main(), ingress("other", rule("b.test", path("/"), path("/x"))), canary(canary_weight="100"))
    attached = {(host.name, route.path) for host in made.model.hosts for route in host.routes if route.canaries}
    assert attached == {("a.test", "/")}


def test_a_service_may_be_main_in_one_place_and_canary_in_another() -> None:
    """ingress-nginx 8004 and 9458."""
    made = cluster(main(), ingress("other", rule("b.test", path("/", to=backend("next")))), canary(canary_weight="1"))
    first, second = made.model.hosts
    assert first.routes[0].canaries[0].backend == second.routes[0].main.backend == "shop/next:80"
    assert made.findings == ()


def test_a_canary_that_leads_where_the_main_ingress_leads_is_none() -> None:
    made = cluster(main(), canary(to="cart"))
    assert only_route(made).canaries == ()
    assert reasons(made.findings) == [("canary", "CanaryIgnored")]


def test_another_namespace_cannot_take_requests_away() -> None:
    made = cluster(main(), canary(namespace="thief", canary_weight="100"), also=(service("next", namespace="thief"),))
    assert only_route(made).canaries == ()
    assert reasons(made.findings) == [("canary", "CanaryIgnored")]


def test_no_more_canaries_than_allowed_are_asked() -> None:
    made = cluster(main(), *(canary(name=f"c{number:02}", canary_weight="1") for number in range(18)))
    assert len(only_route(made).canaries) == 16
    assert [reason for _, reason in reasons(made.findings)] == ["CanaryIgnored"] * 2


def test_a_canary_whose_service_is_missing_leaves_its_requests_to_the_main_one() -> None:
    made = cluster(main(), canary(to="nowhere"))
    assert only_route(made).canaries == ()
    (finding,) = made.findings
    assert (finding.reason, finding.effect) == ("ServiceMissing", "The main backend serves the requests.")


def test_a_canary_brings_no_certificate_and_no_redirect() -> None:
    made = cluster(main(), canary(canary_weight="1", force_ssl_redirect="true"))
    assert not only_route(made).redirects_to_https


def test_a_canary_with_an_annotation_that_protects_gets_no_requests() -> None:
    made = cluster(main(), canary(auth_snippet="deny all;", canary_weight="50"))
    assert only_route(made).canaries == ()
    assert only_route(made).main.backend == "shop/cart:80"
    (finding,) = made.findings
    assert (finding.reason, finding.effect) == ("ClosedByAnnotation", "The canary gets no requests.")


@pytest.mark.parametrize(
    ("of_main", "of_canary", "attached"),
    [
        ("10.0.0.0/8", "10.0.0.0/8", 1),
        ("10.0.0.0/8", None, 1),
        (None, "10.0.0.0/8", 0),
        ("10.0.0.0/8", "10.1.0.0/16", 0),
    ],
)
def test_a_canary_that_states_other_source_ranges_than_its_main_ingress_gets_no_requests(
    of_main: str | None, of_canary: str | None, attached: int
) -> None:
    """The gates of a route are those of the main Ingress, so other ranges of a canary would not be carried out."""
    said = {"whitelist_source_range": of_main} if of_main else {}
    trial = canary(canary_weight="50", whitelist_source_range=of_canary) if of_canary else canary(canary_weight="50")
    settings = config_map(denylist_source_range="192.0.2.0/24")
    made = cluster(main(**said), trial, also=(settings,))
    assert len(only_route(made).canaries) == attached
    assert reasons(made.findings) == ([] if attached else [("canary", "CanaryIgnored")])


@pytest.mark.parametrize(
    ("of_main", "of_canary", "attached"),
    [("http://a.test/", None, 1), ("http://a.test/", "http://b.test/", 1), (None, "http://b.test/", 0)],
)
def test_the_auth_service_of_the_main_ingress_is_asked_about_the_requests_of_a_canary(
    of_main: str | None, of_canary: str | None, attached: int
) -> None:
    said = {"auth_url": of_main} if of_main else {}
    trial = canary(canary_weight="50", auth_url=of_canary) if of_canary else canary(canary_weight="50")
    made = cluster(main(**said), trial)
    assert len(only_route(made).canaries) == attached
    assert [rule.url for rule in only_route(made).gates if isinstance(rule, ExternalAuth)] == [*said.values()]
    assert reasons(made.findings) == ([] if attached else [("canary", "CanaryIgnored")])


def test_a_catch_all_canary_is_attached_to_the_catch_all() -> None:
    made = cluster(ingress("web", default=backend()), canary(default=True, canary_weight="10"))
    assert [each.service.name for each in only_route(made).canaries] == ["next"]
    assert made.findings == ()


def test_the_default_of_a_host_has_canaries_too() -> None:
    web = ingress("web", rule("a.test", path("/x")), default=backend())
    trial = ingress(
        "canary",
        IngressRule("a.test"),
        default=backend("next"),
        annotations={NGINX_PREFIX + "canary": "true"},
    )
    (host,) = cluster(web, trial).model.hosts
    assert host.default is not None
    assert [each.service.name for each in host.default.canaries] == ["next"]
    assert host.routes[0].canaries == ()


def test_the_load_balancing_of_a_canary_is_its_own() -> None:
    made = cluster(main(load_balance="ewma"), canary(load_balance="least_request"))
    assert [each.load_balancing for each in made.model.backends] == [LoadBalancing.EWMA, LoadBalancing.LEAST_REQUEST]


def test_affinity_of_a_canary_is_shared_unless_it_says_legacy() -> None:
    made = cluster(
        main(affinity="cookie"),
        canary(name="a", affinity_canary_behavior="legacy", affinity="cookie", session_cookie_name="mine"),
        canary(name="b", upstream_hash_by="$host", created=YOUNG),
    )
    first, second = only_route(made).canaries
    assert (first.affinity, first.hash_by) == (Affinity(cookie="mine"), "")
    assert (second.affinity, second.hash_by) == (None, "$host")
    assert [each.canary and each.canary.follows_affinity for each in (first, second)] == [False, True]


def test_rules_without_the_annotation_canary_do_nothing() -> None:
    made = cluster(main(canary_weight="50", canary_by_header_pattern="(", canary_by_header="x"))
    assert only_route(made).canaries == ()
    assert made.findings == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("canary-by-header", "a b"),
        ("canary-by-header", "X:Y"),
        ("canary-by-header", "Transfer-Encoding"),
        ("canary-by-header", ""),
        ("canary-by-header-value", "a;b"),
        ("canary-by-header-pattern", "a;b"),
        ("canary-by-header-pattern", "a" * 257),
        ("canary-by-cookie", "a=b"),
        ("canary-weight", "ten"),
        ("canary-weight", "-1"),
        ("canary-weight-total", "1.5"),
    ],
)
def test_a_rule_that_does_not_parse_is_a_finding_and_no_rule(name: str, text: str) -> None:
    said = {NGINX_PREFIX + "canary": "true", NGINX_PREFIX + name: text}
    made = cluster(main(), ingress("canary", rule("a.test", path("/", to=backend("next"))), annotations=said))
    assert reasons(made.findings) == [("canary", "InvalidValue")]
    (found,) = only_route(made).canaries
    assert found == build.canary(ingress="canary")


def test_a_pattern_that_cannot_be_searched_is_a_finding_and_keeps_requests_on_the_main_backend() -> None:
    made = cluster(main(), canary(canary_by_header="x-try", canary_by_header_pattern="(a"))
    (finding,) = made.findings
    assert (finding.reason, finding.effect) == (
        "InvalidValue",
        "Requests with the header are served by the main backend.",
    )
    assert only_route(made).canaries[0].canary == Canary(header="x-try", header_pattern="(a")
