"""Takes the whole body of a request before an endpoint gets the head, where the head must name the length.

An endpoint that is spoken to in HTTP/1.0 knows no chunks (RFC 9112 7.1). Decides nothing about endpoints.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

import msgspec

from balancer.errors import AttemptError, ErrorKind, Refusal, Sent
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.streams import Outgoing, RequestStream
from balancer.live import View
from balancer.model.policies import RoutePolicy
from balancer.proxy.bodies import KeptBody
from balancer.runtime.deadlines import Alarm

COLLECTED_BYTES_MOST: Final = 1024 * 1024
"""A longer body is refused with 413, because it waits in memory."""

_CONTINUE: Final = ResponseHead(100, (), 0, b"")


class CollectingRequest(Protocol):
    """Owns a request whose body is collected."""

    stream: RequestStream
    outgoing: Outgoing
    policy: RoutePolicy
    view: View
    alarm: Alarm

    def forwarded(self, error: AttemptError | None) -> None:
        """The request ends before any endpoint got it."""


def must_collect(outgoing: Outgoing) -> bool:
    """Whether the body has to be collected before the head can be sent."""
    request = outgoing.request
    return outgoing.http_1_0 and (request.body_bytes is None or request.expects_continue)


class BodyCollection:
    """One body. Consumes the events of the client's stream until the body is whole."""

    __slots__ = ("_bytes", "_kept", "_most", "_owner", "_then")

    def __init__(self, owner: CollectingRequest, then: Callable[[KeptBody], None]) -> None:
        """`then` gets the body; the request of `owner` then says how long it is."""
        limit = owner.policy.max_body_bytes or COLLECTED_BYTES_MOST
        self._owner, self._then = owner, then
        self._most = min(limit, COLLECTED_BYTES_MOST)
        self._kept = KeptBody(self._most)
        self._bytes = 0

    def begin(self) -> None:
        """Asks the client for the body."""
        stream = self._owner.stream
        self._owner.alarm.owner = self
        self._wait()
        stream.attach(self)
        if self._owner.outgoing.request.expects_continue:
            stream.interim(_CONTINUE)  # the endpoint, whose word this would be, knows no 100 (RFC 9110 10.1.1)
        stream.start_body()

    def request_data(self, data: bytes) -> None:
        self._bytes += len(data)
        if self._bytes > self._most:
            return self._fail(ErrorKind.BODY_TOO_LARGE)
        self._kept.add(data)
        self._wait()

    def request_end(self, trailers: Trailers) -> None:
        outgoing = self._owner.outgoing
        self._kept.end(())  # HTTP/1.0 has no trailers
        outgoing.request = msgspec.structs.replace(outgoing.request, body_bytes=self._bytes, expects_continue=False)
        self._leave()
        self._then(self._kept)

    def request_failed(self, refusal: Refusal) -> None:
        self._fail(refusal.kind)

    def client_lost(self) -> None:
        self._fail(ErrorKind.CLIENT_LEFT)

    def client_paused(self) -> None:
        """Nothing is written while the body comes."""

    def client_resumed(self) -> None:
        """Nothing is written while the body comes."""

    def expired(self) -> None:
        self._fail(ErrorKind.REQUEST_TIMEOUT)

    def _wait(self) -> None:
        self._owner.alarm.set(self._owner.view.model.proxy.client_body_timeout_seconds)

    def _fail(self, kind: ErrorKind) -> None:
        self._leave()
        self._owner.forwarded(AttemptError(kind, Sent.NOTHING))

    def _leave(self) -> None:
        self._owner.alarm.clear()
        self._owner.stream.detach()
