"""What comes on a client's connection: events of the engine become requests, their bodies and their ends.

Must not know the transport, nor routes, endpoints or answers.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from typing import Protocol

from balancer.errors import ErrorKind, Refusal
from balancer.http.current import CurrentSettings
from balancer.http.messages import Fields, RequestHead
from balancer.http.origin import Origin
from balancer.http.streams import RequestServer
from balancer.http2.budgets import FLOOD_KINDS
from balancer.http2.client_stream import Http2RequestStream, StreamCarrier
from balancer.http2.events import (
    CANCEL,
    CLOSED,
    DATA,
    ENHANCE_YOUR_CALM,
    FAULT,
    HEAD,
    INTERNAL_ERROR,
    PING_ACK,
    RESET,
    TRAILERS,
    WINDOW,
    Event,
)
from balancer.http2.fields import trailers_of
from balancer.http2.outflow import Outflow
from balancer.http2.requests import RequestReader

_LOG = logging.getLogger(__name__)
_MISDIRECTED = Refusal(ErrorKind.MISDIRECTED, "a host with another certificate")


class FaultTally(Protocol):
    """Counts what goes wrong on connections of clients."""

    def http2_reset(self, kind: str, count: int = 1) -> None:
        """So many requests were broken off.

        By the `client`, as `malformed`, or because their answers were `cut` or `unread`.
        """

    def http2_flood(self, kind: str) -> None:
        """A connection was closed because of a flood: one of `FLOOD_KINDS`, or `other`."""


class RequestCarrier(StreamCarrier):
    """The connection as its intake sees it. `secure`: its client speaks TLS."""

    __slots__ = ("secure",)

    secure: bool

    def await_end(self, stream: Http2RequestStream) -> None:
        """A request has begun that must end with nothing."""
        raise NotImplementedError

    def pinged(self, data: bytes) -> None:
        """The client answers a PING."""
        raise NotImplementedError

    def over(self) -> None:
        """The engine has ended the connection."""
        raise NotImplementedError

    def end_soon(self) -> None:
        """Tells the client to send no further request."""
        raise NotImplementedError


class Intake:
    """The requests of one connection that are under way, in `streams` by number. `requests` is how many came."""

    __slots__ = (
        "_connection",
        "_current",
        "_errors",
        "_outflow",
        "_reader",
        "_served",
        "_serves",
        "origin",
        "requests",
        "server",
        "streams",
        "tally",
    )

    def __init__(
        self,
        connection: RequestCarrier,
        settings: CurrentSettings,
        outflow: Outflow,
        serves: Callable[[str], bool] | None,
        tally: FaultTally,
    ) -> None:
        """`serves` says whether a host may be asked for on this connection, by its certificate; None: every host."""
        self._connection: RequestCarrier | None = connection  # None once that is gone
        self._current = settings
        self._outflow = outflow
        self.tally = tally
        self._errors = 0  # of the client, those that were counted
        proxy = settings.proxy
        self._reader = RequestReader(
            field_bytes=proxy.head_line_bytes,
            fields_max=proxy.http2.head_lines_max,
            list_bytes=proxy.http2.head_bytes,
        )
        self._serves = serves
        self._served = b""  # the host that `serves` allowed last
        self.streams: dict[int, Http2RequestStream] = {}
        self.server: RequestServer | None = None
        self.origin: Origin | None = None
        self.requests = 0

    def take(self, events: list[Event]) -> None:
        """What the engine reports, in its order."""
        fed: list[Http2RequestStream] = []
        for event in events:
            kind, number = event[0], event[1]
            if kind == HEAD:
                self._take_head(number, event[2], event[3])
            elif kind == CLOSED:
                self._take_closed(number)
            elif kind == WINDOW or not number:
                self._take_of_connection(event)
            else:
                self._take_for(number, event, fed)
        for stream in fed:
            stream.is_fed = False
            try:  # as `guarded` does, without a bound method for each request
                stream.deliver()
            except Exception:
                self._fail(stream.number)

    def pause_all(self) -> None:
        """The client does not read."""
        for stream in tuple(self.streams.values()):
            self.guarded(stream.number, stream.pause)

    def follow_windows(self, is_stuck: bool) -> bool:
        """Holds streams whose windows are empty, and lets others go on. Returns whether streams were reset by that."""
        outflow, windows = self._outflow, self._outflow.windows
        waiting, freed = windows.sort(is_stuck)
        for stream in waiting:
            if stream.number in self.streams:
                self.guarded(stream.number, stream.pause)
        for stream in freed:
            self.guarded(stream.number, stream.unpause)
        return not is_stuck and outflow.reset_unread()

    def count_errors(self, errors: int) -> None:
        """So many streams have ended by now because of errors of the client."""
        if fresh := errors - self._errors:
            self._errors = errors
            self.tally.http2_reset("malformed", fresh)

    def lose_all(self) -> None:
        """The connection is gone, or no stream of it counts any more."""
        lost, outflow = tuple(self.streams.values()), self._outflow
        self.streams.clear()
        outflow.clear()
        for stream in lost:
            self.guarded(stream.number, stream.lose)

    def let_go(self) -> RequestServer | None:
        """The connection is gone, and nothing is taken any more. Returns the server, which has to hear of it.

        All of them know each other. The garbage collector would find what they hold too late: with ngh2 it sees
        nothing of the bytes that wait for a client.
        """
        server = self.server
        self.server = None
        self._connection = None
        return server

    def drop_unread(self) -> None:
        """Resets the streams whose answers wait for the client."""
        connection, outflow = self._connection, self._outflow
        assert connection is not None
        engine = connection.engine
        waiting = [number for number in {**self.streams, **outflow.last_writes} if engine.queued(number)]
        if waiting:
            self.tally.http2_reset("unread", len(waiting))
        for number in waiting:
            engine.reset(number, CANCEL)
            outflow.closed(number)
            stream = self.streams.pop(number, None)
            if stream is not None:
                outflow.forget(stream)
                self.guarded(stream.number, partial(stream.lose, ErrorKind.UNREAD))

    def guarded(self, number: int, step: Callable[[], None]) -> None:
        """Carries out a step of the request on stream `number`. A mistake of ours costs that request and no other."""
        try:
            step()
        except Exception:
            self._fail(number)

    def _fail(self, number: int) -> None:
        """Breaks off a request after an unexpected exception."""
        _LOG.exception("a stream failed")
        connection = self._connection
        assert connection is not None
        self.streams.pop(number, None)
        connection.break_off(number, INTERNAL_ERROR)

    def _take_head(self, number: int, fields: Fields, ends: bool) -> None:
        origin, connection = self.origin, self._connection
        assert origin is not None
        assert connection is not None
        stream = self.streams[number] = Http2RequestStream(connection, number, origin, connection.secure, ends)
        self.requests += 1
        if self.requests >= self._current.proxy.keep_alive_requests:
            connection.end_soon()
        try:
            self._admit(stream, fields, ends)
        except Exception:
            self._fail(stream.number)

    def _admit(self, stream: Http2RequestStream, fields: Fields, ends: bool) -> None:
        """Hands over the request, or what is wrong with it."""
        server, reader = self.server, self._reader
        assert server is not None
        try:
            request = reader.read(fields, ends)
        except Refusal as refusal:
            server.request_refused(stream, refusal)
            return
        if self._serves is not None and request.host_name != self._served:
            if not self._serves(request.host_name.decode("ascii")):
                server.request_refused(stream, _MISDIRECTED, request)
                return
            self._served = request.host_name
        if ends or request.body_bytes != 0:
            server.request_came(stream, request)
        else:
            connection = self._connection
            assert connection is not None
            stream.unbegun = request
            connection.await_end(stream)

    def _begin(self, stream: Http2RequestStream, request: RequestHead) -> None:
        server = self.server
        assert server is not None
        try:
            server.request_came(stream, request)
        except Exception:
            self._fail(stream.number)

    def _take_closed(self, number: int) -> None:
        """A stream is gone in both directions. One whose answer is whole was not lost."""
        outflow = self._outflow
        outflow.closed(number)
        stream = self.streams.pop(number, None)
        if stream is not None:
            outflow.forget(stream)
            if not stream.is_answered:
                self.guarded(stream.number, stream.lose)

    def _take_of_connection(self, event: Event) -> None:
        kind, connection = event[0], self._connection
        assert connection is not None
        if kind == WINDOW:
            self._outflow.windows.has_room = True
        elif kind == PING_ACK:
            connection.pinged(event[2])
        elif kind == FAULT:
            if event[2] == ENHANCE_YOUR_CALM:
                why = event[3]
                self.tally.http2_flood(why if why in FLOOD_KINDS else "other")  # a library has words of its own
            connection.over()

    def _take_for(self, number: int, event: Event, fed: list[Http2RequestStream]) -> None:
        """What came for one request. Its body is delivered once for all pieces of a turn."""
        kind, stream = event[0], self.streams.get(number)
        if stream is None:
            if kind == DATA:
                self._drop(number, len(event[2]))
            return
        if kind == RESET:
            outflow = self._outflow
            del self.streams[number]
            outflow.forget(stream)
            self.tally.http2_reset("client")
            self.guarded(stream.number, stream.lose)
            return
        if kind == DATA:
            if event[2]:
                stream.take(event[2])
            if event[3]:
                self._take_end(stream, ())
        elif kind == TRAILERS:
            self._take_end(stream, event[2])
        if not stream.is_fed:
            stream.is_fed = True
            fed.append(stream)

    def _drop(self, number: int, size: int) -> None:
        """Gives back what came for a request that is over."""
        connection = self._connection
        assert connection is not None
        engine = connection.engine
        engine.received(number, size)

    def _take_end(self, stream: Http2RequestStream, fields: Fields) -> None:
        try:
            stream.take_end(trailers_of(fields, ErrorKind.BAD_REQUEST) if fields else ())
        except Refusal as refusal:
            self.guarded(stream.number, partial(stream.refuse, refusal))
        request = stream.unbegun
        if request is not None:
            outflow = self._outflow
            stream.unbegun = None
            outflow.closed(stream.number)
            self._begin(stream, request)
