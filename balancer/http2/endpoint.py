"""A connection to an endpoint over HTTP/2: an asyncio protocol that carries the streams of many requests.

Endpoints are not trusted: what breaks the protocol ends the connection, what breaks one message ends its stream. A
connection that is silent under its requests gets no further ones, and PING tells whether its peer is still there. It
must not know routes, clients or retries.
"""

from __future__ import annotations

import asyncio
from typing import Protocol, cast

from balancer.errors import ErrorKind
from balancer.http2.endpoint_intake import ResponseCarrier, ResponseIntake
from balancer.http2.endpoint_stream import Http2EndpointStream
from balancer.http2.engine import Engine
from balancer.http2.events import (
    FAULT,
    GOAWAY,
    NO_ERROR,
    REFUSED_STREAM,
    SETTINGS,
    EngineLimits,
    Event,
)
from balancer.http2.flushing import Flusher
from balancer.http2.pulse import Pulse
from balancer.http2.responses import ResponseReader
from balancer.http2.windows import Windows
from balancer.runtime import calls
from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from balancer.runtime.reading import MEMORY, PIECE_BYTES, ReadsPieces

ENDPOINT_LIMITS = EngineLimits()
"""What an endpoint may do. The window of the connection is larger than those of all its streams together, so responses
that their clients do not read hold up no other."""

STREAMS_MOST = 100
"""The most streams of a connection, whatever its endpoint takes: RFC 9113 6.5.2 wants no fewer, and one connection is
read by one turn of the loop."""

_PING = b"zonal..."
_GOODBYE_SECONDS = 1.0  # how long a peer may take to read what is left to be written at the end
_WRITE_HIGH, _WRITE_LOW = 64 * 1024, 16 * 1024
_MANY_BYTES = 64 * 1024  # when so many of one body wait to be written, its client is read no further until they left

# The states of a connection. A later one never goes back to an earlier one.
COMING = 0  # the settings of the endpoint have not come
READY = 1  # streams may begin
ENDING = 2  # no further stream begins; the connection closes once it has none
CLOSING = 3  # the transport is closing
GONE = 4

# What moves a connection from one state to another.
SETTLED = 0  # the settings of the endpoint came
LEAVE = 1  # the endpoint or the pool wants no further stream on it
CLOSE = 2  # it says goodbye, or is cut
LOST = 3  # the transport is gone

NEXT: tuple[dict[int, int], ...] = (
    {SETTLED: READY, LEAVE: ENDING, CLOSE: CLOSING, LOST: GONE},  # COMING
    {LEAVE: ENDING, CLOSE: CLOSING, LOST: GONE},  # READY
    {CLOSE: CLOSING, LOST: GONE},  # ENDING
    {LOST: GONE},  # CLOSING
    {},  # GONE
)
"""For each state, the events that count in it and the next states. Any other event comes too late: nothing changes."""


class Sharer(Protocol):
    """What shares out the streams of connections to one endpoint."""

    def ready(self, connection: Http2EndpointConnection) -> None:
        """The endpoint's settings came; called once."""

    def freed(self, connection: Http2EndpointConnection) -> None:
        """A stream has ended."""

    def lost(self, connection: Http2EndpointConnection) -> None:
        """`connection` is closed; called once."""


