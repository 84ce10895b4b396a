"""Affinity annotations: what they fill, and what is refused."""

from __future__ import annotations

import pytest

from balancer.model.policies import Affinity
from balancer.model.routes import Route
from ingress.findings import Finding
from ingress.settings.table.option import NGINX_PREFIX
from tests.unit.ingress.cluster import ingress, path, rule, service, translated


def made(text: str = "/", /, **annotations: str) -> tuple[Route, tuple[Finding, ...]]:
    """The route of a path under annotations, written with _ for -."""
    named = {NGINX_PREFIX + key.replace("_", "-"): value for key, value in annotations.items()}
    translation = translated(ingress("web", rule("a.test", path(text)), annotations=named), service())
    (host,) = translation.model.hosts
    return host.routes[0], translation.findings


def test_affinity_has_the_defaults_of_ingress_nginx() -> None:
    route, findings = made("/cart", affinity="cookie")
    assert findings == ()
    assert route.main.affinity == Affinity(cookie="INGRESSCOOKIE", path="/cart")


def test_every_attribute_can_be_said() -> None:
    route, findings = made(
        affinity="cookie",
        affinity_mode="persistent",
        session_cookie_name="route",
        session_cookie_path="/a",
        session_cookie_domain=".shop.test",
        session_cookie_expires="172800",
        session_cookie_max_age="-1",
        session_cookie_samesite="none",
        session_cookie_conditional_samesite_none="true",
        session_cookie_secure="true",
        session_cookie_change_on_failure="true",
    )
    assert findings == ()
    assert route.main.affinity == Affinity(
        cookie="route",
        persistent=True,
        change_on_failure=True,
        path="/a",
        domain=".shop.test",
        expires_seconds=172800,
        max_age_seconds=-1,
        same_site="none",
        same_site_conditional=True,
        secure=True,
    )


def test_without_affinity_there_is_no_cookie_whatever_else_is_said() -> None:
    assert made(session_cookie_name="route", affinity_mode="persistent") == (made()[0], ())
    assert made()[0].main.affinity is None


def test_a_path_of_an_ingress_cannot_end_the_attribute_that_it_fills() -> None:
    route, _ = made("/a;Domain=evil.test, é", affinity="cookie")
    assert route.main.affinity is not None
    assert route.main.affinity.path == "/a%3BDomain=evil.test%2C%20%C3%A9"


@pytest.mark.parametrize(
    ("text", "cookie_path"),
    [
        ("/Something(/|$)(.*)", "/Something"),
        ("/app", "/app"),
        ("/app/(.*)", "/app/"),
        ("/api/v[0-9]+/users", "/api/"),
        ("/ab?c", "/"),
        ("/a|/b", "/"),
        ("/(.*)", "/"),
        ("/app$", "/app"),
    ],
)
def test_the_cookie_of_an_expression_holds_for_the_elements_that_every_match_has(text: str, cookie_path: str) -> None:
    route, _ = made(text, affinity="cookie", use_regex="true")
    assert route.main.affinity is not None
    assert route.main.affinity.path == cookie_path


def test_paths_of_one_service_have_cookies_of_their_own() -> None:
    """ingress-nginx 14042: there the last Ingress decides for all of them."""
    named = {NGINX_PREFIX + "affinity": "cookie"}
    translation = translated(
        ingress("a", rule("a.test", path("/a")), annotations={**named, NGINX_PREFIX + "session-cookie-path": "/x"}),
        ingress("b", rule("a.test", path("/b")), annotations=named),
        ingress("c", rule("a.test", path("/c"))),
        service(),
    )
    (host,) = translation.model.hosts
    assert [route.main.affinity.path if route.main.affinity else None for route in host.routes] == ["/x", "/b", None]


@pytest.mark.parametrize("text", ["$remote_addr", "$request_uri", "${host}$arg_user", "$http_x_user", "fixed"])
def test_a_text_to_hash_is_kept_as_it_is(text: str) -> None:
    route, findings = made(upstream_hash_by=text)
    assert (route.main.hash_by, findings) == (text, ())


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("affinity", "ip"),
        ("affinity", "Cookie"),
        ("affinity-mode", "random"),
        ("affinity-canary-behavior", "Sticky"),
        ("session-cookie-name", "a=b"),
        ("session-cookie-name", ""),
        ("session-cookie-path", "/a;b"),
        ("session-cookie-path", "a"),
        ("session-cookie-path", "/a\r\nX: y"),
        ("session-cookie-domain", "a b"),
        ("session-cookie-domain", "a" * 255),
        ("session-cookie-expires", "1h"),
        ("session-cookie-expires", "007"),
        ("session-cookie-max-age", "9999999999"),
        ("session-cookie-samesite", "maybe"),
        ("session-cookie-secure", "yes"),
        ("upstream-hash-by", "$namespace"),
        ("upstream-hash-by", "$request_uri; evil"),
    ],
)
def test_what_does_not_parse_is_a_finding_and_has_no_effect(name: str, text: str) -> None:
    kept = {} if name == "affinity" else {"affinity": "cookie"}
    route, (finding,) = made(**{**kept, name: text})
    assert finding.reason == "InvalidValue"
    assert (route.main.affinity, route.main.hash_by) == (Affinity() if kept else None, "")
