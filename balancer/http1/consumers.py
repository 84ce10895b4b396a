"""What the two protocols tell whoever serves a client, and whoever carries out the current exchange.

Interfaces only: who listens is decided elsewhere. All calls come from the event loop, one at a time.
"""

from __future__ import annotations

from typing import Protocol

from balancer.errors import ErrorKind, Refusal
from balancer.http1.chunked import Trailers
from balancer.http1.heads import RequestHead, ResponseHead


class RequestServer(Protocol):
    """What serves the requests of one client connection, one after the other.

    After each of the first three calls it hears of no other request until it says that it expects one.
    """

    def request_came(self, request: RequestHead) -> None:
        """The head of the next request; its body waits until it is asked for."""

    def request_refused(self, refusal: Refusal) -> None:
        """What came is no request that is served, or did not come in time."""

    def requests_ended(self) -> None:
        """No request will come any more."""

    def client_closed(self) -> None:
        """The connection is gone; the last call."""


class BodyConsumer(Protocol):
    """What takes the body of the current request, and hears what else befalls the client."""

    def request_data(self, data: bytes) -> None:
        """A piece of the body, without its chunk framing; in a tunnel, whatever the client says."""

    def request_end(self, trailers: Trailers) -> None:
        """The body is whole."""

    def request_failed(self, refusal: Refusal) -> None:
        """The body is malformed or ends too early; in a tunnel, the client will say no more."""

    def client_lost(self) -> None:
        """The connection is gone."""

    def client_paused(self) -> None:
        """The client does not take what was written: write no more until `client_resumed`."""

    def client_resumed(self) -> None:
        """The client has taken what was written."""

    def expired(self) -> None:
        """The deadline that was armed on the client's connection has passed."""


class ResponseConsumer(Protocol):
    """What takes the response to the current request, and hears what else befalls the endpoint."""

    def interim(self, response: ResponseHead) -> None:
        """A 1xx head other than 101."""

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        """The final head and the body that came with it; `trailers` not None: the response ends there."""

    def response_data(self, data: bytes) -> None:
        """A piece of the body, without its chunk framing; in a tunnel, whatever the endpoint says."""

    def response_end(self, trailers: Trailers) -> None:
        """The response is whole."""

    def switched(self, response: ResponseHead, data: bytes) -> None:
        """A 101 that was asked for: from here on the connection is a tunnel, and `data` its first bytes."""

    def endpoint_failed(self, kind: ErrorKind) -> None:
        """No whole response comes from this connection any more."""

    def endpoint_paused(self) -> None:
        """The endpoint does not take what was written: write no more until `endpoint_resumed`."""

    def endpoint_resumed(self) -> None:
        """The endpoint has taken what was written."""
