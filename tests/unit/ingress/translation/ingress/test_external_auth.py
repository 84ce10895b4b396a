"""Which auth service is asked about the requests of an Ingress, and what closes its paths."""

from __future__ import annotations

from functools import partial

import pytest

from balancer.model.external_auth import ExternalAuth
from balancer.model.gates import GateRule, SourceRanges
from balancer.model.redirects import HttpsRedirect
from balancer.model.routes import Route
from ingress.findings import Severity
from ingress.objects.kinds import Ingress, IngressTls, KubernetesObject
from ingress.settings.context import TranslationContext
from ingress.settings.table.option import NGINX_PREFIX, OWN_PREFIX
from ingress.translation.assembly import Translation
from tests.unit.ingress.cluster import backend, config_map, ingress, path, reasons, rule, service, translated

URL = "http://auth.test/check"
GLOBAL = "http://global.test/check"

rule_of = partial(ExternalAuth, tenant="shop")


def asking(url: str = URL, *, host: str = "shop.test", to: str = "/", **said: str) -> Ingress:
    annotations = {NGINX_PREFIX + name.replace("_", "-"): text for name, text in said.items()}
    if url:
        annotations[NGINX_PREFIX + "auth-url"] = url
    return ingress("web", rule(host, path(to)), annotations=annotations)


def made(*objects: KubernetesObject) -> Translation:
    return translated(*objects, service())


def only_route(translation: Translation) -> Route:
    (host,) = translation.model.hosts
    (route,) = host.routes
    return route


def rules(*objects: KubernetesObject) -> tuple[GateRule, ...]:
    translation = made(*objects)
    assert translation.findings == ()
    return only_route(translation).gates


def closes(*objects: KubernetesObject) -> str:
    """The reason of the finding that closes the only route."""
    translation = made(*objects)
    assert only_route(translation).closed
    (finding,) = translation.findings
    assert finding.severity is Severity.CLOSED
    return finding.reason


def test_an_ingress_without_a_service_asks_nobody() -> None:
    assert rules(asking("")) == ()
    assert rules(asking("  ")) == ()
    assert rules(asking("", auth_keepalive="5", auth_keepalive_share_vars="true", auth_always_set_cookie="true")) == ()


def test_everything_that_annotations_say() -> None:
    said = asking(
        auth_method="POST",
        auth_signin="https://$host/start",
        auth_signin_redirect_param="to",
        auth_response_headers="X-User, X-Groups",
        auth_request_redirect="/home",
        auth_proxy_set_headers="fields",
        auth_cache_key="$cookie_s",
        auth_cache_duration="200 1m",
        auth_always_set_cookie="true",
        auth_keepalive="10",
        auth_keepalive_requests="10",
        auth_keepalive_timeout="10",
    )
    fields = config_map("shop", "fields", X_B="2", X_A="$host")
    assert rules(said, config_map(), fields) == (
        rule_of(
            url=URL,
            method="POST",
            signin="https://$host/start",
            signin_param="to",
            response_fields=("X-User", "X-Groups"),
            request_redirect="/home",
            added_fields=(("X-A", "$host"), ("X-B", "2")),
            cache_key="$cookie_s",
            cache_seconds=((200, 60.0),),
            cache_scope="Prefix shop.test/",
            always_sets_cookie=True,
        ),
    )


def test_the_config_map_of_fields_is_wanted() -> None:
    assert ("shop", "fields") in made(asking(auth_proxy_set_headers="shop/fields")).wanted.config_maps
    assert made(asking(auth_proxy_set_headers="other/fields")).wanted.config_maps == frozenset()


def test_redirects_and_source_ranges_come_first() -> None:
    said = asking(whitelist_source_range="10.0.0.0/8", force_ssl_redirect="true")
    assert [type(each) for each in rules(said)] == [HttpsRedirect, SourceRanges, ExternalAuth]


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"url": "nonsense"}, "ClosedByAnnotation"),
        ({"url": "http://auth/$nothing"}, "ClosedByAnnotation"),
        ({"auth_method": "BREW"}, "ClosedByAnnotation"),
        ({"auth_response_headers": "Content-Length"}, "ClosedByAnnotation"),
        ({"auth_cache_key": "k", "auth_cache_duration": "200 201"}, "ClosedByAnnotation"),
        ({"auth_snippet": "return 200;"}, "ClosedByAnnotation"),
        ({"auth_proxy_set_headers": "a b"}, "ClosedByAnnotation"),
        ({"auth_proxy_set_headers": "fields"}, "ConfigMapMissing"),
        ({"auth_proxy_set_headers": "other/fields"}, "ExternalAuthDenied"),
        ({"auth_signin": "http://login/$nothing"}, "ExternalAuthDenied"),
        ({"auth_request_redirect": "$nothing"}, "ExternalAuthDenied"),
        ({"url": "http://127.0.0.1:8080/"}, "ExternalAuthDenied"),
        ({"url": "http://169.254.169.254/latest/meta-data"}, "ExternalAuthDenied"),
        ({"url": "http://[::ffff:169.254.169.254]/"}, "ExternalAuthDenied"),
        ({"url": "http://LOCALHOST/"}, "ExternalAuthDenied"),
        ({"url": "http://127.0.0.$service_port/"}, "ExternalAuthDenied"),
        ({"url": "http://$location_path/x"}, "ExternalAuthDenied"),
        ({"url": "http://$host/", "host": ""}, "ExternalAuthDenied"),
    ],
)
def test_what_cannot_be_carried_out_closes(said: dict[str, str], reason: str) -> None:
    assert closes(asking(**said)) == reason


