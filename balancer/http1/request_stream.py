"""The current request of a client's connection: reads its body and writes its response.

Responsible for what HTTP/1 adds to messages: chunks, `Connection`, and whether another request may follow. It must not
know routes, endpoints or answers.
"""

from __future__ import annotations

import asyncio
import sys

from balancer.connections.unread import Unread, Unreading
from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import RequestConsumer
from balancer.http.edits import HeadEdit
from balancer.http.messages import HTTP_1_1, RequestHead, ResponseHead, Trailers
from balancer.http.origin import Origin
from balancer.http.streams import ClientStream
from balancer.http1.chunked import ChunkedDecoder, encode_chunk, encode_last_chunk
from balancer.http1.fields import client_response_head, interim_response, must_chunk, switching_response
from balancer.runtime.tcp import TcpTransport

_CHUNKED_BYTES_A_TURN = 16 * 1024  # as one-byte chunks they take 3 ms to decode, for which other connections wait


class Carrier:
    """The connection as its request stream sees it.

    `ending`: the current answer is the last one. `eof`: the client has sent its end.
    """

    __slots__ = ("ending", "eof")

    ending: bool
    eof: bool

    def next_request(self) -> None:
        """The current request is answered and the connection continues. Hands over the next request, now or later."""
        raise NotImplementedError

    def close(self, expected: bool = False) -> None:
        """Closes when everything written has been sent. Later bytes get no RST, unless the end is `expected`."""
        raise NotImplementedError

    def take_rest(self) -> bytes:
        """Takes the bytes that have arrived after the head of the current request."""
        raise NotImplementedError

    def put_back(self, data: bytes) -> None:
        """Puts back bytes that do not belong to the current request."""
        raise NotImplementedError

    def put_off(self, is_put_off: bool) -> None:
        """Pauses reading while the stream postpones bytes that have arrived."""
        raise NotImplementedError

    def pause_reading(self) -> None:
        raise NotImplementedError

    def resume_reading(self) -> None:
        raise NotImplementedError

    def data_received(self, data: bytes) -> None:
        """Takes bytes as if they had come from the client now."""
        raise NotImplementedError

    def abort(self) -> None:
        """Cuts the connection at once."""
        raise NotImplementedError


