"""One request on a client's HTTP/2 connection: its body comes in pieces, its response goes to the engine.

A body is given back to its window as its consumer takes it, so a stream that is held back holds no other. Must not know
routes, endpoints or answers.
"""

from __future__ import annotations

from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import RequestConsumer
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, RequestHead, ResponseHead, Trailers
from balancer.http.origin import Origin
from balancer.http.streams import ClientStream
from balancer.http2.engine import Engine
from balancer.http2.events import INTERNAL_ERROR
from balancer.http2.fields import trailer_fields
from balancer.http2.flushing import BYTES_A_WRITE, Flushed, Flusher
from balancer.http2.responses import client_fields, interim_fields

_CROWD_BYTES = 1024 * 1024  # of all answers of a connection: from there on, little is read of each at once


class StreamCarrier(Flushed):
    """The connection as its streams see it. `is_stuck`: the client does not read.

    `unsent`: the most bytes of answers that may be with the engine now.
    """

    __slots__ = ("engine", "flusher", "is_stuck", "unsent")

    engine: Engine
    flusher: Flusher
    is_stuck: bool
    unsent: int

    def touch(self) -> None:
        """The engine has something to write, or a deadline may have changed."""
        if not self.is_dirty:
            flusher = self.flusher
            flusher.add(self)

    def has_written(self, stream: Http2RequestStream) -> None:
        """`stream` has written a piece of its body, and more will follow."""
        raise NotImplementedError

    def write_much(self) -> None:
        """Writes what fills a whole write, while it is in the caches of the processor and its memory can be used again.

        What became of it is looked at when the connection is flushed: whoever writes must not hear of it amid that.
        """
        raise NotImplementedError

    def give_back(self, number: int, size: int) -> None:
        """So many bytes of a body were taken: the client may send as many again."""
        raise NotImplementedError

    def break_off(self, number: int, code: int) -> None:
        """The client must not take the answer on stream `number` for a whole one."""
        raise NotImplementedError

    def stream_ended(self, stream: Http2RequestStream) -> None:
        """The request is over, and its answer is with the engine."""
        raise NotImplementedError


