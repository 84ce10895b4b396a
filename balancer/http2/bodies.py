"""Bodies that wait for the window of the peer. Streams send in turns of a frame, so that none uses up the connection's.

hyper-h2 keeps no bodies. nghttp2 does, but a client of it would send one body after the other.
"""

from __future__ import annotations

import sys
from collections import deque
from typing import Protocol

from balancer.http.messages import Fields

FRAME_BYTES = 16_384
"""The most bytes of a turn: every peer takes a frame of that size (RFC 9113 4.2)."""


class BodySink(Protocol):
    """What sends them: an engine."""

    def room(self, stream: int) -> int:
        """How many bytes of the stream may be sent now, by both windows."""

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        """Sends one frame, for which there is room; it may be empty if it `ends`."""

    def send_end(self, stream: int, trailers: Fields) -> None:
        """Sends trailers."""


class OutgoingBody:
    """The rest of the body of one stream. `ends`: with what is here, and `trailers` behind it, it is whole."""

    __slots__ = ("_at", "ends", "pieces", "size", "trailers")

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self._at = 0  # where the rest of the first piece begins
        self.size = 0  # the bytes of all
        self.trailers: Fields = ()
        self.ends = False

    def add(self, data: bytes, ends: bool) -> None:
        """A further piece, which may be empty."""
        if data:
            self.pieces.append(data)
            self.size += len(data)
        self.ends = ends

    def take(self, most: int) -> bytes:
        """At most so many bytes of the next piece."""
        piece, at = self.pieces[0], self._at
        end = at + most
        if end < len(piece):
            self._at = end
        else:
            self.pieces.popleft()
            self._at = 0
        taken = piece[at:end]
        self.size -= len(taken)
        return taken


class OutgoingBodies:
    """The bodies of one connection that have something to send."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, OutgoingBody] = {}  # in the order of their turns

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, stream: int, body: OutgoingBody) -> None:
        """`body` has something to send."""
        self._waiting[stream] = body

    def forget(self, stream: int) -> None:
        """The stream is gone."""
        self._waiting.pop(stream, None)

    def clear(self) -> None:
        """The connection is gone."""
        self._waiting.clear()

    def send(self, sink: BodySink, most: int | None = None) -> list[int]:
        """Sends what the windows allow, up to the frame that reaches `most` bytes. Returns who is whole by that."""
        whole: list[int] = []
        waiting = self._waiting
        left = sys.maxsize if most is None else most
        moving = True
        while moving and waiting and left > 0:
            moving = False
            for stream, body in list(waiting.items()):
                if left <= 0:
                    break
                before = body.size
                if not _send_turn(sink, stream, body):
                    continue
                left -= before - body.size
                del waiting[stream]
                if body.pieces:
                    waiting[stream] = body  # behind all others, now and next time
                    moving = True
                elif body.ends:
                    whole.append(stream)
        return whole


def _send_turn(sink: BodySink, stream: int, body: OutgoingBody) -> bool:
    """Sends a frame of the body, and its end behind the last. Whether there was room."""
    piece = b""
    if body.pieces:
        room = min(sink.room(stream), FRAME_BYTES)
        if room <= 0:
            return False
        piece = body.take(room)
    is_last = body.ends and not body.pieces
    if piece or (is_last and not body.trailers):
        sink.send_piece(stream, piece, is_last and not body.trailers)
    if is_last and body.trailers:
        sink.send_end(stream, body.trailers)
    return True
