"""What the proxy reads of gRPC calls."""

from __future__ import annotations

import pytest

from balancer.http.grpc import is_call, status_for, status_in, timeout_seconds


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(b"application/grpc", True), (b"application/grpc+proto", True), (b"application/grpc;charset=utf-8", True),
     (b"application/grpc-web", False), (b"application/grpc-web+proto", False), (b"application/grpcx", False),
     (b"text/plain", False), (b"", False)],
)  # fmt: skip
def test_a_call_is_known_by_its_content_type(kind: bytes, expected: bool) -> None:
    assert is_call(((b"accept", b"*/*"), (b"content-type", kind))) is expected


def test_a_request_without_a_content_type_is_no_call() -> None:
    assert not is_call(())


@pytest.mark.parametrize(
    ("value", "expected"),
    [(b"0", 0), (b"14", 14), (b"999", 999), (b"1000", None), (b"", None), (b"-1", None), (b"1 ", None), (b"x", None),
     ("\u0661".encode(), None), (b"01", None)],
)  # fmt: skip
def test_a_status_is_a_small_number(value: bytes, expected: int | None) -> None:
    assert status_in(((b"grpc-message", b"x"), (b"grpc-status", value))) == expected


def test_without_a_status_there_is_none() -> None:
    assert status_in(()) is None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"1H", 3600), (b"2M", 120), (b"3S", 3), (b"4m", 0.004), (b"5u", 0.000005), (b"6n", 0.000000006),
     (b"99999999S", 99999999), (b"0S", 0)],
)  # fmt: skip
def test_a_timeout_has_a_unit(value: bytes, seconds: float) -> None:
    assert timeout_seconds(((b"grpc-timeout", value),)) == pytest.approx(seconds)


@pytest.mark.parametrize("value", [b"", b"1", b"S", b"999999999S", b"-1S", b"1.5S", b"1s", b"1S ", b"1 S"])
def test_a_timeout_that_is_none_is_not_minded(value: bytes) -> None:
    assert timeout_seconds(((b"grpc-timeout", value),)) is None
    assert timeout_seconds(()) is None


def test_every_other_error_is_unknown() -> None:
    assert [status_for(status) for status in (404, 418, 599)] == [12, 2, 2]
