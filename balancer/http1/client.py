"""The client side of a connection: an asyncio protocol that hands out request heads and streams request bodies.

It knows bytes, back-pressure and deadlines. It must not know routes, endpoints or answers: whoever serves it is called
with the next request, and an exchange takes the body and writes the answer.
"""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import Callable
from typing import cast

from balancer.errors import ErrorKind, Refusal
from balancer.http1.chunked import ChunkedDecoder
from balancer.http1.collecting import HeadCollector
from balancer.http1.consumers import BodyConsumer, RequestServer
from balancer.http1.deadlines import NEVER, Deadlines, Watched
from balancer.http1.fields import ForwardedFields
from balancer.http1.framing import CHUNKED
from balancer.http1.heads import RequestHead, RequestHeadReader
from balancer.http1.reading import ReadsPieces
from balancer.http1.transports import has_unread, peer_address, reset_on_close
from balancer.model import ProxySettings

_REQUEST_LINE = re.compile(rb"[^ ]+ [^ ]+ HTTP/1\.[01]")
_PIPELINE_BYTES = 64 * 1024  # requests that wait their turn; beyond it the client is not read any more
_CHUNKED_BYTES_A_TURN = 16 * 1024  # one-byte chunks of these take 3 ms to decode; other connections wait no longer
_LINGER_SECONDS = 2.0  # how long a refused client may go on sending before its connection is cut
_LAST_WRITE_SECONDS = 60.0  # how long a client may take to read the last chunk of its last answer (send stall)


