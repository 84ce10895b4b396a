"""Endpoints over HTTP/2 that run, for each stream, a script which is written for HTTP/1.1."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from types import TracebackType
from typing import Any, cast

from h2.errors import ErrorCodes
from h2.events import DataReceived, RequestReceived, StreamReset
from h2.exceptions import H2Error

from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.sockets import narrow
from tests.features.faults.http2_ends import Http2End, fields_of


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


class ServerEnd(Http2End):
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

    def over(self, why: str) -> None:
        super().over(why)
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
        length = next((int(value) for name, value in fields_of(lines) if name == b"content-length"), None)
        self._left, self._is_chunked = length, b"chunked" in head
        with suppress(H2Error):
            fields = [(b":status", first.split(b" ")[1]), *fields_of(lines)]
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
