"""Which requests are redirected to https, and to which URL."""

from __future__ import annotations

import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import Refusal
from balancer.http.origin import Origin
from balancer.http1.heads import RequestHeadReader
from balancer.matching.gates.https_redirect import HttpsRedirectGate, https_location
from balancer.matching.gates.verdicts import Asked, Go, Reply, Verdict
from balancer.model.entry_points import HTTP, HTTPS
from balancer.model.redirects import HttpsRedirect
from balancer.model.settings import ProxySettings
from tests.questions import question_of

REQUEST = question_of("http://shop.test/a").request


def verdict(host: bytes, *, secure: bool = False, port: int | None = None) -> Verdict:
    def resume(_: Verdict) -> None:
        raise AssertionError("a redirect never waits")

    request = msgspec.structs.replace(REQUEST, host_name=host)
    asked = Asked(request, Origin(peer="", entry_point=HTTPS if secure else HTTP, port=port), secure)
    return HttpsRedirectGate(HttpsRedirect(301)).judge(asked, resume)


def test_plain_requests_are_redirected() -> None:
    assert verdict(b"shop.test") == Reply(301, ((b"Location", b"https://shop.test/a"),))


def test_requests_over_https_and_those_that_name_no_host_go_on() -> None:
    assert verdict(b"shop.test", secure=True) == Go()
    assert verdict(b"shop.test", port=443) == Go()
    assert verdict(b"") == Go()


@pytest.mark.parametrize(
    ("target", "location"),
    [
        (b"/", b"https://app.test"),
        (b"/a/", b"https://app.test/a"),
        (b"/a/?x=1", b"https://app.test/a/?x=1"),
        (b"/?", b"https://app.test/?"),
        (b"/a?b=c/", b"https://app.test/a?b=c/"),
        (b"/%2f", b"https://app.test/%2f"),
        (b"//evil.test", b"https://app.test//evil.test"),
        (b"*", b"https://app.test"),
    ],
)
def test_the_secure_location_is_the_same_target_without_a_final_slash(target: bytes, location: bytes) -> None:
    assert https_location(HttpsRedirect(), host_name=b"app.test", target=target) == location


@pytest.mark.parametrize(
    ("target", "location"),
    [
        (b"/", b"https://app.test:8443/"),
        (b"/a/", b"https://app.test:8443/a/"),
        (b"*", b"https://app.test:8443"),
    ],
)
def test_the_secure_location_may_keep_the_slash_and_name_the_port(target: bytes, location: bytes) -> None:
    rule = HttpsRedirect(port=8443, keeps_slash=True)
    assert https_location(rule, host_name=b"app.test", target=target) == location


@given(st.binary(min_size=1, max_size=40), st.booleans())
def test_no_target_leaves_the_host(target: bytes, keeps_slash: bool) -> None:
    try:
        request = RequestHeadReader(ProxySettings()).read(b"GET /%b HTTP/1.1\r\nHost: app.test\r\n\r\n" % target)
    except (Refusal, ValueError):
        return
    location = https_location(
        HttpsRedirect(keeps_slash=keeps_slash), host_name=request.host_name, target=request.target
    )
    assert re.fullmatch(rb"https://app\.test(/[!-~]*|)", location)
