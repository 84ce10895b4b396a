"""Defines streams: one request and its response, apart from the connection that carries them.

HTTP/1 has one stream at a time on a connection, HTTP/2 many. `balancer/proxy/` knows only streams and messages, so it
does not depend on the version. These are base classes and not protocols, because every request passes through them. All
calls come from the event loop, one at a time.
"""

from __future__ import annotations

from typing import Protocol

from balancer.errors import Refusal
from balancer.http.consumers import RequestConsumer, ResponseConsumer
from balancer.http.edits import HeadEdit
from balancer.http.messages import Fields, RequestHead, ResponseHead, Trailers
from balancer.http.origin import Origin
from balancer.http.passing import Passing, passing
from balancer.model.entry_points import EntryPoint

_NO_NAMES: frozenset[bytes] = frozenset()
_OF_CLIENTS = passing()


class Outgoing:
    """A request as an endpoint is to get it.

    `request_id` is used unless the client sent one (behaviour of ingress-nginx); None adds none. `host` replaces the
    client's Host; None keeps that. `passing` says which fields of the client go on. `added` are further fields of this
    one request, and `removed` are names of fields of the client, in lower case, that end here. `replaced` are names, in
    lower case, of which the endpoint gets only what is in `added`, although the client or the proxy itself says others.
    An upgrade that the head names is offered to the endpoint; otherwise `connection` is what the endpoint reads in
    Connection, unless it is empty. `http_1_0`: the endpoint is spoken to in HTTP/1.0, beside a `connection`.
    """

    __slots__ = (
        "added",
        "connection",
        "host",
        "http_1_0",
        "origin",
        "passing",
        "removed",
        "replaced",
        "request",
        "request_id",
    )

    def __init__(  # noqa: PLR0917 -- by position, because names cost every request
        self,
        request: RequestHead,
        origin: Origin,
        request_id: bytes | None = None,
        host: bytes | None = None,
        passing: Passing = _OF_CLIENTS,
        added: Fields = (),
        removed: frozenset[bytes] = _NO_NAMES,
        replaced: frozenset[bytes] = _NO_NAMES,
        connection: bytes = b"",
        http_1_0: bool = False,
    ) -> None:
        self.request = request
        self.origin = origin
        self.request_id = request_id
        self.host = host
        self.passing = passing
        self.added = added
        self.removed = removed
        self.replaced = replaced
        self.connection = connection
        self.http_1_0 = http_1_0


class RequestStream:
    """One request of a client and its response.

    `origin` is that of the connection, and `secure` says whether that is TLS: neither changes during a request. Its
    state does, and only the client's stream has the places of that. `closed`: the client is gone. `writing_paused`: the
    client does not take what was written. `body_begun`: a part of the body was handed on. `last`: no request shall
    follow on the connection; a version that carries many requests at once may ignore it.
    """

    __slots__ = ("origin", "secure")

    origin: Origin
    secure: bool

    @property
    def closed(self) -> bool:
        raise NotImplementedError

    @property
    def writing_paused(self) -> bool:
        raise NotImplementedError

    @property
    def body_begun(self) -> bool:
        raise NotImplementedError

    @property
    def last(self) -> bool:
        raise NotImplementedError

    @last.setter
    def last(self, is_last: bool) -> None:
        raise NotImplementedError

    def attach(self, consumer: RequestConsumer) -> None:
        """Reports events of this request to `consumer` until `detach`."""
        raise NotImplementedError

    def detach(self) -> None:
        """Stops reporting. Later parts of the body wait for the next consumer that starts it."""
        raise NotImplementedError

    def reads_little(self) -> bool:
        """Whether little of an answer shall be read at once, because much waits for this client already."""
        return False

    def start_body(self) -> None:
        """Gives the consumer the body as it comes, after the part that an earlier consumer got."""
        raise NotImplementedError

    def hold(self) -> None:
        """Stops reading the body from the client until `resume`."""
        raise NotImplementedError

    def resume(self) -> None:
        """Reads the body from the client again."""
        raise NotImplementedError

    def interim(self, head: ResponseHead) -> None:
        """Forwards a 1xx head other than 101, if the client's version has such heads."""
        raise NotImplementedError

    def respond(self, head: ResponseHead, edit: HeadEdit, data: bytes, trailers: Trailers | None) -> None:
        """Writes the final head as `edit` changes it, and the available part of the body.

        If `trailers` is not None, the response ends with `data`. Hop-by-hop fields are never forwarded.
        """
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Writes a piece of the body, which is not empty; in a tunnel, bytes of the endpoint."""
        raise NotImplementedError

    def finish(self, trailers: Trailers) -> None:
        """The response is whole."""
        raise NotImplementedError

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        """Writes a 101 as `edit` changes it, and `data`. From here on the consumer gets the client's bytes."""
        raise NotImplementedError

    def reset(self) -> None:
        """Breaks off the response, so that the client does not take it for a complete one."""
        raise NotImplementedError

    def release(self) -> None:
        """The request is over and everything was written. The last call, made once."""
        raise NotImplementedError


