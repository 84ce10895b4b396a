"""A connection to an endpoint over HTTP/2: an asyncio protocol that carries the streams of many requests.

Endpoints are not trusted: what breaks the protocol ends the connection, what breaks one message ends its stream. A
connection that is silent under its requests gets no further ones, and PING tells whether its peer is still there. It
must not know routes, clients or retries.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol, cast

from balancer.errors import ErrorKind
from balancer.http2.endpoint_stream import Http2EndpointStream
from balancer.http2.engine import (
    CLOSED,
    DATA,
    FAULT,
    GOAWAY,
    HEAD,
    INTERIM,
    NO_ERROR,
    PING_ACK,
    REFUSED_STREAM,
    RESET,
    SETTINGS,
    TRAILERS,
    Engine,
    EngineLimits,
    Event,
    joined,
)
from balancer.http2.flushing import Flushed, Flusher
from balancer.http2.responses import ResponseReader
from balancer.http2.uploads import Uploads
from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from balancer.runtime.reading import PIECE_BYTES, ReadsPieces

_LOG = logging.getLogger(__name__)

ENDPOINT_LIMITS = EngineLimits()
"""What an endpoint may do. The window of the connection is larger than those of all its streams: responses that their
clients do not read hold up no other."""

STREAMS_MOST = 100
"""The most streams of a connection, whatever its endpoint takes: RFC 9113 6.5.2 wants no fewer, and one connection is
read by one turn of the loop."""

# Servers of gRPC end a connection with more than two PINGs in 5 minutes (grpc/doc/keepalive.md).
_PING_AFTER_SECONDS = 330.0
_PING_ANSWER_SECONDS = 20.0
_PING = b"zonal..."
_OF_STREAMS = (TRAILERS, INTERIM, RESET)
# Silence for so long, while a request that is now given up waited, means that the peer may be gone.
_SILENT_SECONDS = 1.0
_GOODBYE_SECONDS = 1.0  # how long a peer may take to read what is left to be written at the end
_WRITE_HIGH, _WRITE_LOW = 64 * 1024, 16 * 1024


class Sharer(Protocol):
    """What shares out the streams of connections to one endpoint."""

    def ready(self, connection: Http2EndpointConnection) -> None:
        """The endpoint's settings came; called once."""

    def freed(self, connection: Http2EndpointConnection) -> None:
        """A stream has ended."""

    def lost(self, connection: Http2EndpointConnection) -> None:
        """`connection` is closed; called once."""


