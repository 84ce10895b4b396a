"""The endpoint side of a connection: an asyncio protocol that sends one request at a time and streams its response.

Endpoints are not trusted: after a malformed or ambiguous response, or surplus bytes, the connection is not used again.
It must not know routes, clients or retries. It reports responses to the exchange that uses it.
"""

from __future__ import annotations

import asyncio
from typing import cast

from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import ResponseConsumer
from balancer.http.messages import HTTP_2_0, Trailers
from balancer.http.streams import EndpointStream, Outgoing, Pool
from balancer.http1 import fields
from balancer.http1.chunked import ChunkedDecoder, encode_chunk, encode_last_chunk
from balancer.http1.collecting import HeadCollector
from balancer.http1.framing import CHUNKED, UNDECIDED, UNTIL_CLOSE
from balancer.http1.heads import REMEMBERED_BYTES_MAX, Http1Response
from balancer.http1.responses import ResponseHeadReader
from balancer.runtime import calls
from balancer.runtime.deadlines import NEVER, Watched
from balancer.runtime.reading import MEMORY, PIECE, SMALL_PIECE, ReadsPieces
from balancer.runtime.tcp import TcpTransport

_HEAD_LIMIT = 64 * 1024  # bytes of a response head; more is an invalid response
_MANY_BYTES = 16 * 1024  # of one read: from there on, another copy of them costs more than a second look at the head
_CLOSE = b"close"
_INTERIM_MAX = 8  # 1xx responses to one request; more is an invalid response


class Keeper(Pool):
    """The owner of the connections to one endpoint. A base class, because every request passes through it."""

    __slots__ = ()

    def give_back(self, connection: EndpointConnection) -> None:
        """Keeps `connection` for another request, or closes it. Called when its exchange is over."""
        raise NotImplementedError

    def lost(self, connection: EndpointConnection) -> None:
        """Called once, when `connection` has closed."""
        raise NotImplementedError


