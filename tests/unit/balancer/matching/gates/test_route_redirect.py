"""Redirects of a route: scheme, host, port and path, as Gateway API names them."""

from __future__ import annotations

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.route_redirect import RouteRedirectGate
from balancer.matching.gates.verdicts import Asked, Deny, Reply
from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from tests.questions import question_of


def judged(rule: RouteRedirect, url: str, *, port: int | None = None, host: bytes | None = None) -> Reply | Deny:
    question = question_of(url)
    request = question.request if host is None else msgspec.structs.replace(question.request, host_name=host)
    asked = Asked(request, Origin(peer="", entry_point=question.entry_point, port=port), question.secure)
    return RouteRedirectGate(rule).judge(asked, lambda _: None)


def location(rule: RouteRedirect, url: str, *, port: int | None = None) -> str:
    verdict = judged(rule, url, port=port)
    assert isinstance(verdict, Reply)
    ((name, value),) = verdict.fields
    assert (name, verdict.body, verdict.kind) == (b"Location", None, None)
    return value.decode()


@pytest.mark.parametrize(
    ("rule", "url", "port", "to"),
    [
        (RouteRedirect(host="example.test"), "http://shop.test/h/x?a=1", None, "http://example.test/h/x?a=1"),
        (RouteRedirect(port=8083), "http://shop.test/p", None, "http://shop.test:8083/p"),
        (RouteRedirect(port=80), "http://shop.test/p", None, "http://shop.test/p"),
        (RouteRedirect(port=443), "http://shop.test/p", None, "http://shop.test:443/p"),
        (RouteRedirect(scheme="https"), "http://shop.test/s", 8080, "https://shop.test/s"),
        (RouteRedirect(scheme="http"), "https://shop.test/s", 443, "http://shop.test/s"),
        (RouteRedirect(scheme="https", port=443), "http://shop.test/s", None, "https://shop.test/s"),
        (RouteRedirect(scheme="https", port=8443), "http://shop.test/s", None, "https://shop.test:8443/s"),
        (RouteRedirect(host="example.test"), "http://shop.test/", 8080, "http://example.test:8080/"),
        (RouteRedirect(host="example.test"), "https://shop.test/", 443, "https://example.test/"),
        (RouteRedirect(host="example.test"), "http://shop.test:9999/", None, "http://example.test/"),
        (RouteRedirect(path=PathReplacement("/new", "/old")), "http://shop.test/old/a%20b?q", None,
         "http://shop.test/new/a%20b?q"),
        (RouteRedirect(path=PathReplacement("/whole")), "http://shop.test/old/a?q", None, "http://shop.test/whole?q"),
        (RouteRedirect(path=PathReplacement("/", "/")), "http://shop.test//evil.test/x", None,
         "http://shop.test//evil.test/x"),
    ],
)  # fmt: skip
def test_where_it_leads(rule: RouteRedirect, url: str, port: int | None, to: str) -> None:
    assert location(rule, url, port=port) == to


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_status_is_that_of_the_rule(status: int) -> None:
    verdict = judged(RouteRedirect(status=status), "http://shop.test/")
    assert isinstance(verdict, Reply) and verdict.status == status


def test_a_request_without_a_host_is_redirected_only_to_a_named_one() -> None:
    assert judged(RouteRedirect(scheme="https"), "http://shop.test/", host=b"") == Deny(ErrorKind.BAD_REQUEST)
    named = judged(RouteRedirect(host="example.test"), "http://shop.test/", host=b"")
    assert isinstance(named, Reply) and named.fields == ((b"Location", b"http://example.test/"),)