class Http1RequestStream(ClientStream, Unreading):
    """The request stream of a connection. The connection makes one and uses it again for each request.

    `is_unread`: the connection is cut because its client leaves too much unread.
    """

    __slots__ = (
        "_body_bytes",
        "_connection",
        "_consumer",
        "_decoder",
        "_goes_on",
        "_is_body_whole",
        "_is_chunking",
        "_is_tunnel",
        "_keep_alive",
        "_left",
        "_protocol",
        "_put_off_data",
        "_tcp",
        "_transport",
        "_unread_bound",
        "is_unread",
        "peer",
    )

    def __init__(self, connection: Carrier, unread: Unread, secure: bool) -> None:
        """`unread` is what waits on all connections for want of readers."""
        self._unread_bound = unread
        # All three become None when the connection has closed, so that no cycle is left to the garbage collector. The
        # transport stands in `_tcp`, too, if it is one without TLS: compiled code calls that without a look-up.
        self._connection: Carrier | None = connection
        self._transport: asyncio.Transport | None = None
        self._tcp: TcpTransport | None = None
        self.secure = secure
        self._consumer: RequestConsumer | None = None
        self._decoder: ChunkedDecoder | None = None
        self._put_off_data = b""
        self.is_unread = False
        self._left = 0
        self._is_chunking = False
        self._is_tunnel = False
        self.body_begun = False
        self.closed = False
        self.writing_paused = False

    # What the connection calls.

    def open(self, transport: asyncio.Transport, origin: Origin) -> None:
        """The connection is open. A TLS handshake may have paused writing before."""
        given: object = transport
        self._transport = transport
        self._tcp = given if isinstance(given, TcpTransport) else None
        self.origin = origin
        self.peer = origin.peer

    def begin(self, request: RequestHead, keep_alive: bool, last: bool) -> None:
        """Begins a request. `keep_alive`: the client allows another one. `last`: the connection is at its limit."""
        body_bytes = request.body_bytes
        self._body_bytes = body_bytes
        self._is_body_whole = body_bytes == 0
        self._keep_alive = keep_alive
        self._protocol = request.protocol
        self.last = last
        self._goes_on = False
        self.body_begun = False

    def begin_refused(self) -> None:
        """Begins a request that is refused. It is the last one, because the next request has no known start."""
        self._body_bytes = None
        self._protocol = HTTP_1_1
        self._is_body_whole = False
        self._keep_alive = False
        self._goes_on = False
        self.body_begun = False
        self.last = True

    def take(self, data: bytes) -> bool:
        """Takes arriving bytes, if they belong to the body or to a tunnel. Whether they do."""
        consumer = self._consumer
        if consumer is not None and self._is_tunnel:  # as `feed` does, with less for each message
            self.body_begun = True
            consumer.request_data(data)
            return True
        if not self.takes_body():
            return False
        self.feed(data)
        return True

    def takes_body(self) -> bool:
        """Whether arriving bytes belong to the body or to a tunnel."""
        return self._consumer is not None and (self._left > 0 or self._decoder is not None)

    def feed(self, data: bytes) -> None:
        """Takes bytes of the body. Bytes after its end are put back."""
        connection, consumer = self._connection, self._consumer
        assert connection is not None
        assert consumer is not None
        self.body_begun = True
        decoder = self._decoder
        if decoder is not None:
            if len(data) > _CHUNKED_BYTES_A_TURN:
                # The rest follows in a later turn, so that a body of a million chunks does not delay other requests.
                self._put_off_data = data[_CHUNKED_BYTES_A_TURN:]
                data = data[:_CHUNKED_BYTES_A_TURN]
                connection.put_off(True)
                asyncio.get_running_loop().call_soon(self._take_put_off)
            self._feed_chunked(data, decoder, consumer)
            return
        if len(data) > self._left:
            connection.put_back(data[self._left :])
            data = data[: self._left]
        self._left -= len(data)
        self._is_body_whole = self._left == 0
        consumer.request_data(data)
        # A consumer that has refused the data gets no end, and neither does a consumer that replaced it.
        if self._left == 0 and self._consumer is consumer:
            consumer.request_end(())

    def end_of_input(self) -> None:
        """The client has sent EOF. An incomplete body can never become whole."""
        if self.takes_body() and not self._put_off_data:
            self._cut_short()

    def end_tunnel(self) -> None:
        """Half-closes a tunnel: bytes of the client are dropped, and bytes of the endpoint are still relayed."""
        if self._is_tunnel:
            self._cut_short()

    def connection_lost(self) -> None:
        self.closed = True
        if self.writing_paused:
            unread = self._unread_bound
            unread.note(self, 0)
        consumer = self._consumer
        if consumer is not None:
            consumer.client_lost(ErrorKind.UNREAD if self.is_unread else ErrorKind.CLIENT_LEFT)
        self._connection = None
        self._transport = None
        self._tcp = None

    def pause_writing(self) -> None:
        self.writing_paused = True
        consumer = self._consumer
        if consumer is not None:
            consumer.client_paused()
        if self._transport is not None:
            unread = self._unread_bound
            unread.note(self, self._transport.get_write_buffer_size())

    def resume_writing(self) -> None:
        self.writing_paused = False
        unread, consumer = self._unread_bound, self._consumer
        unread.note(self, 0)
        if consumer is not None:
            consumer.client_resumed()

    def drop_unread(self) -> None:
        self.is_unread = True
        self.reset()

    # What the exchange calls.

    def attach(self, consumer: RequestConsumer) -> None:
        self._consumer = consumer

    def detach(self) -> None:
        self._consumer = None
        self._is_tunnel = False

    def start_body(self) -> None:
        connection = self._connection
        if connection is None:
            return
        if not self.body_begun:
            self._decoder = ChunkedDecoder(ErrorKind.BAD_REQUEST) if self._body_bytes is None else None
            self._left = self._body_bytes or 0
        self._flow(connection)

    def hold(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.pause_reading()

    def resume(self) -> None:
        connection = self._connection
        if connection is not None:
            connection.resume_reading()

    def interim(self, head: ResponseHead) -> None:
        if self._protocol == HTTP_1_1:
            self._write(interim_response(head))

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        chunked = head.body_bytes is None and must_chunk(None, self._protocol)
        self._is_chunking = chunked
        connection = self._connection
        # An unread rest of the request, or a response that ends with the connection, closes the connection.
        goes_on = False
        if connection is not None and not connection.ending and (chunked or head.body_bytes is not None):
            goes_on = self._keep_alive and self._is_body_whole and not self.last
        self._goes_on = goes_on
        written = client_response_head(head, self._protocol, chunked, goes_on, edit)
        if data:
            written += encode_chunk(data) if chunked else data
        if chunked and trailers is not None:
            written += encode_last_chunk(trailers)
        self._write(written)  # in one write, because system calls cost most

    def send(self, data: bytes) -> None:
        tcp = self._tcp
        if tcp is not None and not self._is_chunking:  # as `_write` does, which would cost each piece a call
            tcp.write(data)
        else:
            self._write(encode_chunk(data) if self._is_chunking else data)

    def finish(self, trailers: Trailers) -> None:
        if self._is_chunking:
            self._write(encode_last_chunk(trailers))

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        connection = self._connection
        if connection is None:
            return
        self._write(switching_response(head, edit) + data)
        self._is_chunking = False
        self._left = sys.maxsize
        self._is_tunnel = True
        self._flow(connection)

    def reset(self) -> None:
        self._goes_on = False
        connection = self._connection
        if connection is not None:
            connection.abort()

    def release(self) -> None:
        self._consumer = None
        self._decoder = None
        self._left = 0
        connection = self._connection
        if connection is None:
            return
        if self._goes_on:
            connection.next_request()
        else:
            # A client that asked for the close, and sends no body, expects that the connection closes.
            connection.close(not self._keep_alive and self._body_bytes == 0)

    # Input.

    def _write(self, data: bytes) -> None:
        tcp = self._tcp
        if tcp is not None:
            tcp.write(data)
        elif self._transport is not None:
            self._transport.write(data)

    def _flow(self, connection: Carrier) -> None:
        """Gives the consumer the bytes that have arrived, and from now on those that arrive."""
        rest = connection.take_rest()
        connection.resume_reading()  # reading may have paused while bytes waited for a consumer
        if rest:
            self.feed(rest)
        if connection.eof:
            self.end_of_input()

    def _take_put_off(self) -> None:
        data = self._put_off_data
        self._put_off_data = b""
        connection = self._connection
        if connection is None:
            return
        connection.put_off(False)
        if self.takes_body():
            self.feed(data)
            if connection.eof:
                self.end_of_input()
        else:
            connection.data_received(data)

    def _feed_chunked(self, data: bytes, decoder: ChunkedDecoder, consumer: RequestConsumer) -> None:
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
            self._is_body_whole = True
            connection = self._connection
            if connection is not None:
                connection.put_back(rest)
            if self._consumer is consumer:
                consumer.request_end(decoder.trailers)

    def _cut_short(self) -> None:
        consumer = self._consumer
        assert consumer is not None
        self._left = 0
        self._decoder = None
        self._is_tunnel = False
        consumer.request_failed(Refusal(ErrorKind.BAD_REQUEST, "a request body that ends too early"))
