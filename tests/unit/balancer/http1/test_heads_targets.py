"""Targets and hosts of requests: which forms are served, and which host counts."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from tests.unit.balancer.http1.test_heads import refusal_of, request


@pytest.mark.parametrize(
    ("target", "forwarded", "path"),
    [
        (b"http://app.test/x?y", b"/x?y", b"/x"),
        (b"HTTP://APP.TEST/x", b"/x", b"/x"),
        (b"http://app.test", b"/", b"/"),
        (b"http://app.test?a=b", b"/?a=b", b"/"),
        (b"/caf\xc3\xa9", b"/caf%C3%A9", "/café".encode()),
        (b"//victim.test/x", b"//victim.test/x", b"/victim.test/x"),
    ],
)
def test_targets_are_brought_to_origin_form(target: bytes, forwarded: bytes, path: bytes) -> None:
    head = request(b"GET " + target + b" HTTP/1.1\r\nHost: app.test\r\n\r\n")
    assert (head.raw_target, head.target, head.path) == (target, forwarded, path)
    assert head.host_name == b"app.test"


def test_an_absolute_target_names_the_host_of_a_request_without_one() -> None:
    head = request(b"GET http://app.test:81/x HTTP/1.0\r\n\r\n")
    assert (head.authority, head.host_name) == (b"app.test:81", b"app.test")


def test_beside_an_absolute_target_host_does_not_count() -> None:
    head = request(b"GET http://shop.test:81/x HTTP/1.1\r\nHost: other.test\r\n\r\n")
    assert (head.authority, head.host_name, head.path) == (b"shop.test:81", b"shop.test", b"/x")
    assert all(name != b"host" for name, _ in head.fields)


def test_options_may_ask_about_everything() -> None:
    head = request(b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n")
    assert (head.target, head.path) == (b"*", b"/")


@pytest.mark.parametrize(
    "target",
    [b"*", b"x", b"@victim.test/x", b"http:/app.test/", b"http:///x", b"ftp://app.test/x",
     b"http://user@app.test/", b"app.test:80"],
)  # fmt: skip
def test_other_targets_are_refused(target: bytes) -> None:
    assert refusal_of(b"GET " + target + b" HTTP/1.1\r\nHost: app.test\r\n\r\n") is ErrorKind.BAD_REQUEST


def test_http_1_1_needs_a_host_and_http_1_0_does_not() -> None:
    assert refusal_of(b"GET / HTTP/1.1\r\n\r\n") is ErrorKind.BAD_REQUEST
    assert request(b"GET / HTTP/1.0\r\n\r\n").host_name == b""


@pytest.mark.parametrize("version", [b"HTTP/1.1", b"HTTP/1.0"])
@pytest.mark.parametrize("target", [b"/", b"http://app.test/"])
@pytest.mark.parametrize("value", [b"", b" ", b"\t"])
def test_an_empty_host_is_refused(version: bytes, target: bytes, value: bytes) -> None:
    assert refusal_of(b"GET %b %b\r\nHost:%b\r\n\r\n" % (target, version, value)) is ErrorKind.BAD_REQUEST