class ClientConnection(ReadsPieces):
    """One connection from a client.

    `deadline` is in the loop's time; `idle` says that it waits between two requests; `ending`, that its next answer is
    to be its last. `peer` is the client's address where a PROXY header has told it; otherwise it is the address of the
    connection.
    """

    __slots__ = (
        "_collector",
        "_consumer",
        "_deadlines",
        "_decoder",
        "_eof",
        "_expects_request",
        "_held",
        "_late",
        "_left",
        "_lingering",
        "_loop",
        "_on_open",
        "_put_off_data",
        "_reader",
        "_reading_paused",
        "_server",
        "_settings",
        "_telling",
        "_transport",
        "_tunnelled",
        "body_begun",
        "closed",
        "deadline",
        "ending",
        "forwarded",
        "idle",
        "idle_since",
        "next_look",
        "peer",
        "place",
        "requests",
        "secure",
        "writing_paused",
    )

    def __init__(
        self,
        *,
        settings: ProxySettings,
        deadlines: Deadlines,
        secure: bool,
        on_open: Callable[[ClientConnection], None],
        peer: str = "",
    ) -> None:
        self._settings = settings
        self._deadlines = deadlines
        self._on_open = on_open
        self.secure, self.peer = secure, peer
        self._loop = asyncio.get_running_loop()
        self._collector = HeadCollector(
            line_limit=settings.head_line_bytes, head_limit=settings.head_bytes, first_line=_REQUEST_LINE
        )
        self._reader = RequestHeadReader(settings)
        self._transport: asyncio.Transport | None = None
        self._server: RequestServer | None = None
        self._consumer: BodyConsumer | None = None
        self._decoder: ChunkedDecoder | None = None
        self._left, self._put_off_data = 0, b""
        self._eof = self._held = self._lingering = self._reading_paused = False
        self._late = self._tunnelled = self.body_begun = False
        self._expects_request = self._telling = False
        self.closed = self.ending = self.idle = self.writing_paused = False
        self.deadline = self.next_look = NEVER
        self.place: dict[Watched, None] | None = None
        self.requests, self.idle_since = 0, 0.0

    # The side of whoever serves it.

    def start(self, server: RequestServer) -> None:
        """`server` hears of the requests of this connection, one at a time, and in the end of its own."""
        if self.closed:
            server.client_closed()
        else:
            self._server = server
            self.expect_request()

    def expect_request(self) -> None:
        """The request before is answered: tell the server of the next, at once or when it comes."""
        settings, self._expects_request = self._settings, True
        self._late = self.body_begun = False
        now = self.idle_since = self._loop.time()
        self.deadline = now + (settings.keep_alive_seconds if self.requests else settings.client_header_timeout_seconds)
        if self.deadline < self.next_look:
            self._deadlines.insert(self)
        # A client that does not read its answers must not have them pile up here: it waits until it has.
        self.idle = not self.writing_paused
        if self._collector.pending or self._eof or self.closed:
            self._tell()
        elif self._held:
            self.resume_reading()

    def attach(self, consumer: BodyConsumer) -> None:
        """`consumer` hears of this connection until `detach`."""
        self._consumer = consumer

    def detach(self) -> None:
        self._consumer = self._decoder = None
        self._left, self._tunnelled = 0, False

    def start_body(self, framing: int) -> None:
        """Stream the body of the current request to the consumer, beginning with what has already come."""
        if framing == CHUNKED:
            self._decoder = ChunkedDecoder(ErrorKind.BAD_REQUEST)
        else:
            self._left = framing
        rest = self._collector.take_rest()
        self.resume_reading()  # what piled up while nobody took it may have paused it
        if rest:
            self._feed_body(rest)
        self._end_body_at_eof()

    def start_tunnel(self) -> None:
        """Stream whatever comes to the consumer, until the end of the connection."""
        self._left = sys.maxsize
        self._tunnelled = True
        self.resume_reading()
        if rest := self._collector.take_rest():
            self._feed_body(rest)
        if self._eof:
            self._body_cut_short()

    def end_tunnel(self) -> None:
        """If this is a tunnel, take no more from the client and tell the other side so; what that still says comes."""
        if self._tunnelled:
            self._tunnelled = False
            self._body_cut_short()

    def arm(self, seconds: float) -> None:
        """Expire in `seconds` from now, in place of whenever it was."""
        self.deadline = self._loop.time() + seconds
        if self.deadline < self.next_look:  # as `Deadlines.arm` does, without a call
            self._deadlines.insert(self)

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def pause_reading(self) -> None:
        self._held = True
        self._read_or_not()

    def resume_reading(self) -> None:
        self._held = False
        self._read_or_not()

    def _read_or_not(self) -> None:
        """Read unless someone holds the client back or what has come already is still to be taken."""
        paused = self._held or bool(self._put_off_data)
        if paused == self._reading_paused or self._transport is None or self._transport.is_closing():
            return
        self._reading_paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def close(self, *, expected: bool = False) -> None:
        """Close after all that was written has left; what comes then meets no reset, unless the end was `expected`."""
        if self._transport is None or self._transport.is_closing():
            return
        self._lingering = True
        self.arm(_LAST_WRITE_SECONDS if self.writing_paused else _LINGER_SECONDS)
        if self._eof or self.secure or ((self.idle or expected) and not self._collector.pending):
            self._transport.close()
            return
        # Closing at once could reset an answer in flight: send FIN, then read and drop until the client closes.
        self._collector.take_rest()
        self._transport.write_eof()
        self.resume_reading()

    def has_unread(self) -> bool:
        """Whether something of the client has come that nobody has taken yet, be it only its end."""
        if (transport := self._transport) is None or transport.is_closing():
            return False
        return bool(self._collector.pending) or has_unread(transport)

    def abort(self) -> None:
        """Cut the connection with RST: the client must see that its answer is not whole, however that would end."""
        if self._transport is not None:
            reset_on_close(self._transport)
            self._transport.abort()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        # At most one chunk waits in memory. Not 0: the TLS transports would take an empty buffer for a full one.
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        self.peer = self.peer or peer_address(transport)
        self.forwarded = ForwardedFields(peer=self.peer, secure=self.secure)
        self._on_open(self)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        if self.idle and self._expects_request and not self._collector.pending:
            request = self._reader.recognise(data)
            if request is not None:
                assert self._server is not None
                self._expects_request = self.idle = False
                self.requests += 1
                self._server.request_came(request)
                return
        elif self._left > 0 or self._decoder is not None:
            self._feed_body(data)
            return
        self._collector.add(data)
        if len(self._collector.pending) > _PIPELINE_BYTES:
            self.pause_reading()
        self._tell()

    def eof_received(self) -> bool:
        self._eof = True
        if self._lingering:
            return False
        self._end_body_at_eof()
        self._tell()
        return not self.secure  # a half-closed client still gets its answer; TLS has no half-close

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._deadlines.forget(self)
        if self._consumer is not None:
            self._consumer.client_lost()
        self._tell()
        self._transport = None
        server, self._server = self._server, None  # they know each other: not to leave that to the garbage collector
        if server is not None:
            server.client_closed()

    def pause_writing(self) -> None:
        self.writing_paused = True
        if self._consumer is not None:
            self._consumer.client_paused()

    def resume_writing(self) -> None:
        self.writing_paused = False
        if self._consumer is not None:
            self._consumer.client_resumed()
        elif self._lingering:
            self.arm(_LINGER_SECONDS)
        elif self._expects_request:
            self.idle, self.idle_since = True, self._loop.time()
            self._tell()

    def expire(self) -> None:
        """The deadline has passed: of the exchange under way, a last or unread answer, an idle connection or a head."""
        if self._consumer is not None:
            self._consumer.expired()
        elif self._lingering or self.writing_paused:
            self.abort()
        elif not self.idle:
            self._late = True
            self._tell()
        elif not self._collector.pending:
            self.close()

    def _tell(self) -> None:
        """Tell the server what it waits for, as far as that has come: again and again, as it may answer at once."""
        while self._expects_request and not self._telling and (self.closed or not self.writing_paused):
            self._telling = True
            try:
                if self._server is None or not self._tell_once(self._server):
                    return
            finally:
                self._telling = False

    def _tell_once(self, server: RequestServer) -> bool:
        """Whether there was anything to tell."""
        try:
            head = self._collector.take_head()
            if self.closed or (head is None and self._eof):
                self._expects_request = False
                server.requests_ended()
                return True
            if head is None and not self._late:
                self._wait_for_more()
                return False
            self._expects_request = self.idle = False
            request = self._read(head)
        except Refusal as refusal:
            self._expects_request = self.idle = False
            server.request_refused(refusal)
        else:
            server.request_came(request)
        return True

    def _read(self, head: bytes | None) -> RequestHead:
        if head is None:
            raise Refusal(ErrorKind.REQUEST_TIMEOUT, "a request head that did not come in time")
        self.requests += 1
        return self._reader.read(head)

    def _wait_for_more(self) -> None:
        if self.idle and self._collector.pending:
            self.idle = False
            self.arm(self._settings.client_header_timeout_seconds)
        if self._held:
            self.resume_reading()

    def _is_in_body(self) -> bool:
        return self._left > 0 or self._decoder is not None

    def _feed_body(self, data: bytes) -> None:
        assert self._consumer is not None
        self.body_begun = True
        if self._decoder is not None:
            if len(data) > _CHUNKED_BYTES_A_TURN:
                # The rest in a later turn, so that a body of a million chunks holds nobody else up.
                self._put_off_data, data = data[_CHUNKED_BYTES_A_TURN:], data[:_CHUNKED_BYTES_A_TURN]
                self._read_or_not()
                self._loop.call_soon(self._take_put_off)
            self._feed_chunked(data, self._decoder, self._consumer)
            return
        if len(data) > self._left:
            self._collector.add(data[self._left :])
            data = data[: self._left]
        self._left -= len(data)
        self._consumer.request_data(data)
        if self._left == 0 and self._consumer is not None:
            self._consumer.request_end(())

    def _take_put_off(self) -> None:
        data, self._put_off_data = self._put_off_data, b""
        self._read_or_not()
        if self.closed or self._lingering:
            return
        if self._is_in_body():
            self._feed_body(data)
            self._end_body_at_eof()
        else:
            self._collector.add(data)
            self._tell()

    def _feed_chunked(self, data: bytes, decoder: ChunkedDecoder, consumer: BodyConsumer) -> None:
        try:
            pieces, rest = decoder.feed(data)
        except Refusal as refusal:
            self._decoder = None
            consumer.request_failed(refusal)
            return
        if pieces:
            consumer.request_data(pieces[0] if len(pieces) == 1 else b"".join(pieces))
        if decoder.done:
            self._decoder = None
            self._collector.add(rest)
            if self._consumer is not None:
                consumer.request_end(decoder.trailers)

    def _end_body_at_eof(self) -> None:
        if self._eof and self._is_in_body() and not self._put_off_data:
            self._body_cut_short()

    def _body_cut_short(self) -> None:
        assert self._consumer is not None
        self._left, self._decoder = 0, None
        self._consumer.request_failed(Refusal(ErrorKind.BAD_REQUEST, "a request body that ends too early"))
