"""Fields that HTTP/2 may carry, and trailers."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http2.fields import MalformedMessage, check_fields, trailer_fields, trailers_of

BAD = ErrorKind.BAD_REQUEST


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (b"X-A", b"1"),
        (b"", b"1"),
        (b"x a", b"1"),
        (b"x:a", b"1"),
        (b":path", b"/"),
        (b"x\x7f", b"1"),
        (b"x-a: b\r\nx-evil", b"1"),
        (b"x-a", b" 1"),
        (b"x-a", b"1\t"),
        (b"x-a", b" "),
        (b"x-a", b"1\r\n2"),
        (b"x-a", b"1\x002"),
        (b"x-a", b"\x7f"),
        (b"connection", b"close"),
        (b"keep-alive", b"timeout=5"),
        (b"proxy-connection", b"close"),
        (b"transfer-encoding", b"chunked"),
        (b"upgrade", b"websocket"),
        (b"te", b"gzip"),
        (b"te", b"trailers, gzip"),
    ],
)
def test_a_malformed_field_is_refused(name: bytes, value: bytes) -> None:
    with pytest.raises(MalformedMessage) as refused:
        check_fields(((b"x-b", b"2"), (name, value)), BAD)
    assert refused.value.kind is BAD


def test_other_fields_may_hold_what_http1_may() -> None:
    check_fields(((b"x-a", b"a \t b"), (b"x-b", b""), (b"x-c", b"\xe9"), (b"te", b"Trailers"), (b"x_d.e", b"x")), BAD)


def test_trailers_that_frame_or_route_are_dropped() -> None:
    fields = ((b"grpc-status", b"0"), (b"content-length", b"5"), (b"host", b"victim.test"))
    assert trailers_of(fields, BAD) == ((b"grpc-status", b"0"),)
    with pytest.raises(MalformedMessage):
        trailers_of(((b":status", b"200"),), BAD)


def test_trailers_of_http1_are_written_in_lower_case_and_without_fields_of_a_connection() -> None:
    assert trailer_fields(((b"X-Sum", b"A"), (b"Keep-Alive", b"1"), (b"b", b"c"))) == ((b"x-sum", b"A"), (b"b", b"c"))
