"""One request to an endpoint over HTTP/2, and its response."""

from __future__ import annotations

import asyncio

from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import ResponseConsumer
from balancer.http.messages import Fields, Trailers
from balancer.http.streams import EndpointStream, Outgoing
from balancer.http2.engine import Engine
from balancer.http2.events import CANCEL, REFUSED_STREAM
from balancer.http2.fields import trailer_fields
from balancer.http2.flushing import Flushed
from balancer.http2.onward import endpoint_request_fields
from balancer.http2.responses import ResponseReader

_INTERIM_MAX = 8  # 1xx responses to one request; more is an invalid response


class EndpointCarrier(Flushed):
    """The connection as its streams see it.

    `is_stuck`: the endpoint reads nothing now. `reader` reads heads of responses. `secure`: it is spoken to over TLS.
    """

    __slots__ = ("is_stuck", "reader", "secure")

    is_stuck: bool
    reader: ResponseReader
    secure: bool

    def opened(self, stream: Http2EndpointStream, number: int) -> None:
        """The head of a request is queued under this number."""
        raise NotImplementedError

    def wrote(self, stream: Http2EndpointStream) -> None:
        """Bytes of a body are queued."""
        raise NotImplementedError

    def mark(self) -> None:
        """Something is queued, which is written at the end of this turn."""
        raise NotImplementedError

    def unused(self) -> None:
        """A stream that was leased has ended before it began."""
        raise NotImplementedError

    def now(self) -> float:
        """The time of the loop, in seconds."""
        raise NotImplementedError

    def given_up(self, began_at: float) -> None:
        """A request that began at `began_at`, a time of the loop, was given up before its response ended."""
        raise NotImplementedError


