"""A client's HTTP/2 connection: an asyncio protocol that hands out many requests at a time.

It knows the states of the connection and its deadlines. Frames are the engine's, requests are `client_stream`'s, and
what a client hears at the end is in `goodbyes`. It must not know routes, endpoints or answers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from balancer.connections.unread import Unreading
from balancer.http.current import CurrentSettings
from balancer.http.origin import Origin
from balancer.http.streams import Connection, RequestServer
from balancer.http2 import goodbyes
from balancer.http2.client_stream import Http2RequestStream
from balancer.http2.engines import make_server_engine
from balancer.http2.events import PROTOCOL_ERROR
from balancer.http2.flushing import BYTES_A_WRITE, Flusher
from balancer.http2.intake import FaultTally, Intake, RequestCarrier
from balancer.http2.lifetime import CLOSE, CLOSING, ENDING, FAULTED, LEAVING, LOST, Lifetime
from balancer.http2.outflow import LAST_WRITE_SECONDS, Outflow
from balancer.http2.portions import Portions
from balancer.model.entry_points import EntryPoint
from balancer.runtime import calls
from balancer.runtime.deadlines import NEVER, Deadlines, Watched
from balancer.runtime.reading import MEMORY, ReadsPieces
from balancer.runtime.transports import client_proof, has_modern_cipher, has_unread, peer_address, reset_on_close

_WRITES_A_TURN = 32  # other connections wait no longer than these take
_LINGER_SECONDS = 1.0  # how long a client that was told of its error may go on sending before it is cut


class Http2Connection(RequestCarrier, ReadsPieces, Unreading, Connection):
    """One connection from a client. `deadline` is in the loop's time."""

    __slots__ = (
        "_deadlines",
        "_intake",
        "_is_noted",
        "_lifetime",
        "_loop",
        "_on_open",
        "_outflow",
        "_port",
        "_portions",
        "_server_name",
        "_settings",
        "_transport",
        "closed",
        "deadline",
        "entry_point",
        "idle_since",
        "next_look",
        "peer",
        "place",
    )

    def __init__(
        self,
        *,
        settings: CurrentSettings,
        deadlines: Deadlines,
        flusher: Flusher,
        entry_point: EntryPoint,
        on_open: Callable[[Connection], None],
        tally: FaultTally,
        serves: Callable[[str], bool] | None = None,
        peer: str = "",
        port: int | None = None,
        server_name: str | None = None,
    ) -> None:
        """Limits and times are those of `settings` now; how many requests may come is read anew for each of them.

        `serves` says whether a host may be asked for on this connection, by its certificate; None: every host.
        `server_name` as in `Origin`.
        """
        self._deadlines = deadlines
        self.flusher = flusher
        self._on_open: Callable[[Connection], None] | None = on_open
        self.entry_point = entry_point
        self.secure = entry_point.is_secure
        self.peer = peer
        self._port = port
        self._server_name = server_name
        self._loop = deadlines.loop
        self._settings = settings.proxy
        engine = make_server_engine(settings.proxy.http2)
        self.engine = engine
        self._transport: asyncio.Transport | None = None
        self._outflow = Outflow(engine)
        self._intake = Intake(self, settings, self._outflow, serves, tally)
        self._portions = Portions()
        self._lifetime = Lifetime(engine.frames.amid_head, settings.proxy.client_header_timeout_seconds)
        self.closed = False
        self.is_stuck = False
        self.is_dirty = False
        self._is_noted = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None
        self.idle_since = 0.0
        self.unsent = 0

    # The side of whoever serves it.

    @property
    def idle(self) -> bool:
        """No request is under way."""
        return not self._intake.streams

    @property
    def under_way(self) -> int:
        """How many requests are under way."""
        return len(self._intake.streams)

    def start(self, server: RequestServer) -> None:
        if self.closed:
            server.connection_closed()
            return
        self._intake.server = server
        now = self._loop.time()
        self.idle_since = now
        lifetime = self._lifetime
        lifetime.begin(now)
        self.touch()

    def end_soon(self) -> None:
        """Two steps: a client that sends a request before it hears of the first must not lose it."""
        if goodbyes.give_notice(self.engine, self._lifetime, self._loop.time()):
            self.touch()

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None:
        if not self._intake.streams and self.idle_since < idle_before and not self._has_unread():
            self._leave()

    def abort(self) -> None:
        """Cut the connection with RST: the client must see that its answers are not whole."""
        transport = self._transport
        if transport is not None:
            reset_on_close(transport)
            transport.abort()

    # The side of its streams.

    def has_written(self, stream: Http2RequestStream) -> None:
        """The stream waits once it has written much: an endpoint that is fast would fill memory within this turn."""
        if stream.writing_paused:
            stream.pause()
        else:
            if self.unsent >= BYTES_A_WRITE:
                self.write_much()
            outflow = self._outflow
            outflow.wrote(stream)
        self.touch()

    def write_much(self) -> None:
        engine, transport = self.engine, self._transport
        if transport is not None:
            outflow = self._outflow
            outflow.write(transport, self.is_stuck, self.unsent // BYTES_A_WRITE)
            self.unsent = engine.queued_in_all()

    def give_back(self, number: int, size: int) -> None:
        engine = self.engine
        engine.received(number, size)
        self.touch()

    def break_off(self, number: int, code: int) -> None:
        engine = self.engine
        self._intake.tally.http2_reset("cut")
        engine.reset(number, code)
        self.touch()

    def stream_ended(self, stream: Http2RequestStream) -> None:
        outflow, streams = self._outflow, self._intake.streams
        if streams.pop(stream.number, None) is None:
            return
        now = self._loop.time()
        outflow.answered(stream, now)
        if not streams:
            self.idle_since = now
            streams.clear()  # gives its table back, which an idle connection need not hold
        if not self.is_dirty:  # as `touch` does, without a call for each answer
            flusher = self.flusher
            flusher.add(self)

    # What the engine reports of the connection.

    def await_end(self, stream: Http2RequestStream) -> None:
        outflow = self._outflow
        outflow.await_end(stream.number, self._loop.time())
        self.touch()

    def pinged(self, data: bytes) -> None:
        """Behind the first GOAWAY, the client knows now that no request is to follow."""
        if goodbyes.is_notice_heard(self._lifetime, data):
            self._leave()

    def over(self) -> None:
        """What is under way is broken off, and what comes is dropped.

        A close at once could reset what the client is told.
        """
        lifetime = self._lifetime
        if not lifetime.moves(FAULTED, self._loop.time() + _LINGER_SECONDS):
            return
        lifetime.head_until = NEVER
        portions, intake = self._portions, self._intake
        portions.clear()
        intake.lose_all()
        self.touch()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        # At most one chunk waits in memory. Not 0: the TLS transports would take an empty buffer for a full one.
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        self.peer = self.peer or peer_address(transport)
        self._intake.origin = Origin(
            peer=self.peer,
            entry_point=self.entry_point,
            port=self._port,
            server_name=self._server_name,
            proof=client_proof(transport) if self.secure else None,
        )
        if self.secure and not has_modern_cipher(transport):
            goodbyes.refuse_cipher(self.engine, self._lifetime)
        on_open = self._on_open  # which holds the task that accepted the connection
        self._on_open = None
        assert on_open is not None
        on_open(self)

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(calls.taken(MEMORY, nbytes))  # as the base class does, but compiled without a look-up

    def data_received(self, data: bytes) -> None:
        portions, transport = self._portions, self._transport
        if self._lifetime.state < ENDING and transport is not None:
            portions.add(data, transport, self._take_in)

    def eof_received(self) -> bool:
        return False  # whoever half-closes does not wait for answers: streams end by frames

    def connection_lost(self, exc: Exception | None) -> None:
        deadlines, portions, intake, unread = self._deadlines, self._portions, self._intake, self.flusher.unread
        lifetime = self._lifetime
        lifetime.moves(LOST, NEVER)
        self.closed = True
        deadlines.forget(self)
        self._transport = None
        portions.clear()
        unread.note(self, 0)
        intake.lose_all()
        server = intake.let_go()
        if server is not None:
            server.connection_closed()

    def pause_writing(self) -> None:
        intake = self._intake
        self.is_stuck = True
        intake.pause_all()

    def resume_writing(self) -> None:
        windows = self._outflow.windows
        self.is_stuck = False
        windows.all_wait(self._intake.streams.values())
        self.touch()

    def flush(self) -> None:
        """Writes what is queued, unless the client does not read; then looks at what became of it."""
        transport = self._transport
        if transport is None:
            return
        engine, intake, outflow = self.engine, self._intake, self._outflow
        is_done = outflow.write(transport, self.is_stuck, _WRITES_A_TURN)
        events = engine.take_events()
        if events:
            intake.take(events)
        errors = engine.budgets.errors
        if errors:
            intake.count_errors(errors)
        if outflow.is_watching():
            if intake.follow_windows(self.is_stuck):
                self.touch()
        else:
            outflow.windows.has_room = False
        if not is_done:
            outflow.windows.has_room = True
            self.touch()
        waits = engine.queued_in_all() if self.unsent else 0
        self.unsent = waits
        if waits or self._is_noted:
            self._is_noted = waits > 0
            unread = self.flusher.unread
            unread.note(self, waits)
        self._rearm()

    def expire(self) -> None:
        """A deadline has passed: of the last answers, an idle connection, a head or a phase."""
        engine, outflow, lifetime, now = self.engine, self._outflow, self._lifetime, self._loop.time()
        state = lifetime.state
        is_late = bool(outflow.last_writes) and outflow.next_limit() <= now
        if state == CLOSING or (is_late and self.is_stuck):
            self.abort()
        elif state == ENDING:
            self._close()
        elif lifetime.head_until <= now:
            engine.goaway(PROTOCOL_ERROR)
            self.over()
        elif is_late:
            outflow.reset_late(now)
        elif goodbyes.is_notice_over(lifetime, now) or self._is_done():
            self._leave()
        self.touch()

    def drop_unread(self) -> None:
        intake = self._intake
        intake.drop_unread()
        if self.is_stuck:  # no reset would reach the client
            self.abort()
        self.touch()

    # What comes, and what leaves.

    def _take_in(self, data: bytes) -> None:
        now = self._loop.time()
        engine, outflow, intake, lifetime = self.engine, self._outflow, self._intake, self._lifetime
        intake.take(engine.receive(data, now))
        if (
            lifetime.notes_head(engine.frames.amid_head, now)
            or engine.has_bytes()
            or (outflow.windows.has_room and outflow.is_watching())
        ):
            self.touch()

    # The end.

    def _leave(self) -> None:
        """Takes no further request, and closes once none is under way."""
        if goodbyes.take_leave(self.engine, self._lifetime):
            self.touch()

    def _close(self) -> None:
        """Closes after all that was written has left."""
        lifetime = self._lifetime
        lifetime.moves(CLOSE, self._loop.time() + (LAST_WRITE_SECONDS if self.is_stuck else _LINGER_SECONDS))
        if self._transport is not None:
            self._transport.close()

    def _is_done(self) -> bool:
        """No request is under way, and all answers have left."""
        return not self._intake.streams and not self._outflow.last_writes

    def _rearm(self) -> None:
        """Sets the deadline to the first of those that count now."""
        if self.closed:
            return
        outflow, lifetime = self._outflow, self._lifetime
        if lifetime.state == LEAVING and self._is_done():
            self._close()
        if outflow.last_writes:
            until = outflow.next_limit()
        else:
            until = NEVER if self._intake.streams else self.idle_since + self._settings.keep_alive_seconds
        deadline = min(lifetime.until, lifetime.head_until, until)
        self.deadline = deadline
        if deadline < self.next_look:
            deadlines = self._deadlines
            deadlines.insert(self)

    def _has_unread(self) -> bool:
        """Whether something of the client has come that nobody has taken yet, be it only its end."""
        if (transport := self._transport) is None or transport.is_closing():
            return False
        return bool(self._portions) or self.engine.frames.amid_head > 0 or has_unread(transport)
