"""Says what the end of an attempt says about its endpoint: the one table of failures.

Every choice, the health of endpoints and the judgement of zones use it. Does not know what follows from a failure.
"""

from __future__ import annotations

from datetime import UTC
from enum import Enum
from typing import Final, Protocol

from balancer.errors import AttemptError, ErrorKind
from balancer.http.grpc import DATA_LOSS, INTERNAL, RESOURCE_EXHAUSTED, UNAVAILABLE, UNKNOWN
from balancer.http.messages import Fields, field_value

_UNREACHED = frozenset((ErrorKind.CONNECT_REFUSED, ErrorKind.CONNECT_TIMEOUT, ErrorKind.ENDPOINT_TLS))
_ENDPOINT_FAULTS = frozenset(
    (
        ErrorKind.ENDPOINT_CLOSED,
        ErrorKind.ENDPOINT_SILENT,
        ErrorKind.ENDPOINT_TIMEOUT,
        ErrorKind.INVALID_RESPONSE,
    )
)

_ABOUT_REQUESTS = frozenset((501, 505, 506, 508, 510, 511))
"""5xx that say something about the request or the network, and nothing about the endpoint: a method or version that is
not implemented, a loop, an extension that is missing, a sign-in that the network wants (RFC 9110, 2295, 5842, 2774,
6585).
"""

_FAILED_CALLS = frozenset((UNKNOWN, RESOURCE_EXHAUSTED, INTERNAL, DATA_LOSS))
"""What gRPC servers say when they cannot do their work. UNKNOWN is what most say after an exception.

UNAVAILABLE counts as a failed connection. DEADLINE_EXCEEDED does not count, because the client chooses the deadline,
and UNIMPLEMENTED does not, because the client chooses the method. The others are about the request (statuscodes.md of
gRPC).
"""


_DATE_BYTES_MOST = 64


class Outcome(Enum):
    """What an attempt shows about its endpoint. `UNKNOWN`: nothing.

    `ANSWERED_5XX`: the endpoint answered that it cannot do its work. `FAILED`: it gave no answer, or none of its own.
    `UNREACHED`: no connection was made, so that no request can have caused the failure.
    """

    ANSWERED = "answered"
    ANSWERED_5XX = "answered_5xx"
    FAILED = "failed"
    UNREACHED = "unreached"
    UNKNOWN = "unknown"


class Asker(Protocol):
    """Whose request an attempt was, and what its response asked for.

    `client` is an address. `pause_seconds` is the Retry-After of a 503; 0 without one.
    """

    client: str
    pause_seconds: float


class _Nobody:
    __slots__ = ("client", "pause_seconds")

    def __init__(self) -> None:
        self.client = ""
        self.pause_seconds = 0.0


NOBODY: Final = _Nobody()


_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class
FAILURES: Final = frozenset((Outcome.ANSWERED_5XX, Outcome.FAILED, Outcome.UNREACHED))
"""The outcomes that are failures of the endpoint."""

UNANSWERED: Final = frozenset((Outcome.FAILED, Outcome.UNREACHED))
"""The failures without an answer of the endpoint."""


def outcome_of(error: AttemptError | None, status: int, grpc_status: int | None = None) -> Outcome:
    """The outcome of an attempt that ended with `error`, or with a response of `status`.

    `grpc_status` is the grpc-status of a gRPC call, from trailers or from a head that is the whole response; else None.
    A client's mistakes (4xx, and what gRPC has for them) are answers like any other.
    """
    if error is not None and error.kind is not ErrorKind.PASSED_OVER:
        if error.kind in _UNREACHED:
            return Outcome.UNREACHED
        return Outcome.FAILED if error.kind in _ENDPOINT_FAULTS else Outcome.UNKNOWN
    if grpc_status:
        return _outcome_of_call(grpc_status)
    if status < 500 or status in _ABOUT_REQUESTS:
        return _ANSWERED
    return Outcome.ANSWERED_5XX


def pause_asked(fields: Fields, now_epoch_seconds: float) -> float:
    """The seconds of the Retry-After of a 503, a number or a date (RFC 9110 10.2.3); 0 without one that can be read.

    A date is compared with that of the response if it has one, so that wrong clocks do no harm.
    """
    value = field_value(fields, b"retry-after")
    if value is None:
        return 0.0
    if value.isdigit():
        return float(value)
    until, made = _epoch_seconds(value), _epoch_seconds(field_value(fields, b"date") or b"")
    return 0.0 if until is None else max(0.0, until - (now_epoch_seconds if made is None else made))


def _epoch_seconds(date: bytes) -> float | None:
    """An HTTP-date in any of its three forms (RFC 9110 5.6.7); None for anything else."""
    if not 0 < len(date) <= _DATE_BYTES_MOST:
        return None
    from email.utils import parsedate_to_datetime

    try:
        found = parsedate_to_datetime(date.decode("latin-1"))
        return found.replace(tzinfo=found.tzinfo or UTC).timestamp()
    except (ValueError, TypeError, OverflowError):
        return None


def _outcome_of_call(grpc_status: int) -> Outcome:
    if grpc_status == UNAVAILABLE:
        return Outcome.FAILED
    return Outcome.ANSWERED_5XX if grpc_status in _FAILED_CALLS else _ANSWERED