class Http2EndpointConnection(ResponseCarrier, ReadsPieces):
    """One connection to an endpoint.

    `streams` counts those that are in use, and `requests` all that ever were. `limit` is how many streams the endpoint
    takes at once. `idle_since` is a time of the loop. `pulse` says whether the endpoint is still there.
    """

    __slots__ = (
        "_deadlines",
        "_engine",
        "_flusher",
        "_intake",
        "_loop",
        "_most",
        "_sharer",
        "_state",
        "_transport",
        "_windows",
        "closed",
        "deadline",
        "idle_since",
        "is_idle",
        "limit",
        "next_look",
        "place",
        "pulse",
        "requests",
        "streams",
    )

    def __init__(self, sharer: Sharer, engine: Engine, flusher: Flusher, deadlines: Deadlines, secure: bool) -> None:
        self._sharer = sharer
        self._engine = engine
        self._flusher = flusher
        self._deadlines = deadlines
        self.secure = secure
        self.reader = ResponseReader()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._intake = ResponseIntake(engine)
        self._windows = Windows(engine)
        self.is_dirty = False
        self.is_stuck = False
        self.is_idle = False
        self.closed = False
        self.pulse = Pulse()
        self._state = COMING
        self.streams = 0
        self.requests = 0
        self.limit = 1
        self._most = 1
        self.idle_since = 0.0
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    # The side of the pool.

    @property
    def ending(self) -> bool:
        """No further stream may begin."""
        return self._state >= ENDING

    @property
    def room(self) -> int:
        """How many further streams may begin."""
        return self.limit - self.streams if self._state < ENDING else 0

    def takes_more(self) -> bool:
        """Whether there is room for a further stream."""
        return self._state < ENDING and self.streams < self.limit

    def lease(self) -> Http2EndpointStream:
        """A stream for one request; there must be room."""
        self.streams += 1
        self.requests += 1
        if self.streams == 1:
            self.deadline = self._loop.time() + self.pulse.ping_after_seconds
            if self.deadline < self.next_look:
                deadlines = self._deadlines
                deadlines.insert(self)
        return Http2EndpointStream(self, self._engine, self.requests > 1)

    def leave(self) -> None:
        """Begin no further stream."""
        self._moves(LEAVE)

    def end_soon(self) -> None:
        """Begin no further stream, and close the connection once it has none."""
        self._moves(LEAVE)
        if not self.streams:
            self.end()

    def end(self) -> None:
        """Say goodbye and close the connection, which has no streams. A peer that does not read it is cut."""
        deadlines, engine, transport = self._deadlines, self._engine, self._transport
        if transport is not None and not transport.is_closing():
            engine.goaway(NO_ERROR)
            self.flush()  # its events may end the connection before this does
            if self._moves(CLOSE):  # closed twice, asyncio's TLS fails in `eof_received`
                transport.close()
                deadlines.arm(self, self._loop.time() + _GOODBYE_SECONDS)

    def abort(self) -> None:
        """Cut the connection."""
        self._moves(CLOSE)
        if self._transport is not None and not self.closed:
            self._transport.abort()

    def expire(self) -> None:
        """The deadline of the connection has passed, which is that of its state.

        An idle connection ends. Under streams a silent endpoint is asked by PING, and cut if nothing comes. At the end
        a peer that did not read the goodbye is cut.
        """
        deadlines, engine, pulse, now = self._deadlines, self._engine, self.pulse, self._loop.time()
        if self._transport is not None and self._transport.is_closing():
            self.abort()
        elif not self.streams:
            self.end_soon()
        elif pulse.is_asked:
            self._fail_all(ErrorKind.ENDPOINT_TIMEOUT)
            self.abort()
        elif now < pulse.ping_at:
            deadlines.arm(self, pulse.ping_at)
        else:
            pulse.is_asked = True
            engine.ping(_PING)
            self.flush()
            deadlines.arm(self, now + pulse.ping_answer_seconds)

    # The side of the streams.

    def opened(self, stream: Http2EndpointStream, number: int) -> None:
        self._intake.streams[number] = stream
        if not self.is_dirty:  # as `mark` does, without a call for each request
            flusher = self._flusher
            flusher.add(self)

    def wrote(self, stream: Http2EndpointStream) -> None:
        """A stream of which many bytes wait is paused at once.

        The end of the turn would be too late: the loop reads up to 32 pieces of one client in one turn.
        """
        engine, windows = self._engine, self._windows
        windows.wrote(stream)
        if not stream.writing_paused and engine.queued(stream.number) >= _MANY_BYTES:
            stream.pause()
        self.mark()

    def mark(self) -> None:
        if not self.is_dirty:
            flusher = self._flusher
            flusher.add(self)

    def unused(self) -> None:
        self.streams -= 1
        self._sharer.freed(self)

    def now(self) -> float:
        return self._loop.time()

    def given_up(self, began_at: float) -> None:
        absences, pulse = self._deadlines.absences, self.pulse
        if pulse.is_gone(began_at, self._loop.time(), absences):
            self._moves(LEAVE)

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        transport.set_write_buffer_limits(high=_WRITE_HIGH, low=_WRITE_LOW)
        pulse = self.pulse
        self._transport = transport
        pulse.heard(self._loop.time())
        self.flush()

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(calls.taken(MEMORY, nbytes))  # as the base class does, but compiled without a look-up

    def data_received(self, data: bytes) -> None:
        engine, intake, pulse, windows, now = self._engine, self._intake, self.pulse, self._windows, self._loop.time()
        pulse.heard(now)
        intake.take(engine.receive(data, now), self)
        if engine.has_bytes() or windows.is_watching():
            self.mark()

    def flush(self) -> None:
        """Write what is queued; of bodies, as much as the endpoint reads."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        engine, intake = self._engine, self._intake
        while data := engine.take_bytes(0 if self.is_stuck else PIECE_BYTES):
            transport.write(data)
            if len(data) < PIECE_BYTES:
                break
        intake.note_written()
        if events := engine.take_events():
            intake.take(events, self)
        self._follow_windows()

    def eof_received(self) -> bool:
        self._moves(LEAVE)
        if self._transport is not None and self._transport.get_write_buffer_size():
            self.abort()  # who says no more may never read the rest, and nothing would end the wait for that
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._moves(LOST)
        self.closed = True
        self._fail_all(ErrorKind.ENDPOINT_CLOSED)
        self._sharer.lost(self)

    def pause_writing(self) -> None:
        self.is_stuck = True
        for stream in tuple(self._intake.streams.values()):
            stream.pause()

    def resume_writing(self) -> None:
        windows = self._windows
        self.is_stuck = False
        windows.all_wait(self._intake.streams.values())
        self._follow_windows()
        self.mark()

    def _follow_windows(self) -> None:
        """Pauses streams whose bytes the endpoint does not take now, and resumes others."""
        windows = self._windows
        if windows.is_watching():
            windows.has_room = True  # or not: to look at the few streams that wait costs little
            waiting, freed = windows.sort(self.is_stuck)
            for stream in waiting:
                stream.pause()
            for stream in freed:
                stream.unpause()

    # What comes for the connection itself.

    def take_of_connection(self, event: Event) -> None:
        kind = event[0]
        if kind == SETTINGS:
            self.limit = min(self._engine.peer_max_streams, STREAMS_MOST)
            self._most = self.limit
            if self._moves(SETTLED):
                self._sharer.ready(self)
            elif self.streams > self.limit:  # heads of this turn would wait, and a reset ends no stream that waits
                intake = self._intake
                intake.withdraw(self.streams - self.limit, self)
        elif kind == GOAWAY:
            self.end_soon()
        elif kind == FAULT:
            self._fail_all(ErrorKind.INVALID_RESPONSE if event[2] else ErrorKind.ENDPOINT_CLOSED)
            self.end()

    def stream_closed(self, stream: Http2EndpointStream, code: int) -> None:
        windows = self._windows
        windows.forget(stream)
        self.streams -= 1
        if code == REFUSED_STREAM:
            self.limit = min(max(self.streams, 1), self._most)  # it takes no more at once, for now
        elif self.limit < self._most:
            self.limit += 1

    def stream_ended(self) -> None:
        self._sharer.freed(self)

    def _moves(self, event: int) -> bool:
        """Goes to the next state, if `event` counts in this one. Returns whether it does."""
        following = NEXT[self._state].get(event)
        if following is None:
            return False
        self._state = following
        return True

    def _fail_all(self, kind: ErrorKind) -> None:
        """Every stream ends."""
        intake, windows = self._intake, self._windows
        windows.clear()
        self.streams -= len(intake.streams)
        self._moves(LEAVE)
        intake.fail_all(kind)
