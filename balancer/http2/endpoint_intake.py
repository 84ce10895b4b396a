"""What comes on a connection to an endpoint: events of the engine become responses, their bodies and their ends.

Must not know the transport, nor routes, clients or retries.
"""

from __future__ import annotations

import logging

from balancer.errors import ErrorKind
from balancer.http.messages import Fields
from balancer.http2.endpoint_stream import EndpointCarrier, Http2EndpointStream
from balancer.http2.engine import Engine
from balancer.http2.events import CANCEL, CLOSED, DATA, HEAD, INTERIM, RESET, TRAILERS, Event, joined

_LOG = logging.getLogger(__name__)


class ResponseCarrier(EndpointCarrier):
    """The connection as its intake sees it."""

    __slots__ = ()

    def take_of_connection(self, event: Event) -> None:
        """An event of the connection itself."""
        raise NotImplementedError

    def stream_closed(self, stream: Http2EndpointStream, code: int) -> None:
        """A stream is gone; the stream itself hears of that next."""
        raise NotImplementedError

    def stream_ended(self) -> None:
        """A stream that was gone has heard of it."""
        raise NotImplementedError


class ResponseIntake:
    """The streams of one connection that are open, in `streams` by number.

    `last_out` is the number of the last one whose head was written.

    The intake does not keep its connection, so no closed connection waits for a search for cycles.
    """

    __slots__ = ("_engine", "last_out", "streams")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.streams: dict[int, Http2EndpointStream] = {}
        self.last_out = 0

    def take(self, events: list[Event], carrier: ResponseCarrier) -> None:
        """What the engine of `carrier` reports, in its order."""
        at, count = 0, len(events)
        while at < count:
            event = events[at]
            at += 1
            kind = event[0]
            if kind == DATA:
                at = self._take_data(events, at)
            elif kind == HEAD:
                at = self._take_head(events, at)
            elif kind == CLOSED:
                self._take_closed(event[1], event[2], carrier)
            elif kind in (TRAILERS, INTERIM, RESET):
                self._take_of_stream(kind, event)
            else:
                carrier.take_of_connection(event)

    def _take_data(self, events: list[Event], at: int) -> int:
        """Hands over the bytes of a stream that came together, as one piece. Returns where the next event is."""
        event = events[at - 1]
        number, data, ends = event[1], event[2], event[3]
        if _follows(events, at, DATA, number):
            data, ends, at = joined(events, at)
        stream = self.streams.get(number)
        if stream is None:
            engine = self._engine
            engine.received(number, len(data))
            return at
        try:
            stream.data_came(data, ends)
        except Exception:
            _failed(stream)
        return at

    def _take_head(self, events: list[Event], at: int) -> int:
        """Hands over a head with the body and the trailers that came with it. Returns where the next event is."""
        event = events[at - 1]
        number, fields, ends = event[1], event[2], event[3]
        stream = self.streams.get(number)
        if stream is None:
            return at
        is_bodiless, data = ends, b""
        trailers: Fields | None = () if ends else None
        if not ends and _follows(events, at, DATA, number):
            data, ends, at = joined(events, at + 1)
            if ends:
                trailers = ()
            elif _follows(events, at, TRAILERS, number):
                trailers = events[at][2]
                at += 1
        try:
            stream.head_came(fields, is_bodiless, data, trailers)
        except Exception:
            _failed(stream)
        return at

    def _take_of_stream(self, kind: int, event: Event) -> None:
        stream = self.streams.get(event[1])
        if stream is None:
            return
        try:
            if kind == TRAILERS:
                stream.trailers_came(event[2])
            elif kind == INTERIM:
                stream.interim_came(event[2])
            else:
                stream.was_reset = True
        except Exception:
            _failed(stream)

    def _take_closed(self, number: int, code: int, carrier: ResponseCarrier) -> None:
        stream = self.streams.pop(number, None)
        if stream is None:
            return
        carrier.stream_closed(stream, code)
        try:
            stream.closed_with(code)
        except Exception:
            _failed(stream)
        carrier.stream_ended()

    def note_written(self) -> None:
        """All that is queued was written, so the endpoint may have seen every stream."""
        if self.streams:
            self.last_out = next(reversed(self.streams))

    def withdraw(self, most: int, carrier: ResponseCarrier) -> None:
        """Ends the newest streams, `most` at most, whose heads have not left. They were not processed."""
        engine = self._engine
        for number in list(reversed(self.streams))[:most]:
            if not engine.withdraw(number):
                return
            stream = self.streams.pop(number)
            carrier.stream_closed(stream, CANCEL)
            try:
                stream.fail(ErrorKind.ENDPOINT_REFUSED)
            except Exception:
                _failed(stream)
            carrier.stream_ended()

    def fail_all(self, kind: ErrorKind) -> None:
        """Every stream ends. Those of which nothing was written were not processed."""
        streams = self.streams.copy()
        self.streams.clear()
        for number, stream in streams.items():
            try:
                stream.fail(kind if number <= self.last_out else ErrorKind.ENDPOINT_REFUSED)
            except Exception:
                _failed(stream)


def _follows(events: list[Event], at: int, kind: int, number: int) -> bool:
    """Whether the event at this place is one of that kind, of that stream."""
    return at < len(events) and events[at][0] == kind and events[at][1] == number


def _failed(stream: Http2EndpointStream) -> None:
    """Notes an unexpected exception. A mistake of ours costs its stream alone."""
    _LOG.exception("a stream to an endpoint failed")
    stream.break_off()
