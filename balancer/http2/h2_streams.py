"""The streams of a connection of hyper-h2: what of their bodies is left to send, and when each is over."""

from __future__ import annotations

from balancer.http2.bodies import BodySink, OutgoingBodies, OutgoingBody


class H2Stream:
    """A stream that was reported. `is_done`: all of ours was sent. `is_heard`: all of the peer's came."""

    __slots__ = ("answered", "bodiless", "body", "is_done", "is_heard")

    def __init__(self, *, is_done: bool = False, is_heard: bool = False, bodiless: bool = False) -> None:
        """`bodiless`: data of the peer is wrong, because its head allows none."""
        self.body = OutgoingBody()
        self.answered = False
        self.is_done = is_done
        self.is_heard = is_heard
        self.bodiless = bodiless


class H2Streams:
    """The streams that are open, by number."""

    __slots__ = ("_bodies", "_open")

    def __init__(self) -> None:
        self._open: dict[int, H2Stream] = {}
        self._bodies = OutgoingBodies()

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, number: int) -> bool:
        return number in self._open

    def __getitem__(self, number: int) -> H2Stream:
        return self._open[number]

    def get(self, number: int) -> H2Stream | None:
        """The stream, if it is open."""
        return self._open.get(number)

    def begin(self, number: int, stream: H2Stream) -> None:
        """The stream is open from now on."""
        self._open[number] = stream

    def above(self, last: int) -> list[int]:
        """The numbers of the streams that a GOAWAY with this last stream refuses."""
        return [number for number in self._open if number > last]

    def sendable(self, number: int) -> H2Stream | None:
        """The stream, if it may get more of its body."""
        stream = self._open.get(number)
        return None if stream is None or stream.body.ends or stream.is_done else stream

    def wait(self, number: int) -> None:
        """The body of the stream has something to send."""
        self._bodies.wait(number, self._open[number].body)

    def send(self, sink: BodySink, most: int | None) -> list[int]:
        """Sends what the windows allow; see `OutgoingBodies.send`. Returns the streams that are over by that."""
        return [number for number in self._bodies.send(sink, most) if self.is_over_when_sent(number)]

    def is_over_when_sent(self, number: int) -> bool:
        """All of ours was sent. Returns whether the stream is over by that."""
        stream = self._open[number]
        stream.is_done = True
        return stream.is_heard

    def is_over_when_heard(self, number: int) -> bool:
        """All of the peer's has come. Returns whether the stream is over by that."""
        stream = self._open[number]
        stream.is_heard = True
        return stream.is_done

    def close(self, number: int) -> bool:
        """Forgets the stream. Returns whether it was open."""
        self._bodies.forget(number)
        return self._open.pop(number, None) is not None

    def queued(self, number: int) -> int:
        """The bytes of the stream's body that wait; 0 if it is not open."""
        stream = self._open.get(number)
        return 0 if stream is None else stream.body.size

    def queued_in_all(self) -> int:
        """The bytes of all bodies that wait."""
        return sum(stream.body.size for stream in self._open.values())
