"""Bodies that wait for the window of the peer, for hyper-h2, which keeps none. Streams send in turns of a frame."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from balancer.http.messages import Fields
from balancer.http2.splitting import FRAME_BYTES


class BodySink(Protocol):
    """What a connection of hyper-h2 offers for them."""

    max_outbound_frame_size: int

    def local_flow_control_window(self, stream_id: int) -> int:
        """How many bytes may be sent now."""

    def send_data(self, stream_id: int, data: bytes, end_stream: bool = ...) -> None:
        """Sends one frame."""

    def send_headers(self, stream_id: int, headers: Fields, *, end_stream: bool = ...) -> None:
        """Sends trailers."""

    def end_stream(self, stream_id: int) -> None:
        """Sends an empty frame that ends the stream."""


class OutgoingBody:
    """The rest of the body of one stream. `ends`: with what is here, and `trailers` behind it, it is whole."""

    __slots__ = ("ends", "pieces", "size", "trailers")

    def __init__(self) -> None:
        self.pieces: deque[bytes] = deque()
        self.size = 0
        self.trailers: Fields = ()
        self.ends = False

    def add(self, data: bytes) -> None:
        """A further piece, which is not empty."""
        self.pieces.append(data)
        self.size += len(data)

    def take(self, most: int) -> bytes:
        """At most so many bytes of the next piece."""
        piece = self.pieces.popleft()
        if len(piece) > most:
            self.pieces.appendleft(piece[most:])
            piece = piece[:most]
        self.size -= len(piece)
        return piece


class OutgoingBodies:
    """The bodies of one connection that have something to send."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: dict[int, OutgoingBody] = {}

    def wait(self, stream: int, body: OutgoingBody) -> None:
        """`body` has something to send."""
        self._waiting[stream] = body

    def forget(self, stream: int) -> None:
        """The stream is gone."""
        self._waiting.pop(stream, None)

    def send(self, sink: BodySink) -> list[int]:
        """Sends what the windows allow. The streams whose bodies are whole by that."""
        whole: list[int] = []
        moving = True
        while moving and self._waiting:
            moving = False
            for stream, body in list(self._waiting.items()):
                if not (moved := _send_piece(sink, stream, body)) and body.pieces:
                    continue
                moving = moving or moved
                if not body.pieces:
                    del self._waiting[stream]
                    if body.ends:
                        whole.append(stream)
        return whole


def _send_piece(sink: BodySink, stream: int, body: OutgoingBody) -> bool:
    """Sends a frame of the body, and its end behind the last. Whether something was sent."""
    piece = b""
    if body.pieces:
        room = min(sink.local_flow_control_window(stream), FRAME_BYTES, sink.max_outbound_frame_size)
        if room <= 0:
            return False
        piece = body.take(room)
    is_last = body.ends and not body.pieces
    if piece:
        sink.send_data(stream, piece, end_stream=is_last and not body.trailers)
    if is_last and body.trailers:
        sink.send_headers(stream, body.trailers, end_stream=True)
    elif is_last and not piece:
        sink.end_stream(stream)
    return True
