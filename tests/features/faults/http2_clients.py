"""A client over HTTP/2: one connection, and the requests on it, which are written for HTTP/1.1."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, cast

from h2.errors import ErrorCodes
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset
from h2.exceptions import StreamClosedError
from h2.settings import SettingCodes

from tests.fakes.clients import Response
from tests.features.faults.http2_ends import Fields, Http2End, fields_of

_STREAMS_MOST = 50  # on one connection of a load


class NotProcessedError(Exception):
    """GOAWAY leaves the request out."""


class Begun:
    """A request that waits for its answer, by its stream."""

    def __init__(self, stream: int) -> None:
        self.stream = stream
        self.head: Fields = []
        self.body = bytearray()
        self.answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)

    def finish(self) -> None:
        fields = dict(self.head)
        if not self.answer.done():
            self.answer.set_result(Response(int(fields[b":status"]), fields, bytes(self.body), b""))


class Http2Client(Http2End):
    """One connection to the proxy, with prior knowledge."""

    def __init__(self, says_first: bytes = b"", *, window_bytes: int = 0) -> None:
        """`says_first` comes before the preface. `window_bytes` are of the connection and of each stream, 0 for those
        with which HTTP/2 begins.
        """
        super().__init__(is_client=True)
        self._window_bytes = window_bytes
        self._says_first = says_first
        self._asked: dict[int, Begun] = {}
        self._is_left = False
        self.port = 0

    @classmethod
    @asynccontextmanager
    async def to(cls, port: int, *, says_first: bytes = b"") -> AsyncIterator[Http2Client]:
        """A connection, cut at the end."""
        _, client = await asyncio.get_running_loop().create_connection(lambda: cls(says_first), "127.0.0.1", port)
        try:
            yield client
        finally:
            if client.transport is not None:
                client.transport.abort()

    @property
    def has_room(self) -> bool:
        return not self._is_left and not self.is_over and len(self._asked) < _STREAMS_MOST

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.port = transport.get_extra_info("sockname")[1]
        cast("asyncio.Transport", transport).write(self._says_first)
        super().connection_made(transport)
        if self._window_bytes:
            self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: self._window_bytes})
            self.h2.increment_flow_control_window(self._window_bytes - self.h2.inbound_flow_control_window)
            self.flush()

    async def ask(self, request: bytes) -> Response:
        """The answer to a request that is written for HTTP/1.1. Who waits no longer for it resets its stream."""
        begun = self.begin(request)
        try:
            return await begun.answer
        except asyncio.CancelledError:
            self._cancel(begun)
            raise
        finally:
            self._asked.pop(begun.stream, None)

    def begin(self, request: bytes, *, ends: bool = True) -> Begun:
        """Send a request that is written for HTTP/1.1. `ends`: with what there is of its body, it is whole.

        Raises ConnectionResetError on a connection that is over.
        """
        if self.is_over:
            raise ConnectionResetError("the connection was over before the request")
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        method, path, _ = first.split(b" ")
        host = next(line.partition(b": ")[2] for line in lines if line.lower().startswith(b"host:"))
        pseudo = [(b":method", method), (b":scheme", b"http"), (b":authority", host), (b":path", path)]
        stream = self.h2.get_next_available_stream_id()
        begun = self._asked[stream] = Begun(stream)
        self.h2.send_headers(stream, [*pseudo, *fields_of(lines)], end_stream=ends and not body)
        if body:
            self.send(stream, body, ends=ends)
        self.flush()
        return begun

    def is_held(self, begun: Begun) -> bool:
        """Whether a part of its body waits for a window."""
        return begun.stream in self._waiting

    def take(self, event: Any) -> None:
        if isinstance(event, ConnectionTerminated):
            self._is_left = True
            for stream, left_out in self._asked.items():
                if stream > (event.last_stream_id or 0):
                    left_out.fail(NotProcessedError())
            return
        waiting = self._asked.get(getattr(event, "stream_id", 0))
        if isinstance(event, DataReceived):
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        if waiting is None:
            return
        if isinstance(event, ResponseReceived):
            waiting.head = [(bytes(name), bytes(value)) for name, value in event.headers]
        elif isinstance(event, DataReceived):
            waiting.body += event.data
        elif isinstance(event, StreamEnded):
            waiting.finish()
        elif isinstance(event, StreamReset):
            waiting.fail(ConnectionResetError(f"RST_STREAM {event.error_code}"))

    def over(self, why: str) -> None:
        super().over(why)
        for waiting in self._asked.values():
            waiting.fail(ConnectionResetError(why))

    def _cancel(self, begun: Begun) -> None:
        """RST_STREAM, without which the answer would still come, and the stream would count as open."""
        self._waiting.pop(begun.stream, None)
        with suppress(StreamClosedError):  # by the other end, in this very turn
            self.h2.reset_stream(begun.stream, ErrorCodes.CANCEL)
        self.flush()
