"""Request bodies on a connection to an endpoint: whose bytes wait, and which clients are held up by that.

A stream whose window is empty is paused, and holds no other. An endpoint that reads nothing at all pauses all of them.
No I/O, no clock.
"""

from __future__ import annotations

from balancer.http2.endpoint_stream import Http2EndpointStream
from balancer.http2.engine import Engine

_MANY_BYTES = 64 * 1024  # of one body that wait to be written: no more is read until they have left


class Uploads:
    """The streams of one connection that send bodies. `are_paused`: the endpoint reads nothing now."""

    __slots__ = ("_engine", "_stalled", "_streams", "_wrote", "are_paused")

    def __init__(self, engine: Engine, streams: dict[int, Http2EndpointStream]) -> None:
        """`streams` are all that are open on the connection, by number, at any time."""
        self._engine, self._streams = engine, streams
        self._wrote: list[Http2EndpointStream] = []  # in this turn
        self._stalled: dict[int, Http2EndpointStream] = {}  # their bytes wait for the window
        self.are_paused = False

    @property
    def is_watching(self) -> bool:
        """Whether `follow_windows` could find anything."""
        return bool(self._wrote or self._stalled)

    def wrote(self, stream: Http2EndpointStream) -> None:
        """Bytes of a body are with the engine. If they are many, no more may come before they have left.

        The end of the turn would be too late: the loop reads up to 32 pieces of one client in one turn.
        """
        self._wrote.append(stream)
        if not stream.writing_paused and self._engine.queued(stream.number) >= _MANY_BYTES:
            stream.pause()

    def pause(self) -> None:
        """The endpoint does not read."""
        self.are_paused = True
        for stream in tuple(self._streams.values()):
            stream.pause()

    def resume(self) -> None:
        """The endpoint reads again: all of the streams go on, unless their windows are empty."""
        self.are_paused = False
        self._wrote += self._streams.values()
        self.follow_windows()

    def follow_windows(self) -> None:
        """Pauses streams whose bytes the endpoint does not take now, and resumes others. After `Engine.take_bytes`."""
        wrote, self._wrote = self._wrote, []
        engine, streams, stalled = self._engine, self._streams, self._stalled
        if not stalled and not self.are_paused and not engine.queued_in_all():  # the usual case: all has left
            for stream in wrote:
                stream.unpause()
            return
        for stream in wrote:
            if stream.number in streams:
                stalled[stream.number] = stream
        freed = [stream for number, stream in stalled.items() if not engine.queued(number)]
        for stream in freed:
            del stalled[stream.number]
        for stream in tuple(stalled.values()):
            stream.pause()
        if not self.are_paused:
            for stream in freed:
                stream.unpause()

    def forget(self, number: int) -> None:
        """The stream is gone."""
        self._stalled.pop(number, None)

    def clear(self) -> None:
        """All streams are gone."""
        self._stalled.clear()
        self._wrote.clear()
