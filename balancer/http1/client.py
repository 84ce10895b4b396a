"""The client side of a connection: an asyncio protocol that hands out request heads and streams request bodies.

It knows bytes, back-pressure and deadlines. It must not know routes, endpoints or answers: a task asks it for the
next request, and an exchange takes the body and writes the answer.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from balancer.errors import ErrorKind, Refusal
from balancer.http1.chunked import ChunkedDecoder
from balancer.http1.collecting import HeadCollector
from balancer.http1.consumers import BodyConsumer
from balancer.http1.deadlines import NEVER, Deadlines
from balancer.http1.fields import ForwardedFields
from balancer.http1.framing import CHUNKED
from balancer.http1.heads import RequestHead, RequestHeadReader
from balancer.http1.reading import ReadsPieces
from balancer.model import ProxySettings

_REQUEST_LINE = re.compile(rb"[^ ]+ [^ ]+ HTTP/1\.[01]")
_PIPELINE_BYTES = 64 * 1024  # requests that wait their turn; beyond it the client is not read any more
_CHUNKED_BYTES_A_TURN = 16 * 1024  # one-byte chunks of these take 3 ms to decode; other connections wait no longer
_LINGER_SECONDS = 2.0  # how long a refused client may go on sending before its connection is cut
_LAST_WRITE_SECONDS = 60.0  # how long a client may take to read the last chunk of its last answer (send stall)
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for no time: closing sends RST and drops what is unsent


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
        "_held",
        "_late",
        "_left",
        "_lingering",
        "_loop",
        "_on_open",
        "_put_off_data",
        "_reader",
        "_reading_paused",
        "_settings",
        "_transport",
        "_tunnelled",
        "_waiter",
        "body_begun",
        "closed",
        "deadline",
        "ending",
        "forwarded",
        "idle",
        "idle_since",
        "next_look",
        "peer",
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
        self.secure = secure
        self._loop = asyncio.get_running_loop()
        self._collector = HeadCollector(
            line_limit=settings.head_line_bytes, head_limit=settings.head_bytes, first_line=_REQUEST_LINE
        )
        self._reader = RequestHeadReader(settings)
        self._transport: asyncio.Transport | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._consumer: BodyConsumer | None = None
        self._decoder: ChunkedDecoder | None = None
        self._left = 0
        self._put_off_data = b""
        self._eof = self._held = self._lingering = self._reading_paused = False
        self._late = self._tunnelled = self.body_begun = False
        self.closed = self.ending = self.idle = self.writing_paused = False
        self.deadline = self.next_look = NEVER
        self.requests = 0
        self.idle_since = 0.0
        self.peer = peer

    # The task's side.

    async def next_request(self) -> RequestHead | None:
        """The next request of this connection, or None when there is none to come.

        Raises `Refusal` for a head that is refused and for one that does not come in time.
        """
        settings = self._settings
        self._late = self.body_begun = False
        self.arm(settings.keep_alive_seconds if self.requests else settings.client_header_timeout_seconds)
        while self.writing_paused and not self.closed:
            await self._news()  # a client that does not read its answers must not have them pile up here
        self.idle = True
        self.idle_since = self._loop.time()
        while (head := self._collector.take_head()) is None:
            if self._eof or self.closed:
                return None
            if self._late:
                raise Refusal(ErrorKind.REQUEST_TIMEOUT, "a request head that did not come in time")
            if len(self._collector) and self.idle:
                self.idle = False
                self.arm(settings.client_header_timeout_seconds)
            self.resume_reading()
            await self._news()
        self.idle = False
        if self.closed:
            return None  # nobody is left to answer
        self.requests += 1
        return self._reader.read(head)

    def attach(self, consumer: BodyConsumer) -> None:
        """`consumer` hears of this connection until `detach`."""
        self._consumer = consumer

    def detach(self) -> None:
        self._consumer = None
        self._left, self._decoder = 0, None
        self._tunnelled = False

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
        if self._eof and self._is_in_body() and not self._put_off_data:
            self._body_cut_short()

    def start_tunnel(self) -> None:
        """Stream whatever comes to the consumer, until the end of the connection."""
        self._left = sys.maxsize
        self._tunnelled = True
        self.resume_reading()
        rest = self._collector.take_rest()
        if rest:
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
        self._deadlines.arm(self, self._loop.time() + seconds)

    def write(self, data: bytes) -> None:
        if self._transport is not None and not self.closed:
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

    def close(self) -> None:
        """Close after all that was written has left; what the client still sends is not lost as a reset to it."""
        if self._transport is None or self.closed or self._transport.is_closing():
            return
        self._lingering = True
        self.arm(_LAST_WRITE_SECONDS if self.writing_paused else _LINGER_SECONDS)
        if self._eof or self.secure or (self.idle and not len(self._collector)):
            self._transport.close()
            return
        # Closing at once could reset an answer in flight: send FIN, then read and drop until the client closes.
        self._collector.take_rest()
        self._transport.write_eof()
        self.resume_reading()

    def has_unread(self) -> bool:
        """Whether something of the client has come that nobody has taken yet, be it only its end."""
        if self._transport is None or self._transport.is_closing():
            return False
        if len(self._collector):
            return True
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))

    async def until_closed(self) -> None:
        """Wait for the end after `close`: the last answer may still be on its way."""
        while not self.closed:
            await self._news()

    def abort(self) -> None:
        """Cut the connection with RST: the client must see that its answer is not whole, even if only the end of the
        connection would end it.
        """
        if self._transport is not None and not self.closed:
            with suppress(OSError):  # it may have just been closed
                connection = self._transport.get_extra_info("socket")
                if connection is not None:  # TLS that has ended has none left
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            self._transport.abort()

    # The transport's side.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        # At most one chunk waits in memory. Not 0: the TLS transports would take an empty buffer for a full one.
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        self.peer = self.peer or _address_of(transport)
        self.forwarded = ForwardedFields(peer=self.peer, secure=self.secure)
        self._on_open(self)

    def data_received(self, data: bytes) -> None:
        if self._lingering:
            return
        if self._is_in_body():
            self._feed_body(data)
            return
        self._collector.add(data)
        if len(self._collector) > _PIPELINE_BYTES:
            self.pause_reading()
        self._wake()

    def eof_received(self) -> bool:
        self._eof = True
        if self._lingering:
            return False
        if self._is_in_body() and not self._put_off_data:
            self._body_cut_short()
        self._wake()
        return not self.secure  # a half-closed client still gets its answer; TLS has no half-close

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._transport = None  # with its buffers: the wheel knows us until our deadline
        if self._consumer is not None:
            self._consumer.client_lost()
        self._wake()

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
        else:
            self._wake()

    def expire(self) -> None:
        """The deadline has passed: of the exchange under way, a last or unread answer, an idle connection or a head."""
        if self._consumer is not None:
            self._consumer.expired()
        elif self._lingering or self.writing_paused:
            self.abort()
        elif not self.idle:
            self._late = True
            self._wake()
        elif not len(self._collector):  # else a request came at the last moment, and the task is about to see it
            self.close()

    async def _news(self) -> None:
        """Wait until something has come, has left or has ended."""
        self._waiter = self._loop.create_future()
        await self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        self._waiter = None

    def _is_in_body(self) -> bool:
        return self._left > 0 or self._decoder is not None

    def _feed_body(self, data: bytes) -> None:
        assert self._consumer is not None
        self.body_begun = True
        if self._decoder is not None:
            if len(data) > _CHUNKED_BYTES_A_TURN:
                self._put_off(data[_CHUNKED_BYTES_A_TURN:])
                data = data[:_CHUNKED_BYTES_A_TURN]
            self._feed_chunked(data, self._decoder, self._consumer)
            return
        if len(data) > self._left:
            self._collector.add(data[self._left :])
            data = data[: self._left]
        self._left -= len(data)
        self._consumer.request_data(data)
        if self._left == 0 and self._consumer is not None:
            self._consumer.request_end(())

    def _put_off(self, data: bytes) -> None:
        """Take `data` in a later turn of the loop, so that a body of a million chunks holds nobody else up."""
        self._put_off_data = data
        self._read_or_not()
        self._loop.call_soon(self._take_put_off)

    def _take_put_off(self) -> None:
        data, self._put_off_data = self._put_off_data, b""
        self._read_or_not()
        if self.closed or self._lingering:
            return
        if self._is_in_body():
            self._feed_body(data)
            if self._eof and self._is_in_body() and not self._put_off_data:
                self._body_cut_short()
        else:
            self._collector.add(data)
            self._wake()

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

    def _body_cut_short(self) -> None:
        assert self._consumer is not None
        self._left, self._decoder = 0, None
        self._consumer.request_failed(Refusal(ErrorKind.BAD_REQUEST, "a request body that ends too early"))


def _address_of(transport: asyncio.BaseTransport) -> str:
    peername = transport.get_extra_info("peername")
    address: str = peername[0] if peername else ""
    return address.removeprefix("::ffff:") if "." in address else address
