"""What can go wrong with a request, and whose fault it is. Knows neither sockets nor answers.

`Refusal` is the client's fault and is raised; an attempt that failed is a value (`AttemptError`), because the next
attempt depends on how much of the request was already sent.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ErrorKind(Enum):
    """Every error the proxy itself meets; the values are metric labels and log words."""

    BAD_REQUEST = "bad_request"
    REQUEST_TIMEOUT = "request_timeout"
    TARGET_TOO_LONG = "target_too_long"
    HEAD_TOO_LARGE = "head_too_large"
    BODY_TOO_LARGE = "body_too_large"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    NO_ROUTE = "no_route"
    NO_BACKEND = "no_backend"
    NO_ENDPOINT = "no_endpoint"
    OVERLOADED = "overloaded"
    CONNECT_REFUSED = "connect_refused"
    CONNECT_TIMEOUT = "connect_timeout"
    ENDPOINT_TLS = "endpoint_tls"
    ENDPOINT_CLOSED = "endpoint_closed"
    ENDPOINT_TIMEOUT = "endpoint_timeout"
    INVALID_RESPONSE = "invalid_response"
    PASSED_OVER = "passed_over"
    CLIENT_LEFT = "client_left"
    INTERNAL = "internal"


class Refusal(Exception):
    """A message that is refused; `kind` says how it is answered. Never carries bytes of the message."""

    def __init__(self, kind: ErrorKind, why: str) -> None:
        super().__init__(why)
        self.kind = kind


class Sent(Enum):
    """How much of a request had left for the endpoint when an attempt failed."""

    NOTHING = 0
    HEAD = 1
    BODY = 2


class AttemptError(NamedTuple):
    """Why one attempt failed. `answered`: bytes of a final response had already gone to the client."""

    kind: ErrorKind
    sent: Sent
    answered: bool = False
