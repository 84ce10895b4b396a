"""Stands for a request while it waits for a connection to an endpoint, and tells it how that ends.

The client's connection counts the request among those that wait. An error on the way on breaks the request off,
because its caller is the task that connects. Does not know who is tried next, nor why.
"""

from __future__ import annotations

from typing import Protocol

from balancer.errors import ErrorKind
from balancer.http.streams import EndpointStream
from balancer.proxy.context import RequestContext


class Connected(Protocol):
    """Whoever needs the connection. One of the methods ends the wait, unless `leaves` returns False."""

    def connected(self, endpoint: EndpointStream) -> None:
        """Goes on with a new connection."""

    def not_connected(self, kind: ErrorKind) -> None:
        """Goes on without a connection, because of `kind`."""

    def leaves(self) -> bool:
        """Goes on with another endpoint if there is one. Returns whether there was."""


class WaitingRequest:
    """A request that waits for one connection (`connecting.Waiter`)."""

    __slots__ = ("_context", "_owner")

    def __init__(self, context: RequestContext, owner: Connected) -> None:
        context.waiting.waits()
        self._context = context
        self._owner = owner

    def seconds_left(self) -> float:
        alarm = self._context.alarm
        return alarm.left()

    def connecting_ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        context = self._context
        try:
            self._tell(stream, kind)
        except Exception:
            context.break_off()
        finally:
            context.waiting.waited()

    def goes_elsewhere(self) -> bool:
        context = self._context
        try:
            if not self._owner.leaves():
                return False
        except Exception:
            context.break_off()
        context.waiting.waited()
        return True

    def _tell(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        if stream is None:
            self._owner.not_connected(kind)
        elif self._context.stream.closed:
            stream.release()
            self._owner.not_connected(ErrorKind.CLIENT_LEFT)
        else:
            self._owner.connected(stream)
