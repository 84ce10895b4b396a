"""Preflights of a CORS policy: which requests are some, and what pages may ask for."""

from __future__ import annotations

import msgspec

from balancer.http.origin import Origin
from balancer.matching.gates.policy_preflight import PolicyPreflightGate
from balancer.matching.gates.verdicts import PASSED, Asked, Go, Reply
from balancer.model.cors import CorsPolicy, CorsPolicyPreflight
from balancer.model.entry_points import HTTP
from tests.questions import question_of

PAGE, METHOD = "Origin: https://www.foo.test", "Access-Control-Request-Method: PUT"
LISTED = CorsPolicy(("https://www.foo.test",), ("GET", "OPTIONS"), ("x-1", "x-2"), max_age_seconds=3600)


def judged(policy: CorsPolicy, *fields: str, method: bytes = b"OPTIONS") -> Go | Reply:
    request = msgspec.structs.replace(question_of("http://a.test/", fields).request, method=method)
    asked = Asked(request, Origin(peer="", entry_point=HTTP), False)
    return PolicyPreflightGate(CorsPolicyPreflight(policy)).judge(asked, lambda _: None)


def fields_of(policy: CorsPolicy, *fields: str) -> dict[bytes, bytes]:
    verdict = judged(policy, PAGE, METHOD, *fields)
    assert isinstance(verdict, Reply) and (verdict.status, verdict.body) == (200, b"")
    return dict(verdict.fields)


def test_an_allowed_page_is_told_what_it_may_ask_for() -> None:
    assert fields_of(LISTED) == {
        b"Access-Control-Allow-Methods": b"GET, OPTIONS",
        b"Access-Control-Allow-Headers": b"x-1, x-2",
        b"Access-Control-Max-Age": b"3600",
    }


def test_another_page_gets_an_answer_without_the_fields() -> None:
    assert judged(LISTED, "Origin: https://foobar.test", METHOD) == Reply(200, (), body=b"")


def test_what_is_no_preflight_goes_to_the_endpoint() -> None:
    assert judged(LISTED, PAGE) is PASSED
    assert judged(LISTED, METHOD) is PASSED
    assert judged(LISTED, PAGE, METHOD, method=b"GET") is PASSED


def test_a_star_is_said_as_it_is_and_with_credentials_what_was_asked_for() -> None:
    everything = CorsPolicy(("*",), ("*",), ("*",))
    asks = "Access-Control-Request-Headers: x-header-1"
    assert fields_of(everything, asks) == {
        b"Access-Control-Allow-Methods": b"*",
        b"Access-Control-Allow-Headers": b"*",
        b"Access-Control-Max-Age": b"5",
    }
    with_credentials = msgspec.structs.replace(everything, allows_cookies=True)
    assert fields_of(with_credentials, asks) == {
        b"Access-Control-Allow-Methods": b"PUT",
        b"Access-Control-Allow-Headers": b"x-header-1",
        b"Access-Control-Max-Age": b"5",
    }
    assert b"Access-Control-Allow-Headers" not in fields_of(with_credentials)