class ClientStream(RequestStream):
    """A stream that a client's connection has made: it has the places of its state.

    `RequestStream` has none, because a stream between shows the state of the client's. So compiled code that knows no
    more than a `RequestStream` cannot read an empty place: it has to ask the object.
    """

    __slots__ = ("body_begun", "closed", "last", "writing_paused")

    body_begun: bool
    closed: bool
    last: bool
    writing_paused: bool


class RequestServer:
    """Serves the requests of one connection."""

    __slots__ = ()

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        """The head of a request came. Its body waits until `stream.start_body`."""
        raise NotImplementedError

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        """The request is refused, or did not come in time. `request` is its head if that is valid."""
        raise NotImplementedError

    def connection_closed(self) -> None:
        """The connection is gone. The last call; requests under way were told before."""
        raise NotImplementedError


class Connection:
    """A client connection as its holder sees it. `entry_point` is where it came in.

    `idle`: no request is under way, since `idle_since` in the loop's time; 0 before `start`.
    """

    __slots__ = ()

    entry_point: EntryPoint
    idle_since: float

    @property
    def idle(self) -> bool:
        raise NotImplementedError

    def start(self, server: RequestServer) -> None:
        """Passes incoming requests to `server`."""
        raise NotImplementedError

    def end_soon(self) -> None:
        """Tells the client, with the current answers, to send no further request."""
        raise NotImplementedError

    def shut_down(self, idle_before: float, ends_tunnels: bool) -> None:
        """Closes the connection if it has been idle since before that time of the loop, and no request is on its way.

        `ends_tunnels`: half-close a tunnel, so that its endpoint may still say goodbye.
        """
        raise NotImplementedError

    def abort(self) -> None:
        """Cuts the connection at once."""
        raise NotImplementedError


class EndpointStream:
    """One request to an endpoint and its response.

    `writing_paused`: the endpoint does not take what was written. `reused`: another request was on the connection
    before, so the endpoint may have closed it meanwhile.
    """

    __slots__ = ("reused", "writing_paused")

    writing_paused: bool
    reused: bool

    def begin(self, consumer: ResponseConsumer, outgoing: Outgoing) -> None:
        """Sends the head of a request. `consumer` gets events of the response until it has ended or failed."""
        raise NotImplementedError

    def send(self, data: bytes) -> None:
        """Sends a piece of the body, which is not empty; in a tunnel, bytes of the client."""
        raise NotImplementedError

    def finish(self, trailers: Trailers, data: bytes = b"") -> None:
        """Ends the body, after `data` if that is not empty. Must be called for each request with a body."""
        raise NotImplementedError

    def finish_writing(self) -> None:
        """Half-closes a tunnel, because the client will send no more."""
        raise NotImplementedError

    def hold(self) -> None:
        """Stops reading the response from the endpoint until `resume`."""
        raise NotImplementedError

    def resume(self) -> None:
        """Reads the response from the endpoint again."""
        raise NotImplementedError

    def reset(self) -> None:
        """Breaks off the request, because its response is not wanted or cannot be trusted."""
        raise NotImplementedError

    def release(self) -> None:
        """Returns the stream to its pool, after a complete exchange or `reset`. The last call, made once."""
        raise NotImplementedError


class Awaited(Protocol):
    """A connection on its way to an endpoint."""

    def endpoint_left(self) -> None:
        """The endpoint has left its backend."""


class Pool:
    """Streams to one endpoint. Connections in `awaited` are told when the endpoint leaves its backend."""

    __slots__ = ("awaited",)

    awaited: set[Awaited]

    def lease(self, fresh: bool) -> EndpointStream | None:
        """A stream on an open connection, or None.

        `fresh` refuses a connection that was idle for so long that the endpoint may be about to close it.
        """
        raise NotImplementedError

    def drop_idle(self) -> None:
        """Closes connections that no request uses now, because the endpoint answers nothing any more."""
        raise NotImplementedError

    async def connect(self, timeout_seconds: float) -> EndpointStream:
        """A stream on a new connection, after its TLS handshake.

        Raises ssl.SSLError (the handshake does not meet the TLS settings), another OSError (refused, unreachable) or
        TimeoutError.
        """
        raise NotImplementedError
