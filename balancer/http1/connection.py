"""A client's connection: an asyncio protocol that hands out one request after the other.

Responsible for states, heads and deadlines between requests; `request_stream` handles the current one. Knows no routes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import cast

from balancer.connections.arrivals import Arrival
from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.http.origin import origin_of
from balancer.http.streams import Connection, RequestServer
from balancer.http1.client_context import ClientContext
from balancer.http1.collecting import HeadCollector
from balancer.http1.heads import RequestHeadReader
from balancer.http1.inflow import Inflow
from balancer.http1.request_stream import Http1RequestStream
from balancer.http1.states import (
    ANSWERED,
    HEAD,
    LAST,
    LINGERING,
    LOST,
    NEXT,
    PART,
    REQUEST,
    SERVING,
    STALLED,
    TAKEN,
    UNREAD,
    WAITING,
)
from balancer.runtime import calls
from balancer.runtime.deadlines import NEVER, Watched
from balancer.runtime.reading import MEMORY, ReadsPieces
from balancer.runtime.transports import client_proof, has_unread, peer_address, reset_on_close

_REQUEST_LINE = re.compile(rb"[^ ]+ [^ ]+ HTTP/1\.[01]")
_PIPELINE_BYTES = 64 * 1024  # bytes of pipelined requests; beyond this, reading from the client pauses
_LAST_WRITE_SECONDS = 60.0  # how long a client may take to read the end of its last answer


class ClientConnection(Inflow, ReadsPieces, Connection):
    """One connection from a client. `deadline` is in the loop's time."""

    __slots__ = (
        "_arrival",
        "_collector",
        "_context",
        "_current",
        "_deadlines",
        "_is_looking",
        "_now",
        "_on_open",
        "_reader",
        "_server",
        "_server_name",
        "_settings",
        "_state",
        "closed",
        "deadline",
        "entry_point",
        "idle_since",
        "next_look",
        "place",
        "requests",
        "secure",
        "stream",
    )

    def __init__(
        self,
        context: ClientContext,
        arrival: Arrival,
        server_name: str | None,
        on_open: Callable[[ClientConnection], None],
    ) -> None:
        """Takes limits and times from the settings once. The limit of requests is read again for each request.

        `server_name` is the name of the handshake if it decided which listener the connection belongs to. `arrival`
        says the address of the client if a PROXY header stated it. Else the socket says it.
        """
        Inflow.__init__(self)  # `super` costs every connection a look-up
        self._context = context  # compiled, the attribute has a type and the argument has none
        self._current = self._context.settings
        self._deadlines = self._context.deadlines
        self._on_open: Callable[[ClientConnection], None] | None = on_open
        # Without a type in the .pxd file: with it Cython 3.3.1 leaves out `calls.taken`, and the module does not load.
        self._arrival: Arrival | None = arrival
        self.entry_point = self._arrival.entry_point
        self.secure = self.entry_point.is_secure
        self._server_name = server_name
        self._now = self._deadlines.now
        limits = self._current.proxy
        self._settings = limits
        self._collector = HeadCollector(limits.head_line_bytes, limits.head_bytes, _REQUEST_LINE)
        self._reader: RequestHeadReader | None = None  # made for the first head that no other connection began with
        self._server: RequestServer | None = None
        # Before the transport, which a handshake may pause.
        self.stream = Http1RequestStream(self, self._context.unread, self.secure)
        self._state = WAITING
        self.ending = False
        self.eof = False
        self._is_looking = False
        self.closed = False
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None
        self.requests = 0
        self.idle_since = 0.0

    # What the server of the requests calls.

    @property
    def idle(self) -> bool:
        """Whether the connection waits for its next request."""
        return self._state == WAITING

    def start(self, server: RequestServer) -> None:
        if self.closed:
            server.connection_closed()
            return
        self._server = server
        now = self._now()
        self.idle_since = now
        seconds, linger_seconds = self._settings.client_header_timeout_seconds, self._context.linger_seconds
        # The wheel looks before that, so a connection of one short request needs no second place in it for its end.
        deadlines = self._deadlines
        deadlines.arm(self, now + (seconds if seconds < linger_seconds else linger_seconds))
        self.deadline = now + seconds
        if self._collector.pending or self.eof:
            self._look()

    def end_soon(self) -> None:
        self.ending = True

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None:
        if self._state == WAITING and self.idle_since < idle_before and not self.has_unread():
            self.close()
        elif ends_tunnels and not self.closed:
            stream = self.stream
            stream.end_tunnel()

    def has_unread(self) -> bool:
        """Whether bytes of the client, or its EOF, have arrived and were not processed yet."""
        if (transport := self._transport) is None or transport.is_closing():
            return False
        return bool(self._collector.pending) or has_unread(transport)

    def close(self, expected: bool = False) -> None:
        if self._transport is None or self._transport.is_closing():
            return
        is_idle = self._state == WAITING
        self._state = NEXT[self._state][LAST]
        self._arm(_LAST_WRITE_SECONDS if self.stream.writing_paused else self._context.linger_seconds)
        is_expected = expected and not self._collector.pending
        if is_expected and self.secure and not self.eof:
            self._transport.close_at_once()  # type: ignore[attr-defined]  # of `TlsTransport`
            return
        if self.eof or self.secure or is_expected or (is_idle and not self._collector.pending):
            self._transport.close()
            return
        # Closing at once could reset an answer in flight: send FIN, then read and drop until the client closes.
        collector = self._collector
        collector.take_rest()
        self._transport.write_eof()
        self.resume_reading()

    def abort(self) -> None:
        """Cuts the connection with RST, so that the client sees that its answer is incomplete in every framing."""
        transport = self._transport
        if transport is not None:
            reset_on_close(transport)
            transport.abort()

    # What the stream of the current request calls.

    def next_request(self) -> None:
        if self._state != SERVING:
            return
        # Answers must not pile up for a client that does not read them, so its next request waits.
        self._state = NEXT[SERVING][STALLED if self.stream.writing_paused else ANSWERED]
        now = self._now()
        self.idle_since = now
        self.deadline = now + self._settings.keep_alive_seconds
        if self.deadline < self.next_look:
            deadlines = self._deadlines
            deadlines.insert(self)
        if self._collector.pending or self.eof:
            self._look()
        elif self._held:
            self.resume_reading()

    def take_rest(self) -> bytes:
        collector = self._collector
        return collector.take_rest()

    def put_back(self, data: bytes) -> None:
        collector = self._collector
        collector.add(data)

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        # At most one chunk waits in memory. Not 0: the TLS transports would take an empty buffer for a full one.
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        arrival = self._arrival
        self._arrival = None
        assert arrival is not None
        peer = arrival.peer or peer_address(transport)
        proof = client_proof(transport) if self.secure else None
        origin = origin_of(peer, self.entry_point, arrival.port, self._server_name, proof)
        stream = self.stream
        stream.open(transport, origin)
        on_open = self._on_open  # which holds the task that accepted the connection
        self._on_open = None
        assert on_open is not None
        on_open(self)

    def buffer_updated(self, nbytes: int) -> None:
        self.data_received(calls.taken(MEMORY, nbytes))  # as the base class does, but compiled without a look-up

    def data_received(self, data: bytes) -> None:
        state = self._state
        if state == WAITING:
            reader = self._reader
            if reader is not None:
                request = reader.recognise(data)
                if request is not None:
                    self._hand_over(request, reader.keep_alive)
                    return
            elif not self.requests and self._begins_as_another(data):
                return
        elif state == SERVING:
            stream = self.stream
            if stream.take(data):
                return
        elif state == LINGERING:
            return
        collector = self._collector
        collector.add(data)
        if len(collector.pending) > _PIPELINE_BYTES:
            self.pause_reading()
        self._look()

    def eof_received(self) -> bool:
        self.eof = True
        if self._state == LINGERING:
            return False
        if self._state == SERVING:
            stream = self.stream
            stream.end_of_input()
        self._look()
        return not self.secure  # a half-closed client still gets its answer; TLS has no half-close

    def connection_lost(self, exc: Exception | None) -> None:
        self._state = NEXT[self._state][LOST]
        self.closed = True
        deadlines, stream = self._deadlines, self.stream
        deadlines.forget(self)
        stream.connection_lost()
        self._transport = None
        server = self._server  # breaks the reference cycle without the garbage collector
        self._server = None
        if server is not None:
            server.connection_closed()

    def pause_writing(self) -> None:
        stream = self.stream
        stream.pause_writing()
        if self._state == WAITING:  # the end of an answer leaves later in the turn in which its request is over
            self._state = NEXT[WAITING][STALLED]

    def resume_writing(self) -> None:
        stream = self.stream
        stream.resume_writing()
        if self._state == LINGERING:
            self._arm(self._context.linger_seconds)
        elif self._state == UNREAD:
            self._state = NEXT[UNREAD][TAKEN]
            self.idle_since = self._now()
            self._look()
        elif self._state == HEAD:
            self._look()

    def expire(self) -> None:
        """A deadline has passed: of a last or unread answer, of an idle connection, or of a head."""
        if self._state in (LINGERING, UNREAD):
            self.abort()
        elif self._state == HEAD:
            self._refuse(Refusal(ErrorKind.REQUEST_TIMEOUT, "a request head that did not come in time"))
        elif self._state == WAITING:
            self.close()

    # The next request.

    def _arm(self, seconds: float) -> None:
        deadlines = self._deadlines
        deadlines.arm(self, self._now() + seconds)

    def _look(self) -> None:
        """Hands over requests that have arrived, to a client that reads its answers.

        Loops, because a request may be answered at once.
        """
        stream = self.stream
        while self._state <= HEAD and self._server is not None and not self._is_looking and not stream.writing_paused:
            self._is_looking = True
            try:
                if not self._look_once():
                    return
            finally:
                self._is_looking = False

    def _begins_as_another(self, data: bytes) -> bool:
        """Hands over the first request, if another connection has begun with the same bytes."""
        first_heads = self._context.first_heads
        read = first_heads.find(data, self._settings)
        if read is None or self._server is None:
            return False
        self._hand_over(read[1], read[2])
        return True

    def _look_once(self) -> bool:
        """Hands over one request or refuses one. Returns False if no whole head has arrived."""
        collector, reader = self._collector, self._reader
        try:
            head = collector.take_head()
            if head is None:
                self._wait_for_more()
                return False
            if reader is None:
                reader = RequestHeadReader(self._settings)
                self._reader = reader
            request = reader.read(head, collector.take_lines())
            if not self.requests:
                first_heads = self._context.first_heads
                first_heads.remember(head, self._settings, request, reader.keep_alive)
        except Refusal as refusal:
            self._refuse(refusal)
        else:
            self._hand_over(request, reader.keep_alive)
        return True

    def _hand_over(self, request: RequestHead, keep_alive: bool) -> None:
        """`keep_alive`: the client allows another request on the connection after this one."""
        self._state = NEXT[self._state][REQUEST]
        self.deadline = NEVER
        self.requests += 1
        server, stream = self._server, self.stream
        assert server is not None
        stream.begin(request, keep_alive, self.requests >= self._current.proxy.keep_alive_requests)
        server.request_came(stream, request)

    def _refuse(self, refusal: Refusal) -> None:
        self._state = NEXT[self._state][REQUEST]
        self.deadline = NEVER
        server, stream = self._server, self.stream
        assert server is not None
        stream.begin_refused()
        server.request_refused(stream, refusal)

    def _wait_for_more(self) -> None:
        if self.eof:
            self.close()
            return
        if self._collector.pending and self._state == WAITING:
            self._state = NEXT[WAITING][PART]
            self._arm(self._settings.client_header_timeout_seconds)
        if self._held:
            self.resume_reading()
