"""When a failed attempt may be followed by another: never twice what must not run twice."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.proxy.bodies import KEPT_BODY_BYTES
from balancer.proxy.retries import REPEATABLE, is_stale, is_unprocessed, keeps_body, may_pass_over, may_retry

METHODS = (b"GET", b"HEAD", b"OPTIONS", b"PUT", b"DELETE", b"POST", b"PATCH", b"LOCK", b"FOOBAR")
CONNECTION_ERRORS = {
    ErrorKind.CONNECT_REFUSED,
    ErrorKind.CONNECT_TIMEOUT,
    ErrorKind.ENDPOINT_TLS,
    ErrorKind.ENDPOINT_CLOSED,
    ErrorKind.ENDPOINT_TIMEOUT,
    ErrorKind.ENDPOINT_SILENT,
    ErrorKind.ENDPOINT_REFUSED,
}
EVERYTHING = [
    (AttemptError(kind, sent, answered), method)
    for kind, sent, answered, method in product(ErrorKind, Sent, (False, True), METHODS)
]


@pytest.mark.parametrize(
    ("method", "expected"),
    [(b"GET", True), (b"HEAD", True), (b"OPTIONS", True), (b"PUT", True), (b"DELETE", True), (b"POST", False),
     (b"PATCH", False), (b"LOCK", False), (b"get", False), (b"FOOBAR", False)],
)  # fmt: skip
def test_idempotent_methods_are_repeatable_and_unknown_ones_are_not(method: bytes, expected: bool) -> None:
    # RFC 9110 9.2.2
    assert (method in REPEATABLE) is expected


def test_nothing_sent_lets_any_method_try_another_endpoint() -> None:
    for kind, method in product(CONNECTION_ERRORS, METHODS):
        assert may_retry(AttemptError(kind, Sent.NOTHING), method=method)


@pytest.mark.parametrize("sent", [Sent.HEAD, Sent.KEPT_BODY])
def test_what_was_sent_and_is_still_here_lets_only_repeatable_methods_try_again(sent: Sent) -> None:
    for kind, method in product(CONNECTION_ERRORS, METHODS):
        assert may_retry(AttemptError(kind, sent), method=method) is (method in REPEATABLE)


def test_never_after_an_answer_a_body_that_is_gone_or_an_error_that_is_not_of_the_connection() -> None:
    for error, method in EVERYTHING:
        if error.answered or error.sent is Sent.BODY or error.kind not in CONNECTION_ERRORS:
            assert not may_retry(error, method=method)


def test_what_an_endpoint_has_not_processed_goes_out_again_as_long_as_all_of_it_is_here() -> None:
    unprocessed = {error for error, _ in EVERYTHING if is_unprocessed(error)}
    assert unprocessed == {AttemptError(ErrorKind.ENDPOINT_REFUSED, Sent.NOTHING)}
    for method in METHODS:
        assert keeps_body(method, body_bytes=10, on=("error",), tries=3, refusable=True)
        assert keeps_body(method, body_bytes=None, on=("error",), tries=0, refusable=True)
        assert not keeps_body(method, body_bytes=KEPT_BODY_BYTES + 1, on=("error",), tries=3, refusable=True)
        assert not keeps_body(method, body_bytes=10, on=("off",), tries=3, refusable=True)


def test_only_a_pooled_connection_closed_on_an_unanswered_repeatable_head_is_stale() -> None:
    stale = {(error, method) for error, method in EVERYTHING if is_stale(error, method=method, pooled=True)}
    closed = [AttemptError(ErrorKind.ENDPOINT_CLOSED, sent) for sent in (Sent.HEAD, Sent.KEPT_BODY)]
    assert stale == {(error, method) for error in closed for method in METHODS if method in REPEATABLE}
    assert not any(is_stale(error, method=method, pooled=False) for error, method in EVERYTHING)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (ErrorKind.CONNECT_REFUSED, "error"),
        (ErrorKind.ENDPOINT_CLOSED, "error"),
        (ErrorKind.CONNECT_TIMEOUT, "timeout"),
        (ErrorKind.ENDPOINT_TIMEOUT, "timeout"),
        (ErrorKind.ENDPOINT_SILENT, "timeout"),
        (ErrorKind.INVALID_RESPONSE, "invalid_header"),
    ],
)
def test_each_kind_of_error_has_its_word(kind: ErrorKind, word: str) -> None:
    words = ("error", "timeout", "invalid_header", "http_502")
    error = AttemptError(kind, Sent.HEAD)
    assert [each for each in words if may_retry(error, method=b"GET", on=(each,))] == [word]


def test_off_outweighs_every_word() -> None:
    on = ("error", "http_503", "off")
    assert not may_retry(AttemptError(ErrorKind.CONNECT_REFUSED, Sent.NOTHING), method=b"GET", on=on)
    assert not may_pass_over(503, method=b"GET", on=on)


def test_non_idempotent_lets_every_method_run_twice_but_never_with_a_body_that_is_gone() -> None:
    on = ("error", "http_503", "non_idempotent")
    for method in METHODS:
        assert may_retry(AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.HEAD), method=method, on=on)
        assert may_retry(AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.KEPT_BODY), method=method, on=on)
        assert not may_retry(AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.BODY), method=method, on=on)
        assert may_pass_over(503, method=method, on=on)


def test_a_status_is_passed_over_for_repeatable_methods_and_by_its_own_word_only() -> None:
    for status, method in product((200, 404, 502, 503), METHODS):
        expected = status in (404, 503) and method in REPEATABLE
        assert may_pass_over(status, method=method, on=("error", "http_404", "http_503")) is expected
        assert not may_pass_over(status, method=method, on=("error", "timeout"))


@given(
    st.sampled_from(METHODS),
    st.sets(st.sampled_from(("error", "timeout", "http_503", "non_idempotent", "off"))),
    st.integers(0, 3),
    st.sampled_from((None, 0, 1, KEPT_BODY_BYTES, KEPT_BODY_BYTES + 1)),
)
def test_a_body_is_kept_for_every_request_that_may_be_repeated_and_for_no_other(
    method: bytes, words: set[str], tries: int, body_bytes: int | None
) -> None:
    on = tuple(sorted(words))
    errors = [AttemptError(kind, Sent.KEPT_BODY) for kind in CONNECTION_ERRORS]
    may_follow = any(may_retry(error, method=method, on=on) for error in errors) or may_pass_over(
        503, method=method, on=on
    )
    kept = keeps_body(method, body_bytes=body_bytes, on=on, tries=tries)
    if body_bytes == 0 or (body_bytes or 0) > KEPT_BODY_BYTES or tries == 1:
        assert not kept
    elif may_follow:
        assert kept
    elif words & {"error", "timeout", "http_503"}:
        assert not kept
