"""Bodies that a client sends over nghttp2: which piece may go to the library at once, and which waits for its turn.

nghttp2 would send all that it keeps of one stream before it turns to the next.
"""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http2.bodies import BodySink, OutgoingBodies, OutgoingBody


class Uploads:
    """The bodies of one connection that are under way.

    `room` is what is left of the window of the connection, and `first_room` the window of a new stream.
    """

    __slots__ = ("_bodies", "_is_held", "_kept", "first_room", "room")

    def __init__(self, window: int) -> None:
        """`window` is that of the connection and of a new stream, unless the peer says otherwise."""
        self.room = window
        self.first_room = window
        self._is_held = False  # no bodies are taken now
        self._kept: dict[int, OutgoingBody] = {}
        self._bodies = OutgoingBodies()

    def goes_at_once(self, stream: int, size: int, is_first: bool) -> bool:
        """Whether so many bytes of a stream need not wait: the first, if both windows have room. They count then."""
        if size == 0:
            return stream not in self._kept  # an end needs no window
        if not is_first or self._is_held or size > self.room or size > self.first_room:
            return False
        self.room -= size
        return True

    def keep(self, stream: int, data: bytes, ends: bool) -> None:
        """A piece waits for its turn."""
        body = self._kept.setdefault(stream, OutgoingBody())
        body.add(data, ends)
        bodies = self._bodies
        bodies.wait(stream, body)

    def end(self, stream: int, fields: Fields) -> bool:
        """Puts trailers behind what waits. Returns whether something does."""
        body = self._kept.get(stream)
        if body is None:
            return False
        body.trailers = fields
        body.ends = True
        bodies = self._bodies
        bodies.wait(stream, body)
        return True

    def may_send(self) -> bool:
        """Whether a body waits for its turn."""
        return bool(self._bodies)

    def begin_turn(self, is_held: bool, window: int) -> None:
        """`is_held`: the transport takes no bodies now. `window` is that of the connection."""
        self._is_held = is_held
        self.room = window

    def send(self, sink: BodySink, most: int | None) -> None:
        """Sends what the windows allow, in turns, up to the frame that reaches `most` bytes."""
        bodies = self._bodies
        bodies.send(sink, most)

    def queued(self, stream: int) -> int:
        """The bytes of a stream that wait here."""
        body = self._kept.get(stream) if self._kept else None
        return 0 if body is None else body.size

    def queued_in_all(self) -> int:
        """The bytes of all streams that wait here."""
        return sum([body.size for body in self._kept.values()]) if self._kept else 0

    def forget(self, stream: int) -> None:
        """The stream is gone."""
        if self._kept:
            self._kept.pop(stream, None)
            bodies = self._bodies
            bodies.forget(stream)
