"""Endpoints over HTTP/2 whose faults are those of a connection: lost, closed when idle, taken from slowly or never."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from h2.events import DataReceived, RequestReceived
from h2.exceptions import H2Error
from h2.settings import SettingCodes

from tests.fakes.endpoints import Script
from tests.features.faults.holes import fill
from tests.features.faults.http2_scripts import Http2ScriptedEndpoint, ServerEnd

_WINDOW_MOST = 2**31 - 1  # RFC 9113 6.9.1


class Http2LosableEndpoint(Http2ScriptedEndpoint):
    """Runs its script until `lose`; from then on it is a black hole."""

    def __init__(self, script: Script, *, address: str = "127.0.0.1") -> None:
        super().__init__(script, address=address)
        self._fillers: list[socket.socket] = []

    async def __aenter__(self) -> Http2LosableEndpoint:
        self.ends = set()
        self._listener = socket.socket()
        self._listener.setblocking(False)
        self._listener.bind((self.address, 0))
        self._listener.listen(64)
        self.port = self._listener.getsockname()[1]
        self._taking = asyncio.get_running_loop().create_task(self._take())
        return self

    async def stop(self) -> None:
        await self._accept_no_more()
        for each in (self._listener, *self._fillers):
            each.close()

    async def lose(self) -> None:
        """Answer nothing any more: connections stay open but silent, new ones are never established."""
        await self._accept_no_more()
        self._fillers += fill(self._listener)
        for end in self.ends:
            end.fall_silent()

    async def _accept_no_more(self) -> None:
        self._taking.cancel()
        await asyncio.gather(self._taking, return_exceptions=True)

    async def _take(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            connection, _ = await loop.sock_accept(self._listener)
            await loop.connect_accepted_socket(lambda: ServerEnd(self), connection)


class IdleClosingEndpoint(Http2ScriptedEndpoint):
    """Closes a connection on which nothing has come for `seconds` after an answer; `says_goodbye`: with GOAWAY."""

    def __init__(self, script: Script, *, seconds: float, says_goodbye: bool) -> None:
        super().__init__(script)
        self._seconds, self._says_goodbye = seconds, says_goodbye
        self._timers: dict[ServerEnd, asyncio.TimerHandle] = {}

    def begin(self, end: ServerEnd, number: int, head: bytes) -> asyncio.StreamReader:
        if (timer := self._timers.pop(end, None)) is not None:
            timer.cancel()
        return super().begin(end, number, head)

    def ended(self, end: ServerEnd) -> None:
        if (timer := self._timers.pop(end, None)) is not None:
            timer.cancel()
        self._timers[end] = asyncio.get_running_loop().call_later(self._seconds, self._close, end)

    def _close(self, end: ServerEnd) -> None:
        self._timers.pop(end, None)
        if end.transport is not None:
            if self._says_goodbye and not end.is_over:
                end.h2.close_connection()
                end.flush()
            end.transport.close()


class TakingSlowlyEndpoint(Http2ScriptedEndpoint):
    """Gives back 10 KiB of the window of each stream in a tenth of a second. When `done`, its connections end."""

    def __init__(self, script: Script, done: asyncio.Event) -> None:
        super().__init__(script)
        self.done = done

    def make_end(self) -> ServerEnd:
        return _SlowEnd(self, self.done)


class _SlowEnd(ServerEnd):
    def __init__(self, endpoint: Http2ScriptedEndpoint, done: asyncio.Event) -> None:
        super().__init__(endpoint)
        self._done = done
        self._owed: dict[int, int] = {}
        self._giving = asyncio.get_running_loop().create_task(self._give())

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._giving.cancel()

    def take(self, event: Any) -> None:
        if isinstance(event, DataReceived):
            self._owed[event.stream_id] = self._owed.get(event.stream_id, 0) + event.flow_controlled_length
        else:
            super().take(event)

    async def _give(self) -> None:
        while not self._done.is_set():
            await asyncio.sleep(0.1)
            for stream, owed in tuple(self._owed.items()):
                size = min(owed, 10 * 1024)
                self._owed[stream] -= size
                try:
                    self.h2.acknowledge_received_data(size, stream)
                except H2Error:
                    del self._owed[stream]
            self.flush()
        self.abort()


class StuckEndpoint(Http2ScriptedEndpoint):
    """Grants windows without end, and reads nothing more once a request has come."""

    def make_end(self) -> ServerEnd:
        return _StuckEnd(self)


class _StuckEnd(ServerEnd):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self.h2.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: _WINDOW_MOST})
        self.h2.increment_flow_control_window(_WINDOW_MOST - self.h2.inbound_flow_control_window)
        self.flush()

    def take(self, event: Any) -> None:
        if isinstance(event, RequestReceived):
            self.fall_silent()