@pytest.mark.parametrize(
    "data", [{"X_A": "a\r\nb"}, {"Host": "a"}, {"X_A": "$nothing"}, {f"X-{number}": "1" for number in range(51)}]
)
def test_fields_that_cannot_be_sent_close(data: dict[str, str]) -> None:
    item = asking(auth_proxy_set_headers="fields")
    assert closes(item, config_map(), config_map("shop", "fields", **data)) == "AuthFieldsDenied"


@pytest.mark.parametrize(
    ("name", "value", "field", "default"),
    [
        ("auth-signin", "no page", "signin", ""),
        ("auth-signin-redirect-param", "a&b", "signin_param", "rd"),
        ("auth-cache-key", "$nothing", "cache_key", ""),
        ("auth-always-set-cookie", "maybe", "always_sets_cookie", False),
    ],
)
def test_what_weakens_nothing_has_its_default(name: str, value: str, field: str, default: object) -> None:
    translation = made(asking(**{name: value}))
    (gate,) = only_route(translation).gates
    assert getattr(gate, field) == default
    assert [finding.reason for finding in translation.findings] == ["InvalidValue"]


def test_a_local_service_is_for_the_operator_and_for_who_is_allowed() -> None:
    local = asking("http://127.0.0.1/")
    allowed = translated(local, service(), context=TranslationContext(allow_local_endpoints=True))
    assert only_route(allowed).gates == (rule_of("http://127.0.0.1/", allow_local=True),)
    settings = config_map(global_auth_url="http://127.0.0.1/")
    assert rules(asking(""), settings) == (rule_of("http://127.0.0.1/", allow_local=True),)


def test_companions_of_a_missing_url_are_noted() -> None:
    translation = made(asking("", auth_signin="https://login.test/"))
    assert only_route(translation).gates == ()
    assert [(each.reason, each.severity) for each in translation.findings] == [("AuthUrlMissing", Severity.UNPROTECTED)]
    settings = config_map(global_auth_url=GLOBAL)
    assert rules(asking("", auth_signin="https://login.test/"), settings) == (rule_of(GLOBAL, allow_local=True),)


def test_the_service_of_the_cluster_is_asked_unless_an_ingress_says_otherwise() -> None:
    settings = config_map(global_auth_url=GLOBAL, global_auth_signin="http://login/", no_auth_locations="/open,/x")
    whole = rule_of(GLOBAL, signin="http://login/", allow_local=True)
    assert rules(asking(""), settings) == (whole,)
    assert rules(asking(URL), settings) == (rule_of(URL),)
    assert rules(asking("", enable_global_auth="false"), settings) == ()
    assert rules(asking(URL, enable_global_auth="false"), settings) == (rule_of(URL),)
    assert rules(asking("", to="/opener"), settings) == ()
    assert rules(asking(URL, to="/open"), settings) == ()
    invalid = made(asking("", enable_global_auth="maybe"), settings)
    assert only_route(invalid).gates == (whole,)


def test_the_path_of_acme_challenges_is_exempt_by_default() -> None:
    assert rules(asking("", to="/.well-known/acme-challenge"), config_map(global_auth_url=GLOBAL)) == ()


def test_an_unknown_variable_of_the_cluster_closes() -> None:
    settings = config_map(global_auth_url=GLOBAL, global_auth_signin="http://login/$nothing")
    assert closes(asking(""), settings) == "ExternalAuthDenied"


@pytest.mark.parametrize(
    ("host", "url", "expected"),
    [
        ("shop.test", "https://$host/oauth2/auth", "https://shop.test/oauth2/auth"),
        ("shop.test", "https://auth.${http_host}:8443/", "https://auth.shop.test:8443/"),
        ("*.shop.test", "https://$best_http_host/x", "https://$host/x"),
        ("shop.test", "http://auth.$namespace/$host", "http://auth.shop/$host"),
    ],
)
def test_the_host_of_a_service_may_be_that_of_the_request(host: str, url: str, expected: str) -> None:
    assert rules(asking(url, host=host)) == (rule_of(expected),)


def test_variables_of_a_path_are_filled_in() -> None:
    url = "http://auth/$namespace/$ingress_name/$service_name/$service_port$location_path"
    assert rules(asking(url, to="/a$b c")) == (rule_of("http://auth/shop/web/cart/80/a%24b%20c"),)


def test_only_the_path_without_a_host_closes() -> None:
    annotations = {NGINX_PREFIX + "auth-url": "http://$host/"}
    item = ingress("web", rule("a.test"), rule(""), annotations=annotations, default=backend())
    hosts = {host.name: host.routes[0].closed for host in made(item).model.hosts}
    assert hosts == {"a.test": False, "": True}


def test_a_certificate_is_verified_where_the_cluster_or_an_ingress_says_so() -> None:
    settings = config_map(auth_url_verify="true", global_auth_url=GLOBAL)
    assert rules(asking(URL), settings) == (rule_of(URL, verify=True),)
    assert rules(asking(""), settings) == (rule_of(GLOBAL, verify=True, allow_local=True),)
    own = {NGINX_PREFIX + "auth-url": URL, OWN_PREFIX + "auth-url-verify": "true"}
    assert rules(ingress("web", rule(), annotations=own)) == (rule_of(URL, verify=True),)


def test_the_default_backend_of_an_ingress_and_hosts_with_tls_ask_too() -> None:
    annotations = {NGINX_PREFIX + "auth-url": URL}
    item = ingress(
        "web", rule("a.test"), annotations=annotations, default=backend(), tls=[IngressTls(("a.test",), "cert")]
    )
    (host,) = made(item).model.hosts
    assert host.default is not None
    assert rule_of(URL) in host.default.gates


def test_findings_name_the_ingress() -> None:
    assert reasons(made(asking("http://127.0.0.1/")).findings) == [("web", "ExternalAuthDenied")]
