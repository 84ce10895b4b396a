"""A stream of hyper-h2 is over when both sides have sent everything, in either order."""

from __future__ import annotations

from balancer.http2.h2_streams import H2Stream, H2Streams
from tests.unit.balancer.http2.test_bodies import Sink


def streams(*numbers: int) -> H2Streams:
    made = H2Streams()
    for number in numbers:
        made.begin(number, H2Stream())
    return made


def test_a_stream_is_over_once_both_sides_are() -> None:
    made = streams(1, 3)
    assert not made.is_over_when_sent(1)
    assert made.is_over_when_heard(1)
    assert not made.is_over_when_heard(3)
    assert made.is_over_when_sent(3)


def test_a_body_that_was_sent_takes_no_more_and_ends_the_stream_that_was_heard() -> None:
    made, sink = streams(1, 3), Sink(s1=10, s3=100)
    for number in (1, 3):
        made.is_over_when_heard(number)
        stream = made.sendable(number)
        assert stream is not None
        stream.body.add(bytes(20), ends=True)
        made.wait(number)
        assert made.sendable(number) is None
    assert (made.queued(1), made.queued(5), made.queued_in_all()) == (20, 0, 40)
    assert made.send(sink, None) == [3]
    assert made[3].is_done
    assert made.queued_in_all() == 10


def test_what_is_closed_sends_nothing_and_is_closed_once() -> None:
    made, sink = streams(1), Sink(s1=100)
    made[1].body.add(b"x", ends=True)
    made.wait(1)
    assert 1 in made
    assert made.close(1)
    assert not made.close(1)
    assert (len(made), made.get(1), made.sendable(1)) == (0, None, None)
    assert made.send(sink, None) == []
    assert sink.sent == []


def test_a_goaway_refuses_the_streams_above_its_last() -> None:
    assert streams(1, 3, 5).above(1) == [3, 5]
