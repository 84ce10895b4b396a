"""Which streams of a connection wait for the peer to take bytes, and which may go on. No I/O, no clock.

Both directions ask this: answers to a client, and bodies of requests to an endpoint. A stream whose window is empty
waits, and holds up no other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from balancer.http2.engine import Engine


class WindowedStream(Protocol):
    """A stream that sends a body. `writing_paused`: whoever fills it was told to wait."""

    number: int
    writing_paused: bool

    def pause(self) -> None:
        """What was written does not leave."""

    def unpause(self) -> None:
        """All that was written has left."""


class Windows:
    """The streams of one connection that have written a part of a body.

    `has_room`: the peer gave room since the last look, so a stream that waits may be free.
    """

    __slots__ = ("_engine", "_waiting", "_wrote", "has_room")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wrote: list[WindowedStream] = []  # since the last look
        self._waiting: dict[WindowedStream, None] = {}  # an empty one is a third of an empty set
        self.has_room = False

    def is_watching(self) -> bool:
        """Whether a look could find anything."""
        return bool(self._wrote or self._waiting)

    def wrote(self, stream: WindowedStream) -> None:
        """`stream` has written a part of its body."""
        self._wrote.append(stream)

    def all_wait(self, streams: Iterable[WindowedStream]) -> None:
        """The peer reads again: the next look frees all of these streams whose windows are not empty."""
        self._waiting.update(dict.fromkeys(streams))
        self.has_room = True

    def forget(self, stream: WindowedStream) -> None:
        """The stream is gone, or its body is with the engine to the end."""
        if self._waiting:
            self._waiting.pop(stream, None)

    def clear(self) -> None:
        """All streams are gone."""
        self._waiting.clear()
        self._wrote = []

    def sort(self, is_stuck: bool) -> tuple[list[WindowedStream], list[WindowedStream]]:
        """The streams that have to wait from now on, and those that need not any more, right after `take_bytes`.

        `is_stuck`: the peer reads nothing at all, so no stream is freed.
        """
        wrote = self._wrote
        self._wrote = []
        engine, waiting = self._engine, self._waiting
        # Mostly all has left, and then none of them is asked.
        fresh = [stream for stream in wrote if engine.queued(stream.number)] if engine.queued_in_all() else []
        freed = [] if is_stuck else [each for each in wrote if each.writing_paused and each not in fresh]
        if self.has_room and not is_stuck:
            self.has_room = False
            left = [stream for stream in waiting if not engine.queued(stream.number)]
            for stream in left:
                del waiting[stream]
            freed += left
        if fresh:
            waiting.update(dict.fromkeys(fresh))
        return fresh, freed
