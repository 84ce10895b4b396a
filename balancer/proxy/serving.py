"""Serves the requests of client connections: each one by itself, until nothing of its connection is left."""

from __future__ import annotations

from collections.abc import Callable

from balancer.errors import Refusal
from balancer.http.messages import RequestHead
from balancer.http.streams import Connection, RequestServer, RequestStream
from balancer.proxy.requests import Request
from balancer.proxy.supplies import Supplies


class Proxy(Supplies):
    """Serves client connections from the newest view."""

    __slots__ = ()

    def serve(self, client: Connection, ended: Callable[[Connection], None]) -> None:
        """Serves the requests of a connection. Calls `ended` when nothing of it is left."""
        client.start(_Server(self, client, ended))


class _Server(RequestServer):
    """Serves the requests of one connection, one after the other or many at a time.

    It ends when the connection has closed and no request waits for a connection to an endpoint any more.
    """

    __slots__ = ("_client", "_ended", "_is_closed", "_supplies", "_waiting")

    def __init__(self, supplies: Supplies, client: Connection, ended: Callable[[Connection], None]) -> None:
        self._supplies = supplies
        self._client = client
        self._ended = ended
        self._waiting = 0
        self._is_closed = False

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        served = Request()
        served.open(self._supplies, self, stream, request)
        try:
            served.begin(request)
        except Exception:
            served.break_off()

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        served = Request()
        served.open(self._supplies, self, stream, request)
        try:
            served.answer(refusal.kind)
        except Exception:
            served.break_off()

    def connection_closed(self) -> None:
        self._is_closed = True
        self._end_if_idle()

    def waits(self) -> None:
        self._waiting += 1

    def waited(self) -> None:
        self._waiting -= 1
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        client = self._client
        if self._is_closed and not self._waiting:
            self._ended(client)
