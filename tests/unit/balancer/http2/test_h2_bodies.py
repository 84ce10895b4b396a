"""Bodies that wait for windows, in turns."""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http2.h2_bodies import OutgoingBodies, OutgoingBody


class Sink:
    """Notes what is sent, within windows."""

    max_outbound_frame_size = 16_384

    def __init__(self, **windows: int) -> None:
        self.windows = {int(stream[1:]): size for stream, size in windows.items()}
        self.sent: list[tuple[int, int | str]] = []

    def local_flow_control_window(self, stream_id: int) -> int:
        return self.windows[stream_id]

    def send_data(self, stream_id: int, data: bytes, end_stream: bool = False) -> None:
        self.windows[stream_id] -= len(data)
        self.sent.append((stream_id, len(data)))
        if end_stream:
            self.sent.append((stream_id, "end"))

    def send_headers(self, stream_id: int, headers: Fields, *, end_stream: bool = False) -> None:
        assert end_stream
        self.sent.append((stream_id, "trailers"))

    def end_stream(self, stream_id: int) -> None:
        self.sent.append((stream_id, "empty end"))


def body(size: int, *, ends: bool = True, trailers: Fields = ()) -> OutgoingBody:
    made = OutgoingBody()
    if size:
        made.add(bytes(size))
    made.ends, made.trailers = ends, trailers
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
