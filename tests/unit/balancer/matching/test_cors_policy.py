"""Which origins a CORS policy allows, and what responses say: the rules of Gateway API."""

from __future__ import annotations

import pytest

from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, ResponseHead
from balancer.http.origin import Origin
from balancer.matching.cors_policy import AllowedOrigins, CorsPolicyEditor
from balancer.model.cors import CorsPolicy
from balancer.model.entry_points import HTTP
from tests.questions import question_of

LISTED = CorsPolicy(("https://www.foo.test", "https://*.bar.test"), exposed=("x-3", "x-4"), allows_cookies=True)


def allowed(origin: str | None, *origins: str, credentials: bool = False) -> bytes | None:
    fields = () if origin is None else (f"Origin: {origin}",)
    policy = CorsPolicy(origins, allows_cookies=credentials)
    return AllowedOrigins(policy).allowed(question_of("http://a.test/", fields).request)


@pytest.mark.parametrize(
    ("origin", "origins", "is_allowed"),
    [
        ("https://www.foo.test", ("https://www.foo.test",), True),
        ("HTTPS://WWW.FOO.TEST", ("https://www.foo.test",), True),
        ("https://foo.test:443", ("https://foo.test",), True),
        ("https://foo.test", ("https://foo.test:443",), True),
        ("http://bar.test:80", ("http://bar.test",), True),
        ("http://bar.test:8080", ("http://bar.test",), False),
        ("https://foo.test", ("https://foo.test:8443",), False),
        ("https://foo.test:8443", ("https://foo.test:8443",), True),
        ("https://x.bar.test", ("https://*.bar.test",), True),
        ("https://y.x.bar.test", ("https://*.bar.test",), True),
        ("https://bar.test", ("https://*.bar.test",), False),
        ("https://evilbar.test", ("https://*.bar.test",), False),
        ("https://x.bar.test.evil.test", ("https://*.bar.test",), False),
        ("http://x.bar.test", ("https://*.bar.test",), False),
        ("https://anything.test", ("https://*",), True),
        ("http://anything.test", ("https://*",), False),
        ("https://*.bar.test", ("https://*.bar.test",), False),
        ("null", ("https://*",), False),
        ("https://foo.test.evil.test", ("https://foo.test",), False),
        ("https://foo.test", (), False),
        ("https://foo.test", ("not an origin",), False),
        (None, ("https://foo.test",), False),
    ],
)
def test_origins_are_compared_as_scheme_host_and_port(
    origin: str | None, origins: tuple[str, ...], is_allowed: bool
) -> None:
    assert allowed(origin, *origins) == (origin.encode() if origin and is_allowed else None)


def test_everybody_is_allowed_by_a_star_that_never_goes_with_credentials() -> None:
    assert allowed("https://x.test", "*") == b"*"
    assert allowed(None, "*") == b"*"
    assert allowed("https://x.test", "*", credentials=True) == b"https://x.test"
    assert allowed(None, "*", credentials=True) is None


def said(policy: CorsPolicy, *fields: str, of_endpoint: Fields = ()) -> tuple[dict[bytes, bytes], frozenset[bytes]]:
    request = question_of("http://a.test/", fields).request
    response = ResponseHead(200, of_endpoint, 0, b"")
    edit = CorsPolicyEditor(policy).edit(request, Origin(peer="", entry_point=HTTP), response, HeadEdit())
    return dict(edit.added), edit.removed


def test_an_allowed_page_reads_the_response_and_the_fields_that_are_exposed() -> None:
    fields, removed = said(LISTED, "Origin: https://www.foo.test")
    assert fields == {
        b"Vary": b"Origin",
        b"Access-Control-Allow-Origin": b"https://www.foo.test",
        b"Access-Control-Allow-Credentials": b"true",
        b"Access-Control-Expose-Headers": b"x-3, x-4",
    }
    assert {b"access-control-allow-origin", b"access-control-allow-methods", b"access-control-max-age"} <= removed


def test_with_credentials_a_star_exposes_nothing() -> None:
    exposing = CorsPolicy(("*",), exposed=("*",))
    assert said(exposing, "Origin: https://a.test")[0][b"Access-Control-Expose-Headers"] == b"*"
    with_cookies = CorsPolicy(("*",), exposed=("*",), allows_cookies=True)
    assert b"Access-Control-Expose-Headers" not in said(with_cookies, "Origin: https://a.test")[0]


def test_other_pages_learn_nothing_and_caches_keep_them_apart() -> None:
    for fields in ((), ("Origin: https://foobar.test",)):
        assert said(LISTED, *fields)[0] == {b"Vary": b"Origin"}
    assert said(LISTED, of_endpoint=((b"vary", b"Accept, Origin"),))[0] == {}
    assert said(CorsPolicy(("*",)))[0] == {b"Access-Control-Allow-Origin": b"*"}
