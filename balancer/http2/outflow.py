"""The answers on their way to a client: what waits for its windows, and until when. No I/O, no clock."""

from __future__ import annotations

from typing import Protocol

from balancer.http2.client_stream import Http2RequestStream
from balancer.http2.engine import Engine
from balancer.http2.events import CANCEL, NO_ERROR
from balancer.http2.flushing import BYTES_A_WRITE
from balancer.http2.windows import Windows

LAST_WRITE_SECONDS = 60.0
"""How long a client may take to read the last piece of an answer (send stall). Past it, its stream is reset."""

_MANY_BYTES = 64 * 1024  # of one answer that wait to be written: no more is read until they have left


class Writable(Protocol):
    """The transport, as far as answers leave by it."""

    def write(self, data: bytes) -> None: ...


class Outflow:
    """The streams of one connection that have written something.

    `windows` says which of them wait for the client. `last_writes` has answered streams that are still open, and until
    when they may be: their answers leave, or their requests go on.
    """

    __slots__ = ("_engine", "_unread", "last_writes", "windows")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.windows = Windows(engine)
        self._unread: list[int] = []  # answered, while their requests go on
        self.last_writes: dict[int, float] = {}

    def is_watching(self) -> bool:
        """Whether a look at the windows, or `reset_unread`, could find anything."""
        windows = self.windows
        return windows.is_watching() or bool(self._unread)

    def next_limit(self) -> float:
        """When the first of `last_writes` may not be open any more. There must be one."""
        return next(iter(self.last_writes.values()))

    def write(self, transport: Writable, is_stuck: bool, writes: int) -> bool:
        """Writes what the engine has, in so many writes at most. False if the rest has to wait for the next turn."""
        engine = self._engine
        for _ in range(writes):
            data = b"" if is_stuck else engine.take_bytes(BYTES_A_WRITE)
            if data:
                transport.write(data)
            if len(data) < BYTES_A_WRITE:
                return True
        return False

    def wrote(self, stream: Http2RequestStream) -> None:
        """A stream has written a piece of its answer. It pauses once much of it waits."""
        engine, windows = self._engine, self.windows
        windows.wrote(stream)
        if engine.queued(stream.number) >= _MANY_BYTES or stream.reads_little():
            stream.pause()

    def answered(self, stream: Http2RequestStream, now: float) -> None:
        """The request of a stream is over, and its answer is with the engine."""
        windows = self.windows
        windows.forget(stream)
        self.last_writes[stream.number] = now + LAST_WRITE_SECONDS
        if stream.is_answered and not stream.is_whole:
            self._unread.append(stream.number)

    def await_end(self, number: int, now: float) -> None:
        """A stream has begun whose request must end before it counts."""
        self.last_writes[number] = now + LAST_WRITE_SECONDS

    def closed(self, number: int) -> None:
        """The stream is closed, or its request has ended as it must."""
        self.last_writes.pop(number, None)
        if not self.last_writes:
            self.last_writes.clear()  # gives its table back, which an idle connection need not hold

    def forget(self, stream: Http2RequestStream) -> None:
        """The stream is gone."""
        windows = self.windows
        windows.forget(stream)

    def clear(self) -> None:
        """All streams are gone."""
        windows = self.windows
        windows.clear()
        self.last_writes.clear()
        self._unread = []

    def reset_unread(self) -> bool:
        """Ends the streams whose answers have left without the rest of the request (RFC 9113 8.1). Whether it did."""
        if not self._unread:
            return False
        engine = self._engine
        left = [number for number in self._unread if engine.queued(number)]
        for number in self._unread:
            if number not in left:
                engine.reset(number, NO_ERROR)
        has_reset = len(left) < len(self._unread)
        self._unread = left
        return has_reset

    def reset_late(self, now: float) -> None:
        """Ends the streams that are open for too long. The client may read others meanwhile, and those go on."""
        engine = self._engine
        for number in [number for number, until in self.last_writes.items() if until <= now]:
            del self.last_writes[number]
            engine.reset(number, CANCEL)
