"""Bodies that wait for windows, in turns."""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http2.bodies import OutgoingBodies, OutgoingBody


class Sink:
    """Notes what is sent, within windows."""

    def __init__(self, **windows: int) -> None:
        self.windows = {int(stream[1:]): size for stream, size in windows.items()}
        self.sent: list[tuple[int, int | str]] = []

    def room(self, stream: int) -> int:
        return self.windows[stream]

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        if data:
            self.windows[stream] -= len(data)
            self.sent.append((stream, len(data)))
        if ends:
            self.sent.append((stream, "end" if data else "empty end"))

    def send_end(self, stream: int, trailers: Fields) -> None:
        assert trailers
        self.sent.append((stream, "trailers"))


def body(size: int, *, ends: bool = True, trailers: Fields = ()) -> OutgoingBody:
    made = OutgoingBody()
    made.add(bytes(size), ends)
    made.trailers = trailers
    return made


def test_streams_take_turns_of_a_frame_and_keep_what_has_no_room() -> None:
    bodies, sink = OutgoingBodies(), Sink(s1=20_000, s3=50_000)
    first, second = body(40_000), body(20_000)
    bodies.wait(1, first)
    bodies.wait(3, second)
    assert bodies.send(sink) == [3]
    assert sink.sent == [(1, 16_384), (3, 16_384), (1, 3616), (3, 3616), (3, "end")]
    assert (first.size, second.size) == (20_000, 0)
    sink.windows[1] = 100_000
    assert bodies.send(sink) == [1]
    assert bodies.send(sink) == []


def test_no_more_is_sent_than_was_asked_for_and_later_pieces_follow_to_the_byte() -> None:
    bodies, sink = OutgoingBodies(), Sink(s1=100_000, s3=100_000)
    for stream in (1, 3):
        bodies.wait(stream, body(40_000))
    assert bodies.send(sink, 0) == []
    assert sink.sent == []
    assert bodies.send(sink, 16_384) == []
    assert sink.sent == [(1, 16_384)]
    assert bodies.send(sink, 16_384) == []
    assert sink.sent == [(1, 16_384), (3, 16_384)]
    assert bodies.send(sink, 100_000) == [1, 3]
    assert sink.windows == {1: 60_000, 3: 60_000}


def test_a_piece_is_taken_in_parts_and_none_is_lost() -> None:
    made = OutgoingBody()
    made.add(b"abcdef", False)
    made.add(b"gh", True)
    assert [made.take(4), made.take(4), made.take(4)] == [b"abcd", b"ef", b"gh"]
    assert (made.size, len(made.pieces)) == (0, 0)


def test_an_end_without_data_and_trailers_need_no_window() -> None:
    bodies, sink = OutgoingBodies(), Sink(s1=0, s3=0, s5=5)
    bodies.wait(1, body(0))
    bodies.wait(3, body(0, trailers=((b"a", b"b"),)))
    bodies.wait(5, body(5, trailers=((b"a", b"b"),)))
    bodies.wait(7, body(0, ends=False))
    assert bodies.send(sink) == [1, 3, 5]
    assert sink.sent == [(1, "empty end"), (3, "trailers"), (5, 5), (5, "trailers")]


def test_a_stream_that_is_gone_sends_no_more() -> None:
    bodies, sink = OutgoingBodies(), Sink(s1=5)
    bodies.wait(1, body(5))
    bodies.forget(1)
    assert bodies.send(sink) == []
    assert sink.sent == []
