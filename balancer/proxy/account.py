"""Holds the facts of one request, and makes ids for requests that have none."""

from __future__ import annotations

import os
from binascii import hexlify

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead
from balancer.logs.accesslines import FailedAttempt
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.destinations import Destination, DestinationNames
from balancer.picking.members import Pick
from balancer.zones.reasons import Reason

NOBODY = DestinationNames("", "", "", "")
"""The names of requests that no route serves."""


class Account:
    """The facts of one request, filled in as they become known. Durations in seconds, sizes in bytes of body.

    `destination` is where the request goes, or would go without the stand-in that serves it; None if no route matched.
    `pause_seconds` is the Retry-After of an endpoint's 503.

    `started` is of `time.perf_counter`. An account is no msgspec struct: setting an attribute of one costs four times
    as much, and every request sets ten.
    """

    __slots__ = (
        "client",
        "destination",
        "endpoint_seconds",
        "endpoint_status",
        "error",
        "failed_attempts",
        "grpc_status",
        "pause_seconds",
        "pick",
        "refusal",
        "request",
        "request_bytes",
        "request_id",
        "response_bytes",
        "span",
        "started",
        "status",
        "tried",
    )

    def __init__(self, client: str, request: RequestHead | None, started: float) -> None:
        self.client = client
        self.request = request
        self.started = started
        self.request_id = b""
        self.destination: Destination | None = None
        self.pick: Pick | None = None
        self.refusal: Reason | None = None
        self.error: ErrorKind | None = None
        self.span: SpanContext | None = None
        self.tried: tuple[str, ...] = ()
        self.failed_attempts: tuple[FailedAttempt, ...] = ()
        self.endpoint_seconds: float | None = None
        self.endpoint_status: int | None = None
        self.grpc_status: int | None = None
        self.pause_seconds = 0.0
        self.status = 0
        self.request_bytes = 0
        self.response_bytes = 0

    def forget_attempt(self) -> None:
        """Another attempt follows: what the last one sent and received does not count."""
        self.endpoint_status = None
        self.grpc_status = None
        self.pause_seconds = 0.0
        self.status = 0
        self.request_bytes = 0
        self.response_bytes = 0


_REQUEST_IDS_AT_ONCE = 64
_request_ids: list[bytes] = []  # made in advance: many at once cost a third


def new_request_id() -> bytes:
    """A request id in the form of nginx's `$request_id`."""
    if not _request_ids:
        digits = hexlify(os.urandom(16 * _REQUEST_IDS_AT_ONCE))
        text = digits  # which compiled code slices without an object for each slice
        _request_ids.extend([text[at : at + 32] for at in range(0, len(digits), 32)])
    return _request_ids.pop()
