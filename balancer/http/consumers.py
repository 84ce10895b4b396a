"""Defines what streams report to the current exchange.

Interfaces only. All calls come from the event loop, one at a time.
"""

from __future__ import annotations

from typing import Protocol

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import ResponseHead, Trailers


class RequestConsumer(Protocol):
    """Takes the body of the current request and events of the client."""

    def request_data(self, data: bytes) -> None:
        """A piece of the body, without chunk framing; in a tunnel, bytes of the client."""

    def request_end(self, trailers: Trailers) -> None:
        """The body is whole."""

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        """The last piece of the body, and its end. A stream may say so in place of the two above."""

    def request_failed(self, refusal: Refusal) -> None:
        """The body is malformed or ends too early. In a tunnel, the client has half-closed."""

    def client_lost(self, kind: ErrorKind) -> None:
        """The client is gone (`CLIENT_LEFT`), or gets no more of this answer (`UNREAD`)."""

    def client_paused(self) -> None:
        """The client does not read what was written. Write no more until `client_resumed`."""

    def client_resumed(self) -> None:
        """The client has read what was written."""


class ResponseConsumer:
    """Takes the response to the current request and events of the endpoint.

    A base class and no protocol, because every response passes through it: so it can be compiled.
    """

    __slots__ = ()

    def interim(self, response: ResponseHead) -> None:
        """A 1xx head other than 101."""
        raise NotImplementedError

    def response_started(self, response: ResponseHead, data: bytes, trailers: Trailers | None) -> None:
        """The final head and the first bytes of its body. If `trailers` is not None, the response ends there."""
        raise NotImplementedError

    def response_data(self, data: bytes) -> None:
        """A piece of the body, without chunk framing; in a tunnel, bytes of the endpoint."""
        raise NotImplementedError

    def response_end(self, trailers: Trailers) -> None:
        """The response is whole."""
        raise NotImplementedError

    def switched(self, response: ResponseHead, data: bytes) -> None:
        """A 101 that was asked for: the connection is a tunnel from here on, and `data` are its first bytes."""
        raise NotImplementedError

    def reads_little(self) -> bool:
        """Whether little of the response shall be read at once, because much waits for the client already."""
        raise NotImplementedError

    def endpoint_failed(self, kind: ErrorKind) -> None:
        """This connection will deliver no complete response."""
        raise NotImplementedError

    def endpoint_paused(self) -> None:
        """The endpoint does not read what was written. Write no more until `endpoint_resumed`."""
        raise NotImplementedError

    def endpoint_resumed(self) -> None:
        """The endpoint has read what was written."""
        raise NotImplementedError
