"""Malformed heads, told apart from those that are refused with an answer."""

from __future__ import annotations

import pytest

from balancer.http2.checking import check_request_head, has_body
from balancer.http2.fields import MalformedMessage
from tests.unit.balancer.http2.pairs import GET


def test_a_request_that_may_be_answered_passes() -> None:
    check_request_head(GET, True)
    check_request_head(((b":method", b"CONNECT"), (b":authority", b"app.test:443")), False)
    with pytest.raises(MalformedMessage):
        check_request_head(GET[1:], True)


@pytest.mark.parametrize(
    ("status", "method", "has"),
    [(b"200", b"GET", True), (b"200", b"HEAD", False), (b"204", b"GET", False), (b"304", b"GET", False)],
)
def test_a_response_has_a_body_or_none(status: bytes, method: bytes, has: bool) -> None:
    assert has_body(((b":status", status),), method, False) is has
    with pytest.raises(MalformedMessage):
        has_body(((b":status", status), (b"connection", b"close")), method, False)