class Http2EndpointConnection(ReadsPieces, Flushed):
    """One connection to an endpoint.

    `streams` are those that are in use. `ending`: no further stream may begin. `limit` is how many streams the endpoint
    takes at once. `idle_since` is a time of the loop. `secure`: it is spoken to over TLS.
    `ping_after_seconds` is how long it may be silent under its streams, and `ping_answer_seconds` how long after that.
    `silent_seconds` is how long it must have been silent to be left alone once a request is given up.
    """

    __slots__ = (
        "_deadlines",
        "_engine",
        "_flusher",
        "_heard_at",
        "_last_out",
        "_loop",
        "_most",
        "_pinged",
        "_sharer",
        "_streams",
        "_transport",
        "_uploads",
        "closed",
        "deadline",
        "ending",
        "idle_since",
        "is_idle",
        "is_ready",
        "limit",
        "next_look",
        "ping_after_seconds",
        "ping_answer_seconds",
        "place",
        "reader",
        "requests",
        "secure",
        "silent_seconds",
        "streams",
    )

    def __init__(self, sharer: Sharer, engine: Engine, flusher: Flusher, deadlines: Deadlines, secure: bool) -> None:
        self._sharer, self._engine, self._flusher, self._deadlines = sharer, engine, flusher, deadlines
        self.secure, self.reader = secure, ResponseReader()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._streams: dict[int, Http2EndpointStream] = {}
        self._uploads = Uploads(engine, self._streams)
        self.is_dirty = self._pinged = False
        self._heard_at = 0.0
        self._last_out = 0  # the last stream whose head was written
        self.streams = self.requests = 0
        self.limit = self._most = 1
        self.silent_seconds = _SILENT_SECONDS
        self.ping_after_seconds, self.ping_answer_seconds = _PING_AFTER_SECONDS, _PING_ANSWER_SECONDS
        self.closed = self.ending = self.is_idle = self.is_ready = False
        self.idle_since = 0.0
        self.deadline = self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    # The side of the pool.

    @property
    def room(self) -> int:
        """How many further streams may begin."""
        return 0 if self.ending or self.closed else self.limit - self.streams

    def lease(self) -> Http2EndpointStream:
        """A stream for one request; there must be room."""
        self.streams += 1
        self.requests += 1
        if self.streams == 1:
            self.deadline = self._loop.time() + self.ping_after_seconds
            if self.deadline < self.next_look:
                self._deadlines.insert(self)
        return Http2EndpointStream(self, self._engine, self.requests > 1)

    def end_soon(self) -> None:
        """Begin no further stream, and close the connection once it has none."""
        self.ending = True
        if not self.streams:
            self.end()

    def end(self) -> None:
        """Say goodbye and close the connection, which has no streams. A peer that does not read it is cut."""
        if self._transport is not None and not self._transport.is_closing():
            self._engine.goaway(NO_ERROR)
            self.flush()
            self._transport.close()
            self._deadlines.arm(self, self._loop.time() + _GOODBYE_SECONDS)

    def abort(self) -> None:
        """Cut the connection."""
        self.ending = True
        if self._transport is not None and not self.closed:
            self._transport.abort()

    def expire(self) -> None:
        """Idle for too long, silent for too long under its streams, or not to be closed in peace."""
        now = self._loop.time()
        if self._transport is not None and self._transport.is_closing():
            self.abort()
        elif not self.streams:
            self.end_soon()
        elif self._pinged:
            self._fail_all(ErrorKind.ENDPOINT_TIMEOUT)
            self.abort()
        elif now - self._heard_at < self.ping_after_seconds:
            self._deadlines.arm(self, self._heard_at + self.ping_after_seconds)
        else:
            self._pinged = True
            self._engine.ping(_PING)
            self.flush()
            self._deadlines.arm(self, now + self.ping_answer_seconds)

    # The side of the streams.

    def opened(self, stream: Http2EndpointStream, number: int) -> None:
        """The head of a request is queued under this number."""
        self._streams[number] = stream
        self.mark()

    @property
    def writing_paused(self) -> bool:
        """The endpoint reads nothing now."""
        return self._uploads.are_paused

    def wrote(self, stream: Http2EndpointStream) -> None:
        """Bytes of a body are queued."""
        self._uploads.wrote(stream)
        self.mark()

    def mark(self) -> None:
        """Something is queued, which is written at the end of this turn."""
        if not self.is_dirty:
            self._flusher.add(self)

    def unused(self) -> None:
        """A stream that was leased has ended before it began."""
        self.streams -= 1
        self._sharer.freed(self)

    def now(self) -> float:
        """The time of the loop, in seconds."""
        return self._loop.time()

    def given_up(self, began_at: float) -> None:
        """The request of a stream that began then is not wanted any more; its response may never have begun."""
        if self._loop.time() - max(began_at, self._heard_at) >= self.silent_seconds:
            self.ending = True

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        transport.set_write_buffer_limits(high=_WRITE_HIGH, low=_WRITE_LOW)
        self._transport = transport
        self._heard_at = self._loop.time()
        self.flush()

    def data_received(self, data: bytes) -> None:
        self._heard_at = now = self._loop.time()
        engine = self._engine
        self._take(engine.receive(data, now))
        if engine.has_bytes() or self._uploads.is_watching:
            self.mark()

    def flush(self) -> None:
        """Write what is queued; of bodies, as much as the endpoint reads."""
        transport, uploads = self._transport, self._uploads
        if transport is None or transport.is_closing():
            return
        while data := self._engine.take_bytes(0 if uploads.are_paused else PIECE_BYTES):
            transport.write(data)
            if len(data) < PIECE_BYTES:
                break
        if self._streams:
            self._last_out = next(reversed(self._streams))
        if events := self._engine.take_events():
            self._take(events)
        if uploads.is_watching:
            uploads.follow_windows()

    def eof_received(self) -> bool:
        self.ending = True
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = self.ending = True
        self._fail_all(ErrorKind.ENDPOINT_CLOSED)
        self._sharer.lost(self)

    def pause_writing(self) -> None:
        self._uploads.pause()

    def resume_writing(self) -> None:
        self._uploads.resume()
        self.mark()

    # What comes.

    def _take(self, events: list[Event]) -> None:
        at, count = 0, len(events)
        while at < count:
            event = events[at]
            at += 1
            kind, number = event[0], event[1]
            if kind == DATA:
                at = self._take_data(events, at)
            elif kind == HEAD:
                at = self._take_head(events, at)
            elif kind == CLOSED:
                self._stream_closed(number, event[2])
            elif kind in _OF_STREAMS:
                self._take_of_stream(kind, event)
            else:
                self._take_of_connection(kind, event)

    def _take_data(self, events: list[Event], at: int) -> int:
        """Hands over the bytes of a stream that came together, as one piece. Returns where the next event is."""
        data, ends, at = joined(events, at)
        number = events[at - 1][1]
        stream = self._streams.get(number)
        if stream is None:
            self._engine.received(number, len(data))
        else:
            _guarded(stream, stream.data_came, data, ends)
        return at

    def _take_head(self, events: list[Event], at: int) -> int:
        """Hands over a head with the body and the trailers that came with it. Returns where the next event is."""
        _, number, fields, ends = events[at - 1]
        stream = self._streams.get(number)
        if stream is None:
            return at
        is_bodiless, data, trailers = ends, b"", () if ends else None
        if not ends and at < len(events) and events[at][0] == DATA and events[at][1] == number:
            data, ends, at = joined(events, at + 1)
            if ends:
                trailers = ()
            elif at < len(events) and events[at][0] == TRAILERS and events[at][1] == number:
                trailers = events[at][2]
                at += 1
        _guarded(stream, stream.head_came, fields, is_bodiless, data, trailers)
        return at

    def _take_of_stream(self, kind: int, event: Event) -> None:
        stream = self._streams.get(event[1])
        if stream is None:
            return
        if kind == TRAILERS:
            _guarded(stream, stream.trailers_came, event[2])
        elif kind == INTERIM:
            _guarded(stream, stream.interim_came, event[2])
        elif kind == RESET:
            stream.was_reset = True

    def _take_of_connection(self, kind: int, event: Event) -> None:
        if kind == SETTINGS:
            self.limit = self._most = min(self._engine.peer_max_streams, STREAMS_MOST)
            if not self.is_ready:
                self.is_ready = True
                self._sharer.ready(self)
        elif kind == GOAWAY:
            self.end_soon()
        elif kind == PING_ACK:
            self._pinged = False
            self._deadlines.arm(self, self._heard_at + self.ping_after_seconds)
        elif kind == FAULT:
            self._fail_all(ErrorKind.INVALID_RESPONSE if event[2] else ErrorKind.ENDPOINT_CLOSED)
            self.end()

    def _stream_closed(self, number: int, code: int) -> None:
        stream = self._streams.pop(number, None)
        if stream is None:
            return
        self._uploads.forget(number)
        self.streams -= 1
        if code == REFUSED_STREAM:
            self.limit = max(self.streams, 1)  # it takes no more at once, for now
        elif self.limit < self._most:
            self.limit += 1
        _guarded(stream, stream.closed_with, code)
        self._sharer.freed(self)

    def _fail_all(self, kind: ErrorKind) -> None:
        """Every stream ends. Those of which nothing was written were not processed."""
        streams = self._streams.copy()
        self._streams.clear()
        self._uploads.clear()
        self.streams -= len(streams)
        self.ending = True
        for number, stream in streams.items():
            _guarded(stream, stream.fail, kind if number <= self._last_out else ErrorKind.ENDPOINT_REFUSED)


def _guarded(stream: Http2EndpointStream, tell: Callable[..., None], *what: object) -> None:
    """Tells `stream` something. A mistake of ours costs that stream alone."""
    try:
        tell(*what)
    except Exception:
        _LOG.exception("a stream to an endpoint failed")
        stream.break_off()
