"""Both ends of HTTP/2 for the matrix: its scripts and loads are written for HTTP/1.1, and are carried over here.

An endpoint runs the same script for each stream, and a load sends the same requests over connections that many share.
hyper-h2 does the frames.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from types import TracebackType
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.errors import ErrorCodes
from h2.events import (
    ConnectionTerminated,
    DataReceived,
    RequestReceived,
    ResponseReceived,
    StreamEnded,
    StreamReset,
)
from h2.exceptions import H2Error

from tests.fakes.clients import Response
from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.sockets import narrow
from tests.features.faults.crew import TracedLoad
from tests.features.faults.going_on import GoingOn

Fields = list[tuple[bytes, bytes]]

_STREAMS_MOST = 50  # on one connection of a load
_OF_A_CONNECTION = frozenset((b"connection", b"host", b"transfer-encoding"))
_PIECE_BYTES = 16_384


def _fields_of(lines: Iterable[bytes]) -> Fields:
    pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    return [(name, value) for name, value in pairs if name not in _OF_A_CONNECTION]


class _End(asyncio.Protocol):
    """One end of a connection. What no window takes waits in `_waiting`, by stream; an end stands behind the bytes."""

    def __init__(self, *, is_client: bool) -> None:
        self.h2 = (GoingOn if is_client else H2Connection)(H2Configuration(client_side=is_client, header_encoding=None))
        self.transport: asyncio.Transport | None = None
        self._waiting: dict[int, tuple[bytes, bool]] = {}
        self.is_over = self._is_silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.h2.initiate_connection()
        self.flush()

    def data_received(self, data: bytes) -> None:
        try:
            for event in self.h2.receive_data(data):
                self.take(event)
        except H2Error:
            self.is_over = True
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_over = True

    def take(self, event: Any) -> None:
        """What the other end said."""

    def send(self, stream: int, data: bytes, *, ends: bool) -> None:
        """A piece of a body."""
        before, _ = self._waiting.get(stream, (b"", False))
        self._waiting[stream] = before + data, ends
        self.flush()

    def flush(self) -> None:
        """Write what may be written."""
        for stream in tuple(self._waiting):
            with suppress(H2Error):
                self._send_waiting(stream)
        if self.transport is not None and not self._is_silent and (data := self.h2.data_to_send()):
            self.transport.write(data)

    def fall_silent(self) -> None:
        """Read and write nothing any more, and stay."""
        self._is_silent = True
        if self.transport is not None:
            self.transport.pause_reading()

    def _send_waiting(self, stream: int) -> None:
        data, ends = self._waiting.pop(stream)
        while data and (room := min(self.h2.local_flow_control_window(stream), _PIECE_BYTES)):
            self.h2.send_data(stream, data[:room], end_stream=ends and len(data) <= room)
            data = data[room:]
            ends = ends and bool(data)
        if data:
            self._waiting[stream] = data, ends
        elif ends:
            self.h2.send_data(stream, b"", end_stream=True)


class Http2ScriptedEndpoint(ScriptedEndpoint):
    """Runs a script that is written for HTTP/1.1 for each stream. `visits` are the streams."""

    ends: set[ServerEnd]

    async def __aenter__(self) -> Http2ScriptedEndpoint:
        self.ends = set()
        loop = asyncio.get_running_loop()
        listener = socket.socket()
        if self._buffer_bytes is not None:
            narrow(listener, self._buffer_bytes)
        listener.bind((self.address, 0))
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # for who takes the place of this endpoint
        self.port = listener.getsockname()[1]
        self._accepting = await loop.create_server(self.make_end, sock=listener)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await super().__aexit__(kind, error, trace)
        for end in tuple(self.ends):
            end.abort()

    def make_end(self) -> ServerEnd:
        """Our end of a connection that was accepted."""
        return ServerEnd(self)

    def ended(self, end: ServerEnd) -> None:
        """An answer is whole."""

    def begin(self, end: ServerEnd, number: int, head: bytes) -> asyncio.StreamReader:
        """A stream has begun. Returns what feeds its script."""
        reader = asyncio.StreamReader(limit=2**16)
        reader.feed_data(head)
        writer = cast("asyncio.StreamWriter", _Answering(end, number))
        self._visited(reader, writer)
        return reader


class ServerEnd(_End):
    """One connection from the proxy."""

    def __init__(self, endpoint: Http2ScriptedEndpoint) -> None:
        super().__init__(is_client=False)
        self.endpoint = endpoint
        self._readers: dict[int, asyncio.StreamReader] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.endpoint.ends.add(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.endpoint.ends.discard(self)
        for reader in self._readers.values():
            reader.feed_eof()

    def abort(self) -> None:
        """Cut the connection."""
        if self.transport is not None:
            self.transport.abort()

    def take(self, event: Any) -> None:
        if isinstance(event, RequestReceived):
            fields = dict(event.headers)
            lines = [b"%b: %b" % field for field in event.headers if not field[0].startswith(b":")]
            first = b"%b %b HTTP/1.1" % (fields[b":method"], fields[b":path"])
            head = b"\r\n".join([first, b"host: " + fields[b":authority"], *lines, b"", b""])
            self._readers[event.stream_id] = self.endpoint.begin(self, event.stream_id, head)
        elif isinstance(event, DataReceived):
            self._readers[event.stream_id].feed_data(event.data)
            self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
        elif isinstance(event, StreamReset):
            self._readers.pop(event.stream_id).feed_eof()


class _Answering:
    """Where a script writes its HTTP/1.1: it becomes frames of one stream. It has what `Visit` needs of a writer."""

    def __init__(self, end: ServerEnd, stream: int) -> None:
        self._end, self._stream = end, stream
        self._said = b""
        self._left: int | None = None  # bytes of the body that are to come
        self._has_head = self._is_chunked = self._is_done = False
        self.transport = self

    def write(self, data: bytes) -> None:
        """A part of a response."""
        self._said += data
        if not self._has_head and not self._is_done:
            self._take_head()
        if self._has_head and not self._is_done:
            self._take_body()

    def _take_head(self) -> None:
        head, mark, rest = self._said.partition(b"\r\n\r\n")
        if not mark:
            return
        self._said, self._has_head = rest, True
        first, *lines = head.split(b"\r\n")
        length = next((int(value) for name, value in _fields_of(lines) if name == b"content-length"), None)
        self._left, self._is_chunked = length, b"chunked" in head
        with suppress(H2Error):
            fields = [(b":status", first.split(b" ")[1]), *_fields_of(lines)]
            self._end.h2.send_headers(self._stream, fields, end_stream=length == 0)
        self._is_done = length == 0
        self._end.flush()
        self._note_end()

    def _take_body(self) -> None:
        data, self._said = self._said, b""
        if self._is_chunked:
            data = b"".join(data.split(b"\r\n")[1::2])
        elif self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
            self._is_done = not self._left
        self._end.send(self._stream, data, ends=self._is_done)
        self._note_end()

    def _note_end(self) -> None:
        if self._is_done:
            self._end.endpoint.ended(self._end)

    async def drain(self) -> None:
        """The window of the stream holds nobody up."""

    def close(self) -> None:
        """The script has ended: an answer that is not whole is broken off."""
        if not self._is_done:
            self._is_done = True
            with suppress(H2Error):
                self._end.h2.reset_stream(self._stream, ErrorCodes.INTERNAL_ERROR)
            self._end.flush()

    abort = close

    async def wait_closed(self) -> None:
        """Nothing is left to wait for."""

    def get_extra_info(self, name: str) -> Any:
        """For `reset` of a visit: a socket that takes the option of it."""
        return self

    def setsockopt(self, *option: object) -> None:
        """There is no socket: a stream is reset by a frame."""


class Http2Load(TracedLoad):
    """The same requests over HTTP/2, many at a time on each connection. `cut_ports` as there."""

    def __init__(self, port: int, *, prefix: str = "") -> None:
        super().__init__(port, prefix=prefix)
        self._clients: list[Http2Client] = []

    async def _answer(self, request: bytes) -> Response:
        self.sent += 1
        while True:
            client = await self._client()
            try:
                return await client.ask(request)
            except _NotProcessedError:  # by a connection that goes away: a client sends it again (RFC 9113 6.8)
                continue
            except BaseException:
                self.cut_ports.append(client.port)
                raise

    async def _client(self) -> Http2Client:
        for client in self._clients:
            if client.has_room:
                return client
        try:
            _, client = await asyncio.get_running_loop().create_connection(Http2Client, "127.0.0.1", self._port)
        except OSError:
            self.cut_ports.append(0)
            raise
        self._clients.append(client)
        return client

    def close(self) -> None:
        for client in self._clients:
            if client.transport is not None:
                client.transport.close()
        self._clients.clear()


class _NotProcessedError(Exception):
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


class Http2Client(_End):
    """One connection to the proxy, with prior knowledge."""

    def __init__(self, says_first: bytes = b"") -> None:
        """`says_first` comes before the preface."""
        super().__init__(is_client=True)
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

    async def ask(self, request: bytes) -> Response:
        """The answer to a request that is written for HTTP/1.1."""
        begun = self.begin(request)
        try:
            return await begun.answer
        finally:
            self._asked.pop(begun.stream, None)

    def begin(self, request: bytes, *, ends: bool = True) -> Begun:
        """Send a request that is written for HTTP/1.1. `ends`: with what there is of its body, it is whole."""
        head, _, body = request.partition(b"\r\n\r\n")
        first, *lines = head.split(b"\r\n")
        method, path, _ = first.split(b" ")
        host = next(line.partition(b": ")[2] for line in lines if line.lower().startswith(b"host:"))
        pseudo = [(b":method", method), (b":scheme", b"http"), (b":authority", host), (b":path", path)]
        stream = self.h2.get_next_available_stream_id()
        begun = self._asked[stream] = Begun(stream)
        self.h2.send_headers(stream, [*pseudo, *_fields_of(lines)], end_stream=ends and not body)
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
                    left_out.fail(_NotProcessedError())
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

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for waiting in self._asked.values():
            waiting.fail(ConnectionResetError("the connection is gone"))
