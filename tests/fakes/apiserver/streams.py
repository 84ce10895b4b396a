"""One open watch: sends what is queued, bookmarks when due, an end when its time is up, and faults inside the stream.

Responsible for time and order on one connection. It must not know what an event is made of.
"""

from __future__ import annotations

import asyncio
import math
import socket
import struct
from collections import deque

from aiohttp import web

from tests.fakes.apiserver.faults import Fault, Faults
from tests.fakes.apiserver.listing import View
from tests.fakes.apiserver.requests import Call
from tests.fakes.apiserver.statuses import failure
from tests.fakes.apiserver.store import Change, Form, Store
from tests.fakes.apiserver.watching import Opening, Options, bookmark_line, change_line, error_line

_DEFAULT_TIMEOUT_SECONDS = 1800
_LAST_BOOKMARK_SECONDS = 2  # before the timeout, as a real API server has it
_SHORT_SECONDS = 3  # a recorded watch of this timeout ended without a last bookmark
_LINES_AT_ONCE = 100
_DELETED = b'{"type":"DELETED"'
_GARBAGE = b'{"type":"MODIFIED","object":<html>502 Bad Gateway</html>\n'


async def never() -> None:
    """Wait until the connection ends and the server gives the request up with it."""
    await asyncio.Event().wait()


def reset(request: web.BaseRequest) -> None:
    """Close a request's connection with RST."""
    if request.transport is not None:
        linger = struct.pack("ii", 1, 0)
        request.transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        request.transport.abort()


class Stream:
    """A watch from its opening on. `second` is how long one second of the API lasts."""

    def __init__(
        self,
        call: Call,
        view: View,
        opening: Opening,
        *,
        options: Options,
        form: Form,
        store: Store,
        faults: Faults,
        second: float,
        bookmark_seconds: float,
    ) -> None:
        self._call, self._view, self._form, self._store, self._faults = call, view, form, store, faults
        self._queue = deque(opening.lines)
        self._begins_after = opening.version
        self._sent: deque[bytes] = deque(maxlen=_LINES_AT_ONCE)
        self._held: Fault | None = None
        self._let_through = 0
        self._considered: set[Fault] = set()
        self._wake = asyncio.Event()
        self._now = asyncio.get_running_loop().time
        seconds = (options.timeout_seconds or _DEFAULT_TIMEOUT_SECONDS) * second
        self._ends_at = self._now() + (0 if opening.is_over else seconds)
        self._bookmark_every = bookmark_seconds * second
        is_short = 0 < options.timeout_seconds <= _SHORT_SECONDS
        self._last_bookmark = 0.0 if is_short else self._ends_at - _LAST_BOOKMARK_SECONDS * second
        self._next_bookmark = self._following_bookmark() if options.allows_bookmarks else math.inf
        # From here on, and not from when the response has begun: what happens in between belongs to this watch.
        self.close = store.listen(view.resource.kind, self._on_change)

    def wake(self) -> None:
        """Have the stream look at faults and queue again."""
        self._wake.set()

    async def run(self, request: web.BaseRequest, response: web.StreamResponse) -> None:
        """Send until the end. The response must have been prepared, and `close` follows."""
        while await self._step(request, response):
            pass

    def _on_change(self, change: Change) -> None:
        if self._now() >= self._ends_at or change.version <= self._begins_after:
            return
        if line := change_line(change, self._view, self._form):
            self._queue.append(line)
            self._wake.set()

    async def _step(self, request: web.BaseRequest, response: web.StreamResponse) -> bool:
        """Do the one thing that is due; False at the end."""
        if self._next_bookmark <= min(self._now(), self._ends_at):
            self._next_bookmark = self._following_bookmark()
            self._queue.append(bookmark_line(self._view.resource, self._form, self._store.version))
        self._choose_fault()
        held = self._held
        if held is not None and self._let_through >= held.after_events and not held.omit_deleted:
            if not held.cut:
                return await self._carry_out(held, response)
            if self._queue:
                await response.write(self._queue[0][: len(self._queue[0]) // 2])
                reset(request)
                await never()
        elif self._queue:
            await self._send_queued(response)
            return True
        if self._now() >= self._ends_at and self._next_bookmark > self._ends_at:
            return False
        await self._pause()
        return True

    def _choose_fault(self) -> None:
        if self._held is not None and self._held not in self._faults:
            self._held = None
        if self._held is None:
            self._held = self._faults.in_stream(self._call, self._considered)
            self._let_through = 0

    async def _carry_out(self, fault: Fault, response: web.StreamResponse) -> bool:
        """What happens now that enough lines have passed; whether the stream goes on."""
        if fault.stall:
            await never()
        if fault.error_code:
            message = fault.message or f"too old resource version: 1 ({self._store.version})"
            await response.write(error_line(failure(fault.error_code, message)))
        if fault.error_code or fault.end:
            return False
        self._held = None
        await response.write(_GARBAGE if fault.garbage else b"".join(self._sent))
        return True

    async def _send_queued(self, response: web.StreamResponse) -> None:
        count = min(len(self._queue), _LINES_AT_ONCE)
        if self._held is not None and not self._held.omit_deleted:
            count = min(count, self._held.after_events - self._let_through)
        lines = [self._queue.popleft() for _ in range(count)]
        if self._held is not None and self._held.omit_deleted:
            lines = [line for line in lines if not line.startswith(_DELETED)]
        self._let_through += count
        self._sent.extend(lines)
        if lines:
            await response.write(b"".join(lines))

    def _following_bookmark(self) -> float:
        regular = self._now() + self._bookmark_every
        return self._last_bookmark if self._now() < self._last_bookmark < regular else regular

    async def _pause(self) -> None:
        self._wake.clear()
        try:
            async with asyncio.timeout_at(min(self._ends_at, self._next_bookmark)):
                await self._wake.wait()
        except TimeoutError:
            return
