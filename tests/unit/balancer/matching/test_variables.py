"""Variables mean what they mean to nginx, and nothing else is evaluated."""

from __future__ import annotations

import pytest

from balancer.http.messages import RequestHead
from balancer.http1.heads import RequestHeadReader
from balancer.matching.variables import Cookies, UnknownVariable, compile_text, cookies_of, header_of, variable_name
from balancer.model.settings import ProxySettings

PEER = "192.0.2.7"


def request(*fields: str, target: str = "/a%2Db/c?x=1&Y=2&x=3", host: str = "Shop.test:8080") -> RequestHead:
    lines = (f"GET {target} HTTP/1.1", f"Host: {host}", *fields, "", "")
    return RequestHeadReader(ProxySettings()).read("\r\n".join(lines).encode("latin-1"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$remote_addr", b"192.0.2.7"),
        ("$binary_remote_addr", b"192.0.2.7"),
        ("$request_uri", b"/a%2Db/c?x=1&Y=2&x=3"),
        ("$uri", b"/a-b/c"),
        ("$host", b"shop.test"),
        ("$http_x_user", b"alice"),
        ("$http_X_USER", b"alice"),
        ("$http_host", b"Shop.test:8080"),
        ("$remote_user-$http_none", b"bob-"),
        ("$http_none", b""),
        ("$cookie_id", b"42"),
        ("$cookie_ID", b""),
        ("$arg_x", b"1"),
        ("$arg_y", b"2"),
        ("$arg_z", b""),
        ("fixed", b"fixed"),
        ("a-${host}_b$arg_x", b"a-shop.test_b1"),
        ("${uri}${arg_y}", b"/a-b/c2"),
    ],
)
def test_a_text_is_evaluated_for_a_request(text: str, value: bytes) -> None:
    assert (
        compile_text(text)(request("X-User: alice", "Cookie: a=1; id=42; id=43", "Authorization: Basic Ym9iOg"), PEER)
        == value
    )


@pytest.mark.parametrize(
    "text",
    [
        *("", "$", "a b", "$host$", "${host", "{host}", "$host}", "$namespace", "$http_", "$args", "$cookie_"),
        *("$http_content_length", "$http_connection", "$request_uri/x", "é", "a" * 1025),
    ],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(UnknownVariable):
        compile_text(text)


@pytest.mark.parametrize("sent", ["X-Canary", "x-canary", "X_Canary", "X_CANARY"])
@pytest.mark.parametrize("asked", ["X-Canary", "x_canary"])
def test_a_field_is_found_in_any_case_and_with_either_dash(sent: str, asked: str) -> None:
    assert header_of(request(f"{sent}: yes"), variable_name(asked)) == b"yes"


def test_the_first_of_several_fields_counts() -> None:
    assert header_of(request("X-A: 1", "X-A: 2"), b"x-a") == b"1"
    assert header_of(request(), b"x-a") is None


def test_all_cookies_of_a_name_are_found_and_none_that_only_looks_alike() -> None:
    found = request("Cookie: xid=0; id=1;id = 2 ; idx=3; other=id=4", "Cookie: id=5; id")
    assert cookies_of(found, b"id") == [b"1", b"2", b"5"]
    assert Cookies(found).named(b"id") == [b"1", b"2", b"5"]
    assert list(Cookies(found).named(b"i")) == []


@pytest.mark.parametrize(
    ("target", "value"),
    [
        ("/?xa=0&A=1&a=2", b"1"),
        ("/?a", b""),
        ("/?a=", b""),
        ("/?b=a=1&aa=2", b""),
        ("/?&&a=%31=2&b", b"%31=2"),
        ("/a=1", b""),
        ("/?a=1?a=2", b"1?a=2"),
    ],
)
def test_an_argument_is_the_first_of_its_name(target: str, value: bytes) -> None:
    assert compile_text("$arg_a")(request(target=target), PEER) == value
