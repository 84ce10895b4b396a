"""Defines what can go wrong with a request, and whose fault it is. Knows neither sockets nor answers.

`Refusal` is the client's fault and is raised. A failed attempt is a value (`AttemptError`), because the next attempt
depends on how much of the request was already sent.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ErrorKind(Enum):
    """Every error that the proxy itself meets. The values are metric labels and log words.

    ENDPOINT_REFUSED: the endpoint says that it has not processed the request, so even a POST may be sent again (RFC
    9113 8.7). CALL_TIMEOUT: the time is over that the client of a gRPC call gave it. UNREAD: the answer was broken off,
    because clients left too much unread. ENDPOINT_SILENT: the request left an endpoint that answers nobody any more.
    LOOP: the request has passed through zonal too often.
    """

    BAD_REQUEST = "bad_request"
    REQUEST_TIMEOUT = "request_timeout"
    TARGET_TOO_LONG = "target_too_long"
    HEAD_TOO_LARGE = "head_too_large"
    BODY_TOO_LARGE = "body_too_large"
    LOOP = "loop"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    EXPECTATION_FAILED = "expectation_failed"
    NO_ROUTE = "no_route"
    NO_BACKEND = "no_backend"
    BACKEND_INVALID = "backend_invalid"
    PATH_CLOSED = "path_closed"
    SOURCE_DENIED = "source_denied"
    MISDIRECTED = "misdirected"
    CERTIFICATE_REFUSED = "certificate_refused"
    CERTIFICATE_DENIED = "certificate_denied"
    CLIENT_BLOCKED = "client_blocked"
    UNAUTHORIZED = "unauthorized"
    AUTH_DENIED = "auth_denied"
    AUTH_UNAVAILABLE = "auth_unavailable"
    HOOK_DENIED = "hook_denied"
    HOOK_FAILED = "hook_failed"
    RATE_LIMITED = "rate_limited"
    CONNECTIONS_LIMITED = "connections_limited"
    NO_ENDPOINT = "no_endpoint"
    OVERLOADED = "overloaded"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    ENDPOINT_TLS = "endpoint_tls"
    ENDPOINT_CLOSED = "endpoint_closed"
    ENDPOINT_TIMEOUT = "endpoint_timeout"
    ENDPOINT_REFUSED = "endpoint_refused"
    ENDPOINT_SILENT = "endpoint_silent"
    INVALID_RESPONSE = "invalid_response"
    PASSED_OVER = "passed_over"
    CALL_TIMEOUT = "call_timeout"
    CLIENT_LEFT = "client_left"
    UNREAD = "unread"
    INTERNAL = "internal"


WHO_MAY_PASS = frozenset(
    {
        ErrorKind.SOURCE_DENIED,
        ErrorKind.UNAUTHORIZED,
        ErrorKind.AUTH_DENIED,
        ErrorKind.AUTH_UNAVAILABLE,
        ErrorKind.RATE_LIMITED,
        ErrorKind.CONNECTIONS_LIMITED,
    }
)
"""The kinds by which the checks of a route refuse a request that an endpoint could serve."""


class Refusal(Exception):
    """A message is refused. `kind` says how it is answered. Never contains bytes of the message."""

    def __init__(self, kind: ErrorKind, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class NoPlaceError(OSError):
    """No connection to an endpoint is made, because its namespace has as many as it may have."""


class Sent(Enum):
    """How much of a request was sent to the endpoint when an attempt failed.

    NOTHING is also what an endpoint has refused to process, as long as the body is still in memory.
    After KEPT_BODY all received bytes of the body are still in memory. After BODY at least a part of them is gone.
    """

    NOTHING = 0
    HEAD = 1
    KEPT_BODY = 2
    BODY = 3


class AttemptError(NamedTuple):
    """Why one attempt failed. `answered`: bytes of a final response were already sent to the client."""

    kind: ErrorKind
    sent: Sent
    answered: bool = False