class Http2EndpointStream(EndpointStream):
    """A stream for one request. `number` is 0 until it begins. `was_reset`: the endpoint has sent RST_STREAM.

    `_owed` are bytes that came while the client does not read; the endpoint may send as many more when it reads again.
    """

    __slots__ = (
        "_began_at",
        "_connection",
        "_consumer",
        "_engine",
        "_has_body",
        "_interims",
        "_is_held",
        "_is_sending",
        "_method",
        "_owed",
        "number",
        "was_reset",
    )

    def __init__(self, connection: EndpointCarrier, engine: Engine, reused: bool) -> None:
        self._connection = connection
        self._engine = engine
        self.reused = reused
        self._consumer: ResponseConsumer | None = None
        self._method = b""
        self._is_held = False
        self._has_body = False
        self._is_sending = False
        self.was_reset = False
        self._owed = 0
        self._interims = 0
        self.number = 0
        self._began_at = 0.0
        self.writing_paused = self._connection.is_stuck  # by its typed attribute, which needs no look-up

    # The exchange's side.

    def begin(self, consumer: ResponseConsumer, outgoing: Outgoing) -> None:
        request, connection, engine = outgoing.request, self._connection, self._engine
        self._consumer = consumer
        self._method = request.method
        self._is_sending = request.body_bytes != 0
        self._has_body = self._is_sending
        self._began_at = connection.now()
        number = engine.request(endpoint_request_fields(outgoing, connection.secure), not self._is_sending)
        self.number = number
        if number:
            connection.opened(self, number)
        else:  # not at once: the exchange has only begun
            asyncio.get_running_loop().call_soon(self.fail, ErrorKind.ENDPOINT_REFUSED)

    def send(self, data: bytes) -> None:
        connection, engine = self._connection, self._engine
        engine.data(self.number, data, False)
        connection.wrote(self)

    def finish(self, trailers: Trailers, data: bytes = b"") -> None:
        connection, engine = self._connection, self._engine
        self._is_sending = False
        fields = trailer_fields(trailers) if trailers else ()
        if data or not fields:
            engine.data(self.number, data, not fields)
        if fields:
            engine.trailers(self.number, fields)
        if data:
            connection.wrote(self)
        else:
            connection.mark()

    def finish_writing(self) -> None:
        """There are no tunnels over HTTP/2: CONNECT is refused, and no endpoint switches protocols."""

    def hold(self) -> None:
        self._is_held = True

    def resume(self) -> None:
        self._is_held = False
        self._give_back()

    def reset(self) -> None:
        """Breaks off the stream; its connection goes on."""
        if self._consumer is not None:
            connection = self._connection
            self._consumer = None
            connection.given_up(self._began_at)
        self._end_stream()

    def release(self) -> None:
        """The endpoint need not send more, nor get the rest of a request that it has answered early."""
        self._consumer = None
        if not self.number:
            connection = self._connection
            connection.unused()
            return
        engine = self._engine
        # What waits for a window would keep the stream open for as long as the endpoint opens none.
        if self._has_body and (self._is_sending or engine.queued(self.number)):
            self._end_stream()
        self._is_held = False
        self._give_back()

    # The connection's side.

    def head_came(self, fields: Fields, is_bodiless: bool, data: bytes, trailers: Trailers | None) -> None:
        """The head, and what came with it of the body. `is_bodiless`: it has none. `trailers` not None: that is all."""
        consumer = self._consumer
        if consumer is None:
            self._took(len(data))
            return
        reader = self._connection.reader
        try:
            response = reader.read(fields, self._method, is_bodiless)
            if trailers:
                trailers = reader.trailers(trailers)
        except Refusal:
            self._took(len(data))
            self._refuse(consumer)
            return
        if trailers is not None:
            self._consumer = None
        consumer.response_started(response, data, trailers)
        self._took(len(data))

    def interim_came(self, fields: Fields) -> None:
        consumer = self._consumer
        if consumer is None:
            return
        self._interims += 1
        reader = self._connection.reader
        try:
            response = reader.read(fields, self._method, False)
        except Refusal:
            self._refuse(consumer)
            return
        if response.status >= 200 or self._interims > _INTERIM_MAX:
            self._refuse(consumer)
            return
        consumer.interim(response)

    def data_came(self, data: bytes, ends: bool) -> None:
        consumer = self._consumer
        if consumer is not None:
            if data:
                consumer.response_data(data)
            if ends and self._consumer is consumer:
                self._consumer = None
                consumer.response_end(())
        self._took(len(data))

    def trailers_came(self, fields: Fields) -> None:
        consumer = self._consumer
        if consumer is None:
            return
        reader = self._connection.reader
        try:
            trailers = reader.trailers(fields)
        except Refusal:
            self._refuse(consumer)
            return
        self._consumer = None
        consumer.response_end(trailers)

    def closed_with(self, code: int) -> None:
        """The stream is gone. Its response is not whole, unless it has ended before."""
        self._give_back()
        self.reused = False  # its connection goes on: the endpoint did not close it before it saw the request
        if code == REFUSED_STREAM:
            self.fail(ErrorKind.ENDPOINT_REFUSED)
        else:  # what the endpoint has not reset, the engine has
            self.fail(ErrorKind.ENDPOINT_CLOSED if self.was_reset else ErrorKind.INVALID_RESPONSE)

    def fail(self, kind: ErrorKind) -> None:
        consumer = self._consumer
        self._consumer = None
        if consumer is not None:
            consumer.endpoint_failed(kind)

    def break_off(self) -> None:
        """Ends the stream after an unexpected exception."""
        self._end_stream()
        self.fail(ErrorKind.ENDPOINT_CLOSED)

    def pause(self) -> None:
        if not self.writing_paused:
            consumer = self._consumer
            self.writing_paused = True
            if consumer is not None:
                consumer.endpoint_paused()

    def unpause(self) -> None:
        if self.writing_paused:
            consumer = self._consumer
            self.writing_paused = False
            if consumer is not None:
                consumer.endpoint_resumed()

    def _refuse(self, consumer: ResponseConsumer) -> None:
        """The response is malformed."""
        self._consumer = None
        self._end_stream()
        consumer.endpoint_failed(ErrorKind.INVALID_RESPONSE)

    def _end_stream(self) -> None:
        if self.number:
            connection, engine = self._connection, self._engine
            self._has_body = False
            self._is_sending = False
            engine.reset(self.number, CANCEL)
            connection.mark()

    def _took(self, size: int) -> None:
        """So many bytes were handed over. The endpoint may send as many more, once the client reads."""
        if self._is_held:
            self._owed += size
        elif size:
            engine = self._engine
            engine.received(self.number, size)  # `data_received`, whose turn this is, looks for what to write

    def _give_back(self) -> None:
        if self._owed:
            connection, engine, size = self._connection, self._engine, self._owed
            self._owed = 0
            engine.received(self.number, size)
            connection.mark()
