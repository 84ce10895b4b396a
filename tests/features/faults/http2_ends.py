"""One end of a connection over HTTP/2, for tests: what servers and clients share. hyper-h2 does the frames.

Scripts and loads of the matrix are written for HTTP/1.1; `http2_scripts` and `http2_clients` carry them over.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, cast

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.exceptions import H2Error

from tests.features.faults.going_on import GoingOn

Fields = list[tuple[bytes, bytes]]

_OF_A_CONNECTION = frozenset((b"connection", b"host", b"transfer-encoding"))
_PIECE_BYTES = 16_384


def fields_of(lines: Iterable[bytes]) -> Fields:
    """The fields of these lines of HTTP/1.1, without those that HTTP/2 says in another way."""
    pairs = [(name.lower(), value.strip()) for name, _, value in (line.partition(b":") for line in lines)]
    return [(name, value) for name, value in pairs if name not in _OF_A_CONNECTION]


class Http2End(asyncio.Protocol):
    """One end of a connection. What no window takes waits in `_waiting`, by stream; an end stands behind the bytes.

    `is_over`: it is lost, or the other end has broken the protocol.
    """

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
        except H2Error as error:
            self._break_off(error)
            return
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self.over("the connection is gone")

    def over(self, why: str) -> None:
        """Nothing comes any more. Whoever waits for something on the connection hears so."""
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

    def _break_off(self, error: H2Error) -> None:
        """The other end has broken the protocol: it gets the GOAWAY that hyper-h2 has made, and the end."""
        self.flush()
        self.over(f"the other end has broken the protocol: {error!r}")
        if self.transport is not None:
            self.transport.close()

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