class EndpointConnection(EndpointStream, ReadsPieces):
    """One connection to an endpoint. It serves one request after another.

    `reusable` says whether another request may use it.
    """

    __slots__ = (
        "_collector",
        "_consumer",
        "_decoder",
        "_eof",
        "_framing",
        "_interims",
        "_is_chunking",
        "_is_sending",
        "_keeper",
        "_left",
        "_may_read_little",
        "_method",
        "_reader",
        "_reading_paused",
        "_tcp",
        "_transport",
        "_upgrade",
        "closed",
        "deadline",
        "idle_since",
        "next_look",
        "place",
        "requests",
        "reusable",
    )

    def __init__(self, keeper: Keeper) -> None:
        self._keeper = keeper
        self._collector = HeadCollector(line_limit=_HEAD_LIMIT, head_limit=_HEAD_LIMIT, opening=b"HTTP/1.")
        self._reader = ResponseHeadReader()
        self._transport: asyncio.Transport | None = None
        self._tcp: TcpTransport | None = None  # the same without TLS: compiled code calls it without a look-up
        self._consumer: ResponseConsumer | None = None
        self._decoder: ChunkedDecoder | None = None
        self._framing = UNDECIDED
        self._left = 0
        self._interims = 0
        self.requests = 0
        self._method = b""
        self._upgrade = b""
        self._eof = False
        self._reading_paused = False
        self._may_read_little = False
        self._is_chunking = False
        self._is_sending = False
        self.closed = False
        self.reused = False
        self.writing_paused = False
        self.reusable = True
        self.idle_since = 0.0
        self.deadline = NEVER
        self.next_look = NEVER
        self.place: dict[Watched, None] | None = None

    # What the exchange calls.

    def begin(self, consumer: ResponseConsumer, outgoing: Outgoing) -> None:
        assert self._transport is not None
        request = outgoing.request
        body_bytes = request.body_bytes
        self._consumer = consumer
        self._method = request.method
        self._upgrade = request.upgrade
        self._framing = UNDECIDED
        self._interims = 0
        self._may_read_little = request.protocol == HTTP_2_0  # the client may have a hundred answers that it leaves
        self._is_sending = body_bytes != 0
        self._is_chunking = body_bytes is None
        self.requests += 1
        self.deadline = NEVER
        if outgoing.connection and outgoing.connection == _CLOSE:
            self.reusable = False
        self._write(fields.endpoint_request_head(outgoing))

    def send(self, data: bytes) -> None:
        tcp = self._tcp
        if tcp is not None and not self._is_chunking and not self.closed:  # as `_write` does, without its call
            tcp.write(data)
        else:
            self._write(encode_chunk(data) if self._is_chunking else data)

    def finish(self, trailers: Trailers, data: bytes = b"") -> None:
        if data:
            self.send(data)
        self._is_sending = False
        if self._is_chunking:
            self._write(encode_last_chunk(trailers))

    def finish_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing() and self._transport.can_write_eof():
            self._transport.write_eof()

    def release(self) -> None:
        """Ends the exchange. Bytes that arrive from now on make the connection unusable.

        A request that was answered before it was sent whole does so too, because the endpoint never gets its rest.
        """
        self._consumer = None
        if self.writing_paused or self._is_sending:
            self.reusable = False
        if self._reading_paused:
            self.resume()
        keeper = self._keeper
        keeper.give_back(self)

    def hold(self) -> None:
        if not self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = True
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._reading_paused = False
            self._transport.resume_reading()

    def reset(self) -> None:
        """Cuts the connection."""
        self.reusable = False
        if self._transport is not None and not self.closed:
            self._transport.abort()

    def abort(self) -> None:
        self.reset()

    def is_failing(self) -> bool:
        """Whether the transport is at its end, of which the connection may hear only in the next turn."""
        return self._transport is not None and self._transport.is_closing()

    def expire(self) -> None:
        """Closes the connection, because it was idle for too long."""
        if self._consumer is None:
            self.reset()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        given: object = transport
        transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        # At most one chunk waits in memory. Not 0: the TLS transports would take an empty buffer for a full one.
        transport.set_write_buffer_limits(high=1, low=0)
        self._transport = transport
        self._tcp = given if isinstance(given, TcpTransport) else None

    def get_buffer(self, sizehint: int) -> memoryview:
        consumer = self._consumer
        if self._may_read_little and consumer is not None and consumer.reads_little():
            return SMALL_PIECE
        return PIECE

    def buffer_updated(self, nbytes: int) -> None:
        if nbytes < _MANY_BYTES or not self._start_large(nbytes):
            self.data_received(calls.taken(MEMORY, nbytes))  # as the base class does, but compiled without a look-up

    def _start_large(self, nbytes: int) -> bool:
        """Takes a head that is known and much of its body, which is copied once. Whether that came."""
        collector, reader = self._collector, self._reader
        if self._consumer is None or self._framing != UNDECIDED or collector.pending:
            return False
        known = reader.recognise(bytes(PIECE[:REMEMBERED_BYTES_MAX]), self._method)
        if known is None:
            return False
        try:
            self._start_response(known, bytes(PIECE[reader.known_bytes : nbytes]))
        except Refusal:
            self._fail(ErrorKind.INVALID_RESPONSE)
        return True

    def data_received(self, data: bytes) -> None:
        if self._consumer is None:
            self.reset()
            return
        try:
            if self._framing == UNDECIDED:
                collector, reader = self._collector, self._reader
                known = None if collector.pending else reader.recognise(data, self._method)
                if known is not None:
                    text = data  # which compiled code slices without a slice object
                    self._start_response(known, text[reader.known_bytes : len(data)])
                    return
                collector.add(data)
                self._take_heads()
            else:
                self._take_body(data)
        except Refusal:
            self._fail(ErrorKind.INVALID_RESPONSE)

    def eof_received(self) -> bool:
        self._eof = True
        self.reusable = False
        if self.writing_paused and self._framing != UNTIL_CLOSE:
            self.reset()  # no response will come, and the endpoint may never read the rest of the request
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self.reusable = False
        keeper = self._keeper
        keeper.lost(self)
        consumer = self._consumer
        if consumer is None:
            return
        if self._framing == UNTIL_CLOSE and self._eof and exc is None:  # our own abort gives no exception either
            consumer.response_end(())
        else:
            consumer.endpoint_failed(ErrorKind.ENDPOINT_CLOSED)

    def pause_writing(self) -> None:
        self.writing_paused = True
        consumer = self._consumer
        if consumer is not None:
            consumer.endpoint_paused()

    def resume_writing(self) -> None:
        self.writing_paused = False
        consumer = self._consumer
        if consumer is not None:
            consumer.endpoint_resumed()

    def _write(self, data: bytes) -> None:
        tcp = self._tcp
        if self.closed:
            return
        if tcp is not None:
            tcp.write(data)
        elif self._transport is not None:
            self._transport.write(data)

    def _fail(self, kind: ErrorKind) -> None:
        consumer = self._consumer
        self._consumer = None
        self.reset()
        if consumer is not None:
            consumer.endpoint_failed(kind)

    def _take_heads(self) -> None:
        collector, reader = self._collector, self._reader
        while (head := collector.take_head()) is not None:
            response = reader.read(head, self._method, collector.take_lines())
            if response.status >= 200:
                self._start_response(response, collector.take_rest())
                return
            if response.status == 101 and self._upgrade and response.upgrade.lower() == self._upgrade.lower():
                self._start_tunnel(response)
                return
            self._interims += 1
            if response.status == 101 or self._interims > _INTERIM_MAX:
                raise Refusal(ErrorKind.INVALID_RESPONSE, "a 101 that was not asked for, or too many 1xx")
            consumer = self._consumer
            assert consumer is not None
            consumer.interim(response)

    def _start_response(self, response: Http1Response, data: bytes) -> None:
        assert self._consumer is not None
        framing = response.framing
        self._framing = framing
        if not response.keep_alive or framing == UNTIL_CLOSE:
            self.reusable = False
        trailers: Trailers | None = None
        if framing == CHUNKED:
            decoder = ChunkedDecoder(ErrorKind.INVALID_RESPONSE)
            self._decoder = decoder
            data, trailers = self._decode(data, decoder)
        elif framing >= 0:
            if len(data) > framing:
                self.reusable = False  # more than one answer to one request
                data = data[:framing]
            self._left = framing - len(data)
            trailers = None if self._left else ()
        consumer = self._consumer
        if trailers is not None:
            self._consumer = None
        consumer.response_started(response, data, trailers)

    def _start_tunnel(self, response: Http1Response) -> None:
        collector, consumer = self._collector, self._consumer
        assert consumer is not None
        self._framing = UNTIL_CLOSE
        self.reusable = False
        consumer.switched(response, collector.take_rest())

    def _take_body(self, data: bytes) -> None:
        consumer = self._consumer
        assert consumer is not None
        decoder = self._decoder
        if decoder is not None:
            data, trailers = self._decode(data, decoder)
            if data:
                consumer.response_data(data)
            if trailers is not None:
                self._end(trailers)
        elif self._framing == UNTIL_CLOSE:
            consumer.response_data(data)
        else:
            if len(data) > self._left:
                self.reusable = False
                data = data[: self._left]
            self._left -= len(data)
            consumer.response_data(data)
            if self._left == 0:
                self._end(())

    def _decode(self, data: bytes, decoder: ChunkedDecoder) -> tuple[bytes, Trailers | None]:
        pieces, rest = decoder.feed(data)
        if rest:
            self.reusable = False
        if decoder.done:
            self._decoder = None
        return pieces[0] if len(pieces) == 1 else b"".join(pieces), decoder.trailers if decoder.done else None

    def _end(self, trailers: Trailers) -> None:
        consumer = self._consumer
        self._consumer = None
        if consumer is not None:
            consumer.response_end(trailers)
