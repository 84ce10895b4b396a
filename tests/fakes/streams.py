"""Streams in memory, many on one connection at a time: a second version of HTTP that puts no byte on any wire.

What a client sent and what it got are attributes. Nothing happens until a test says so.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from balancer.errors import ErrorKind
from balancer.http.consumers import RequestConsumer, ResponseConsumer
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.origin import Origin
from balancer.http.streams import (
    ClientStream,
    Connection,
    EndpointStream,
    Outgoing,
    Pool,
    RequestServer,
)
from balancer.model.entry_points import HTTP
from balancer.model.handshakes import Handshake
from balancer.picking.members import Member


class MemoryStream(ClientStream):
    """One request of a client: what it got is in `head`, `edit`, `body` and `trailers`."""

    def __init__(self) -> None:
        self.origin = Origin(peer="192.0.2.7", entry_point=HTTP)
        self.secure = self.closed = self.writing_paused = self.body_begun = self.last = False
        self.consumer: RequestConsumer | None = None
        self.head: ResponseHead | None = None
        self.edit = HeadEdit()
        self.body = b""
        self.trailers: Trailers | None = None
        self.interims: list[int] = []
        self.is_reset = self.is_held = self.wants_body = False
        self.releases = 0

    def attach(self, consumer: RequestConsumer) -> None:
        assert self.consumer is None
        self.consumer = consumer

    def detach(self) -> None:
        self.consumer = None

    def start_body(self) -> None:
        self.wants_body, self.is_held = True, False

    def hold(self) -> None:
        self.is_held = True

    def resume(self) -> None:
        self.is_held = False

    def interim(self, head: ResponseHead) -> None:
        self.interims.append(head.status)

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        assert self.head is None, "two responses to one request"
        self.head, self.edit, self.trailers = head, edit, trailers
        self.body += data

    def send(self, data: bytes) -> None:
        assert self.head is not None
        assert self.trailers is None
        self.body += data

    def finish(self, trailers: Trailers) -> None:
        self.trailers = trailers

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        self.head, self.edit, self.wants_body = head, edit, True
        self.body += data

    def reset(self) -> None:
        self.is_reset = True

    def release(self) -> None:
        self.releases += 1

    @property
    def status(self) -> int:
        """The status that the client got, 0 without a response."""
        return self.head.status if self.head is not None else 0

    def say(self, data: bytes, *, ends: bool = False) -> None:
        """The client sends a piece of its body."""
        assert self.wants_body
        assert self.consumer is not None
        self.body_begun = True
        self.consumer.request_data(data)
        if ends and self.consumer is not None:
            self.consumer.request_end(())

    def leave(self) -> None:
        """The client resets this one request."""
        self.closed = True
        if self.consumer is not None:
            self.consumer.client_lost(ErrorKind.CLIENT_LEFT)


class MemoryConnection(Connection):
    """A connection that carries any number of requests at a time."""

    server: RequestServer

    @property
    def idle(self) -> bool:
        return True

    def start(self, server: RequestServer) -> None:
        self.server = server

    def end_soon(self) -> None: ...

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None: ...

    def abort(self) -> None: ...


class MemoryEndpointStream(EndpointStream):
    """One request to an endpoint. `answer` is called with the stream once the request has begun."""

    def __init__(self, answer: Callable[[MemoryEndpointStream], None], *, reused: bool = False) -> None:
        self._answer = answer
        self.reused = reused
        self.writing_paused = False
        self.consumer: ResponseConsumer | None = None
        self.outgoing: Outgoing | None = None
        self.sent = b""
        self.is_whole = self.is_reset = self.is_held = self.is_half_closed = False
        self.releases = 0

    def begin(self, consumer: ResponseConsumer, outgoing: Outgoing) -> None:
        self.consumer, self.outgoing = consumer, outgoing
        self._answer(self)

    def send(self, data: bytes) -> None:
        self.sent += data

    def finish(self, trailers: Trailers, data: bytes = b"") -> None:
        self.sent += data
        self.is_whole = True

    def finish_writing(self) -> None:
        self.is_half_closed = True

    def hold(self) -> None:
        self.is_held = True

    def resume(self) -> None:
        self.is_held = False

    def reset(self) -> None:
        self.is_reset = True

    def release(self) -> None:
        self.releases += 1
        self.consumer = None

    def respond(self, status: int = 200, data: bytes = b"ok", *, ends: bool = True) -> None:
        """The endpoint answers, with all of its body or a part of it."""
        assert self.consumer is not None
        head = ResponseHead(status, (), len(data) if ends else None, b"")
        self.consumer.response_started(head, data, () if ends else None)

    def fail(self, kind: ErrorKind) -> None:
        """The stream ends without a whole response."""
        assert self.consumer is not None
        self.consumer.endpoint_failed(kind)


class MemoryPools(Pool):
    """One pool for all endpoints: every stream of it is on one shared connection, or `error` meets who connects."""

    def __init__(self, answer: Callable[[MemoryEndpointStream], None]) -> None:
        self.answer = answer
        self.error: BaseException | None = None
        self.is_shared = True
        self.awaited = set()
        self.coming: set[asyncio.Task[None]] = set()
        self.streams: list[MemoryEndpointStream] = []
        self.asked_in_http2: list[bool] = []

    def of(self, member: Member, tls: Handshake | None, http2: bool = False) -> Pool:
        self.asked_in_http2.append(http2)
        return self

    def lease(self, fresh: bool) -> EndpointStream | None:
        return self._stream(reused=True) if self.is_shared and not fresh else None

    def drop_idle(self) -> None: ...

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        await self.connect(timeout_seconds)

    async def connect(self, timeout_seconds: float) -> EndpointStream:
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error
        return self._stream(reused=False)

    def _stream(self, *, reused: bool) -> MemoryEndpointStream:
        self.streams.append(MemoryEndpointStream(self.answer, reused=reused))
        return self.streams[-1]
