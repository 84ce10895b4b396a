"""What an auth service is told, and what a client cannot make it believe."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.http.messages import Fields
from balancer.matching.gates.external_auth.requests import AuthRequest, AuthRequests, is_loop
from balancer.model.external_auth import ExternalAuth
from tests.unit.balancer.matching.gates.external_auth.asking import asked

PLAIN = ExternalAuth("http://auth.test:4180/check")


def about(
    rule: ExternalAuth = PLAIN, target: bytes = b"/a?b", fields: Fields = (), method: bytes = b"GET"
) -> AuthRequest:
    return AuthRequests(rule).about(asked(target, fields=fields, method=method))


def names(request: AuthRequest) -> list[bytes]:
    return [name.lower() for name, _ in request.fields]


def test_what_the_service_is_told() -> None:
    request = about(fields=((b"cookie", b"s=1"), (b"x-thing", b"1")), method=b"POST")
    assert request[:5] == ("GET", "http", "auth.test:4180", b"auth.test", b"/check")
    assert dict(request.fields) == {
        b"cookie": b"s=1",
        b"x-thing": b"1",
        b"X-Original-URL": b"http://shop.test/a?b",
        b"X-Original-Method": b"POST",
        b"X-Sent-From": b"nginx-ingress-controller",
        b"X-Real-IP": b"192.0.2.1",
        b"X-Forwarded-For": b"192.0.2.1",
        b"X-Auth-Request-Redirect": b"/a?b",
        b"X-Zonal-Auth-Depth": b"1",
    }


@pytest.mark.parametrize(
    ("url", "authority", "target"),
    [
        ("http://auth", "auth", b"/"),
        ("HTTPS://auth:9?x=$host", "auth:9", b"/?x=shop.test"),
        ("http://[2001:db8::1]:80/a", "[2001:db8::1]:80", b"/a"),
        ("http://$host/oauth2/auth", "shop.test", b"/oauth2/auth"),
        ("http://a.${host}:81/x?uri=$request_uri", "a.shop.test:81", b"/x?uri=/a?b"),
    ],
)
def test_where_the_service_is(url: str, authority: str, target: bytes) -> None:
    request = about(ExternalAuth(url))
    assert (request.authority, request.target) == (authority, target)


@pytest.mark.parametrize("url", ["nonsense", "ftp://auth/", "http://", "http:///x", "http://user@auth/", "http://a b/"])
def test_a_rule_with_another_url_is_a_bug(url: str) -> None:
    with pytest.raises(ValueError, match="not valid"):
        AuthRequests(ExternalAuth(url))


def test_a_method_of_its_own_brings_two_more_fields() -> None:
    request = about(ExternalAuth("http://auth/", method="POST"))
    assert request.method == "POST"
    assert (b"X-Original-URI", b"/a?b") in request.fields
    assert (b"X-Scheme", b"http") in request.fields


def test_the_service_gets_the_request_id_that_the_endpoint_gets() -> None:
    question = msgspec.structs.replace(asked(b"/"), request_id=b"made")
    assert (b"X-Request-ID", b"made") in AuthRequests(PLAIN).about(question).fields
    stated = msgspec.structs.replace(asked(b"/", fields=((b"x-request-id", b"sent"),)), request_id=b"sent")
    assert [value for name, value in AuthRequests(PLAIN).about(stated).fields if name.lower() == b"x-request-id"] == [
        b"sent"
    ]


def test_the_service_hears_what_the_handshake_has_shown() -> None:
    added = ((b"ssl-client-verify", b"SUCCESS"), (b"X-Other", b"1"))
    request = AuthRequests(PLAIN).about(
        msgspec.structs.replace(asked(fields=((b"ssl-client-verify", b"forged"),)), added=added)
    )
    assert [value for name, value in request.fields if name == b"ssl-client-verify"] == [b"SUCCESS"]
    assert b"x-other" not in names(request)


def test_a_service_that_asks_itself_about_itself_is_noticed() -> None:
    fields: Fields = ()
    for depth in range(1, 4):
        assert not is_loop(asked(fields=fields).request)
        fields = about(fields=fields).fields
        fields = tuple((name.lower(), value) for name, value in fields)
        assert [value for name, value in fields if name == b"x-zonal-auth-depth"] == [b"%d" % depth]
    assert is_loop(asked(fields=fields).request)
    for odd in (b"", b"-1", b"99", b"x", b"\xb2"):
        assert not is_loop(asked(fields=((b"x-zonal-auth-depth", odd),)).request)


def test_where_the_client_wanted_to_go_may_be_stated() -> None:
    request = about(ExternalAuth("http://auth/", request_redirect="https://$host/start"))
    assert (b"X-Auth-Request-Redirect", b"https://shop.test/start") in request.fields


def test_fields_of_the_operator_take_the_place_of_others_and_empty_ones_remove() -> None:
    rule = ExternalAuth("http://auth/", added_fields=(("X-Thing", "$host!"), ("X-Real-IP", "none"), ("Cookie", "")))
    request = about(rule, fields=((b"cookie", b"s=1"), (b"x-thing", b"1")))
    assert [value for name, value in request.fields if name.lower() == b"x-thing"] == [b"shop.test!"]
    assert [value for name, value in request.fields if name.lower() == b"x-real-ip"] == [b"none"]
    assert b"cookie" not in names(request)


@pytest.mark.parametrize(
    "name",
    [
        b"x-original-url", b"x-original-method", b"x-original-uri", b"x-forwarded-for", b"x-forwarded-host",
        b"x-real-ip",
        b"x-forwarded-uri", b"x-forwarded-proto", b"x-sent-from", b"x-auth-request-redirect", b"forwarded", b"x-scheme",
        b"x-rewrite-url", b"ssl-client-verify", b"x-ssl-client-cert", b"proxy", b"te", b"keep-alive", b"content-length",
        b"transfer-encoding", b"expect", b"upgrade", b"connection", b"host",
        b"x_original_url", b"x-original_url", b"x.original.url",
    ],
)  # fmt: skip
def test_a_client_says_nothing_that_only_we_may_say(name: bytes) -> None:
    request = about(fields=((name, b"forged"),))
    assert b"forged" not in [value for _, value in request.fields]


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_no_value_of_a_client_breaks_the_head(target: bytes, cookie: bytes) -> None:
    rule = ExternalAuth("http://auth/$request_uri?$cookie_s", request_redirect="$cookie_s$request_uri")
    request = about(rule, b"/" + target, ((b"cookie", b"s=" + cookie),))
    ours = [value for name, value in request.fields if name.startswith(b"X-")]
    assert all(0x21 <= byte <= 0x7E for value in (request.target, *ours) for byte in value)