class Http2RequestStream(ClientStream):
    """The stream of one request. `is_answered`: the response is whole, though perhaps not written yet.

    `unbegun` is a request that says it has no body, until its end has shown it: a body would come as bytes of nothing.
    """

    __slots__ = (
        "_connection",
        "_consumer",
        "_end",
        "_is_flowing",
        "_is_held",
        "_owed",
        "_waiting",
        "is_answered",
        "is_fed",
        "is_whole",
        "number",
        "unbegun",
    )

    def __init__(self, connection: StreamCarrier, number: int, origin: Origin, secure: bool, is_whole: bool) -> None:
        """`is_whole`: the request has no body."""
        self._connection = connection
        self.number = number
        self.origin = origin
        self.secure = secure
        self._consumer: RequestConsumer | None = None
        self._waiting: bytes | bytearray = b""  # what came of the body and was not taken yet
        self._owed = 0  # bytes that were taken, but are not on their way yet
        self.unbegun: RequestHead | None = None
        self._end: Trailers | None = None  # the trailers, once the end came that nobody was told yet
        self._is_flowing = False
        self._is_held = False
        self.is_fed = False
        self.is_answered = False
        self.is_whole = is_whole
        self.closed = False
        self.body_begun = False
        self.last = False
        self.writing_paused = self._connection.is_stuck  # the typed attribute needs no look-up

    # The side of the connection.

    def take(self, data: bytes) -> None:
        """A piece of the body came. `deliver` follows in the same turn."""
        if not self._waiting:
            self._waiting = data
        elif isinstance(self._waiting, bytearray):
            self._waiting += data
        else:
            self._waiting = bytearray(self._waiting)  # a million pieces of a byte are not copied a million times
            self._waiting += data

    def take_end(self, trailers: Trailers) -> None:
        """The body is whole."""
        self.is_whole = True
        self._end = trailers

    def refuse(self, refusal: Refusal) -> None:
        """The rest of the body is malformed."""
        consumer = self._consumer
        if consumer is not None:
            consumer.request_failed(refusal)

    def deliver(self) -> None:
        """Gives the consumer what came, if it takes anything now."""
        consumer = self._consumer
        if consumer is None or not self._is_flowing or self._is_held:
            return
        data = self._waiting
        trailers = self._end
        self._end = None
        if data:
            piece = data if isinstance(data, bytes) else bytes(data)
            self._waiting = b""
            self.body_begun = True
            self._owed += len(piece)
            if trailers is None:
                consumer.request_data(piece)
            else:
                consumer.request_rest(piece, trailers)
            self._give_back()
        elif trailers is not None:
            self.body_begun = True
            consumer.request_end(trailers)

    def lose(self, kind: ErrorKind = ErrorKind.CLIENT_LEFT) -> None:
        """The stream is gone: its client broke it off, the connection is gone, or it was reset for what `kind` says."""
        self.closed = True
        self._drop()
        consumer = self._consumer
        if consumer is not None:
            consumer.client_lost(kind)

    def pause(self) -> None:
        """What was written does not leave. The consumer may hear it twice: it may have come after the first time."""
        self.writing_paused = True
        consumer = self._consumer
        if consumer is not None:
            consumer.client_paused()

    def unpause(self) -> None:
        """All that was written has left."""
        if self.writing_paused:
            self.writing_paused = False
            consumer = self._consumer
            if consumer is not None:
                consumer.client_resumed()

    # The side of the exchange.

    def reads_little(self) -> bool:
        connection = self._connection
        return connection.unsent >= _CROWD_BYTES or connection.flusher.unread.is_much

    def attach(self, consumer: RequestConsumer) -> None:
        self._consumer = consumer

    def detach(self) -> None:
        self._consumer = None
        self._is_flowing = False

    def start_body(self) -> None:
        self._is_flowing = True
        self._is_held = False
        self.deliver()

    def hold(self) -> None:
        self._is_held = True

    def resume(self) -> None:
        self._is_held = False
        self._give_back()
        self.deliver()

    def interim(self, head: ResponseHead) -> None:
        connection, engine = self._connection, self._connection.engine
        engine.interim(self.number, interim_fields(head))
        connection.touch()

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        connection, engine, number = self._connection, self._connection.engine, self.number
        left: Fields = trailer_fields(trailers) if trailers else ()
        ends = trailers is not None and not left
        engine.respond(number, client_fields(head, edit), ends and not data)
        if data:
            connection.unsent += len(data)
            engine.data(number, data, ends)
        if trailers is None:
            connection.has_written(self)
            return
        if not ends:
            engine.trailers(number, left)
        self.is_answered = True
        if not connection.is_dirty:  # as `touch` does, without a call for each answer
            flusher = connection.flusher
            flusher.add(connection)
        if connection.unsent >= BYTES_A_WRITE:
            connection.write_much()

    def send(self, data: bytes) -> None:
        connection = self._connection
        engine = connection.engine
        connection.unsent += len(data)
        engine.data(self.number, data, False)
        connection.has_written(self)

    def finish(self, trailers: Trailers) -> None:
        connection, engine = self._connection, self._connection.engine
        left = trailer_fields(trailers)
        if left:
            engine.trailers(self.number, left)
        else:
            engine.data(self.number, b"", True)
        self.is_answered = True
        connection.touch()

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        raise Refusal(ErrorKind.INTERNAL, "no tunnel begins over HTTP/2")  # no request has an upgrade

    def reset(self) -> None:
        if not self.closed:
            connection = self._connection
            connection.break_off(self.number, INTERNAL_ERROR)

    def release(self) -> None:
        connection = self._connection
        self._consumer = None
        if self._owed or self._waiting:
            self._drop()
        connection.stream_ended(self)

    def _give_back(self) -> None:
        """Lets the client send as much again, unless the endpoint does not take what came."""
        if self._owed and not self._is_held:
            connection, size = self._connection, self._owed
            self._owed = 0
            connection.give_back(self.number, size)

    def _drop(self) -> None:
        """Nobody takes what still waits."""
        size = self._owed + len(self._waiting)
        if size:
            self._waiting = b""
            self._owed = 0
            connection = self._connection
            connection.give_back(self.number, size)
