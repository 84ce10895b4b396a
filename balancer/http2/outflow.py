"""What leaves on a client's connection: which streams wait for window, and which answers are on their way.

A stream whose window is empty is paused, and holds no other. No I/O, no clock.
"""

from __future__ import annotations

from balancer.http2.client_stream import Http2RequestStream
from balancer.http2.engine import CANCEL, NO_ERROR, Engine

LAST_WRITE_SECONDS = 60.0
"""How long a client may take to read the last piece of an answer (send stall). Past it, its stream is reset."""


class Outflow:
    """The streams of one connection that have written something.

    `last_writes` has answered streams that are still open, and until when they may be: their answers leave, or their
    requests go on. `has_room`: the client gave room since the last look.
    """

    __slots__ = ("_engine", "_stalled", "_unread", "_wrote", "has_room", "last_writes")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wrote: list[Http2RequestStream] = []
        self._stalled: dict[Http2RequestStream, None] = {}  # an empty one is a third of an empty set
        self._unread: list[int] = []  # answered, while their requests go on
        self.last_writes: dict[int, float] = {}
        self.has_room = False

    def is_watching(self) -> bool:
        """Whether a look could find anything."""
        return bool(self._wrote or self._stalled or self._unread)

    def next_limit(self) -> float:
        """When the first of `last_writes` may not be open any more. There must be one."""
        return next(iter(self.last_writes.values()))

    def wrote(self, stream: Http2RequestStream) -> None:
        """`stream` has written a part of its body."""
        self._wrote.append(stream)

    def all_wait(self, streams: list[Http2RequestStream]) -> None:
        """The client reads again: all of its streams go on, unless their windows are empty."""
        self._stalled.update(dict.fromkeys(streams))
        self.has_room = True

    def answered(self, stream: Http2RequestStream, now: float) -> None:
        """The request of a stream is over, and its answer is with the engine."""
        if self._stalled:
            self._stalled.pop(stream, None)
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
        self._stalled.pop(stream, None)

    def clear(self) -> None:
        """All streams are gone."""
        self._stalled.clear()
        self.last_writes.clear()
        self._wrote, self._unread = [], []

    def sort(self, is_stuck: bool) -> tuple[list[Http2RequestStream], list[Http2RequestStream]]:
        """The streams that have to wait now, and those that need not any more, right after `Engine.take_bytes`.

        `is_stuck`: the client reads nothing at all, so nobody is freed.
        """
        wrote, self._wrote = self._wrote, []
        engine, stalled = self._engine, self._stalled
        waiting = [stream for stream in wrote if engine.queued(stream.number)]
        freed = [] if is_stuck else [each for each in wrote if each.writing_paused and each not in waiting]
        if self.has_room and not is_stuck:
            self.has_room = False
            left = [stream for stream in stalled if not engine.queued(stream.number)]
            for stream in left:
                del stalled[stream]
            freed += left
        stalled.update(dict.fromkeys(waiting))
        return waiting, freed

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
