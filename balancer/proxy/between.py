"""A stream between who answers a request and the client's stream: it passes on what it does not change."""

from __future__ import annotations

from typing import Any

from balancer.errors import ErrorKind, Refusal
from balancer.http.consumers import RequestConsumer
from balancer.http.edits import HeadEdit
from balancer.http.messages import ResponseHead, Trailers
from balancer.http.streams import RequestStream


class OfInner:
    """A part of the state of the client's stream, seen on the one between."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, between: StreamBetween, owner: type) -> Any:
        return getattr(between.inner, self._name)

    def __set__(self, between: StreamBetween, value: Any) -> None:
        setattr(between.inner, self._name, value)


class StreamBetween(RequestStream):
    """Looks like the client's stream, which is `inner`, to who answers, and like who answers to the client's stream.

    Its state is that of `inner`. It has no places for that: compiled code would read those, and not ask here.
    """

    __slots__ = ("_consumer", "inner")

    closed: Any = OfInner()
    body_begun: Any = OfInner()
    last: Any = OfInner()

    def __init__(self, inner: RequestStream) -> None:
        self.inner = inner
        self.origin = inner.origin
        self.secure = inner.secure
        self._consumer: RequestConsumer | None = None

    # Events of the client, on their way to who answers.

    def attach(self, consumer: RequestConsumer) -> None:
        self._consumer = consumer
        self.inner.attach(self)

    def detach(self) -> None:
        self._consumer = None
        self.inner.detach()

    def client_paused(self) -> None:
        """The client does not read."""
        if self._consumer is not None:
            self._consumer.client_paused()

    def client_resumed(self) -> None:
        """The client reads again."""
        if self._consumer is not None:
            self._consumer.client_resumed()

    def client_lost(self, kind: ErrorKind) -> None:
        """Nobody gets the response."""
        if self._consumer is not None:
            self._consumer.client_lost(kind)

    def request_data(self, data: bytes) -> None:
        """A piece of the request's body."""
        if self._consumer is not None:
            self._consumer.request_data(data)

    def request_end(self, trailers: Trailers) -> None:
        """The request's body is whole."""
        if self._consumer is not None:
            self._consumer.request_end(trailers)

    def request_rest(self, data: bytes, trailers: Trailers) -> None:
        """The rest of the request's body."""
        if self._consumer is not None:
            self._consumer.request_rest(data, trailers)

    def request_failed(self, refusal: Refusal) -> None:
        """The request's body is malformed."""
        if self._consumer is not None:
            self._consumer.request_failed(refusal)

    # Everything else is the client's stream.

    def start_body(self) -> None:
        self.inner.start_body()

    def hold(self) -> None:
        self.inner.hold()

    def resume(self) -> None:
        self.inner.resume()

    def interim(self, head: ResponseHead) -> None:
        self.inner.interim(head)

    def switch(self, head: ResponseHead, edit: HeadEdit, data: bytes) -> None:
        self.inner.switch(head, edit, data)
