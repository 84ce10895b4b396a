"""The one table of failures: what is the endpoint's fault, over HTTP and gRPC."""

from __future__ import annotations

import math

import pytest

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.picking.outcomes import FAILURES, Outcome, outcome_of, pause_asked

NEW_YEAR = 946684800.0  # 2000-01-01T00:00:00Z


@pytest.mark.parametrize(
    ("error", "status", "expected"),
    [
        (None, 200, Outcome.ANSWERED),
        (None, 404, Outcome.ANSWERED),
        (None, 500, Outcome.ANSWERED_5XX),
        (AttemptError(ErrorKind.PASSED_OVER, Sent.HEAD), 503, Outcome.ANSWERED_5XX),
        (AttemptError(ErrorKind.ENDPOINT_REFUSED, Sent.NOTHING), 0, Outcome.UNKNOWN),
        (AttemptError(ErrorKind.CALL_TIMEOUT, Sent.HEAD), 0, Outcome.UNKNOWN),
        (AttemptError(ErrorKind.PASSED_OVER, Sent.HEAD), 404, Outcome.ANSWERED),
        (AttemptError(ErrorKind.CONNECT_REFUSED, Sent.NOTHING), 0, Outcome.UNREACHED),
        (AttemptError(ErrorKind.CONNECT_TIMEOUT, Sent.NOTHING), 0, Outcome.UNREACHED),
        (AttemptError(ErrorKind.ENDPOINT_TLS, Sent.NOTHING), 0, Outcome.UNREACHED),
        (AttemptError(ErrorKind.ENDPOINT_TIMEOUT, Sent.HEAD), 0, Outcome.FAILED),
        (AttemptError(ErrorKind.ENDPOINT_CLOSED, Sent.HEAD, True), 200, Outcome.FAILED),
        (AttemptError(ErrorKind.INVALID_RESPONSE, Sent.HEAD), 0, Outcome.FAILED),
        (AttemptError(ErrorKind.CLIENT_LEFT, Sent.HEAD), 0, Outcome.UNKNOWN),
        (AttemptError(ErrorKind.BODY_TOO_LARGE, Sent.BODY), 0, Outcome.UNKNOWN),
    ],
)
def test_only_what_is_the_endpoints_fault_is_a_failure(
    error: AttemptError | None, status: int, expected: Outcome
) -> None:
    assert outcome_of(error, status) is expected


def test_5xx_are_failures_but_for_those_about_the_request() -> None:
    failures = {status for status in range(100, 600) if outcome_of(None, status) in FAILURES}
    assert failures == set(range(500, 600)) - {501, 505, 506, 508, 510, 511}


def test_statuses_of_grpc_count_like_those_of_http() -> None:
    outcomes = {status: outcome_of(None, status=200, grpc_status=status) for status in range(17)}
    assert {status for status, outcome in outcomes.items() if outcome in FAILURES} == {2, 8, 13, 14, 15}
    assert outcomes[14] is Outcome.FAILED
    assert outcomes[13] is Outcome.ANSWERED_5XX


def test_a_call_that_ends_without_its_status_is_judged_by_that_of_http() -> None:
    assert outcome_of(None, status=503, grpc_status=None) is Outcome.ANSWERED_5XX
    assert outcome_of(None, status=200, grpc_status=None) is Outcome.ANSWERED


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (b"5", 5.0),
        (b"0", 0.0),
        (b"120", 120.0),
        (b"-1", 0.0),
        (b"9" * 10, 9999999999.0),
        (b"9" * 9000, math.inf),
        (b"5.5", 0.0),
        (b"5 s", 0.0),
        (b"", 0.0),
        (b"Fri, 31 Dec 1999 23:59:59 GMT", 0.0),
        (b"Sat, 01 Jan 2000 00:00:07 GMT", 7.0),
        (b"Saturday, 01-Jan-00 00:00:07 GMT", 7.0),
        (b"Sat Jan  1 00:00:07 2000", 7.0),
        (b"Sat, 32 Jan 2000 00:00:07 GMT", 0.0),
        (b"Sat, 01 Jan 99999 00:00:07 GMT", 0.0),
        (b"Sat, 01 Jan 2000 00:00:07 GMT" + b" " * 100, 0.0),
        (b"tomorrow", 0.0),
        (b"\xff\xfe", 0.0),
    ],
)
def test_a_pause_is_a_number_of_seconds_or_a_date(value: bytes, seconds: float) -> None:
    assert pause_asked(((b"retry-after", value),), NEW_YEAR) == seconds
    assert pause_asked((), NEW_YEAR) == 0.0


@pytest.mark.parametrize(("made", "seconds"), [(b"Mon, 04 Jul 2011 12:00:00 GMT", 20.0), (b"never", 0.0)])
def test_a_date_is_seen_from_the_clock_of_the_response(made: bytes, seconds: float) -> None:
    asked = (b"retry-after", b"Mon, 04 Jul 2011 12:00:20 GMT")
    assert pause_asked((asked, (b"date", made)), 2e9) == seconds
