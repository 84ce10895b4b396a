"""Bodies that a client sends: a first piece goes at once if there is room, and nothing overtakes what waits."""

from __future__ import annotations

from balancer.http.messages import Fields
from balancer.http2.uploads import Uploads


class Wire:
    """Takes what is sent, as long as its window has room."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.sent: list[tuple[int, bytes, bool]] = []
        self.trailers: list[tuple[int, Fields]] = []

    def room(self, stream: int) -> int:
        return self.window

    def send_piece(self, stream: int, data: bytes, ends: bool) -> None:
        self.window -= len(data)
        self.sent.append((stream, data, ends))

    def send_end(self, stream: int, trailers: Fields) -> None:
        self.trailers.append((stream, trailers))


def test_a_first_piece_goes_at_once_and_takes_room() -> None:
    uploads = Uploads(100)
    assert uploads.goes_at_once(1, 60, True)
    assert uploads.room == 40
    assert not uploads.goes_at_once(3, 60, True), "the connection has no room"


def test_a_first_piece_waits_for_the_window_of_its_stream() -> None:
    uploads = Uploads(100)
    uploads.first_room = 10
    assert not uploads.goes_at_once(1, 11, True)
    assert uploads.goes_at_once(1, 10, True)


def test_a_later_piece_waits_for_its_turn() -> None:
    assert not Uploads(100).goes_at_once(1, 1, False)


def test_while_the_transport_takes_no_bodies_none_goes_at_once() -> None:
    uploads = Uploads(100)
    uploads.begin_turn(True, 100)
    assert not uploads.goes_at_once(1, 1, True)
    uploads.begin_turn(False, 100)
    assert uploads.goes_at_once(1, 1, True)


def test_an_end_needs_no_window_but_overtakes_nothing() -> None:
    uploads = Uploads(0)
    assert uploads.goes_at_once(1, 0, False)
    uploads.keep(1, b"waits", False)
    assert not uploads.goes_at_once(1, 0, False)


def test_what_waits_is_sent_in_turns_with_its_end() -> None:
    uploads, wire = Uploads(0), Wire(100)
    uploads.keep(1, b"one", False)
    uploads.keep(3, b"three", True)
    uploads.keep(1, b"more", True)
    assert (uploads.queued(1), uploads.queued(3), uploads.queued(5), uploads.queued_in_all()) == (7, 5, 0, 12)
    assert uploads.may_send()
    uploads.send(wire, None)
    assert wire.sent == [(1, b"one", False), (3, b"three", True), (1, b"more", True)]
    assert not uploads.may_send()
    assert uploads.queued_in_all() == 0


def test_trailers_go_behind_what_waits() -> None:
    uploads, wire, fields = Uploads(0), Wire(100), ((b"x-sum", b"1"),)
    assert not uploads.end(1, fields), "nothing waits, so they may go at once"
    uploads.keep(1, b"body", False)
    assert uploads.end(1, fields)
    uploads.send(wire, None)
    assert (wire.sent, wire.trailers) == ([(1, b"body", False)], [(1, fields)])


def test_a_stream_that_is_gone_sends_nothing() -> None:
    uploads, wire = Uploads(0), Wire(100)
    uploads.keep(1, b"body", True)
    uploads.forget(1)
    uploads.send(wire, None)
    assert (wire.sent, uploads.queued(1), uploads.may_send()) == ([], 0, False)
