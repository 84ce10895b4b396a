"""Keeps the connections of a worker's clients, and ends them: all in a drain, or those whose entry point is gone.

Requests end first, tunnels last. Does not know who accepts connections, nor who serves them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from typing import Any

from balancer.connections.places import ClientPlaces
from balancer.http.streams import Connection
from balancer.http2.client import Http2Connection

_ENDED_A_TURN = 32  # connections that are closed in one turn of the event loop
_LOOK_SECONDS = 0.1
_CUT_SECONDS = 1.0  # for connections that were cut to be gone
_TUNNEL_SECONDS = 5.0  # before the limit, so that an endpoint can send its last bytes when its tunnel ends


class Clients:
    """The connections of clients that are being served. Made inside a running loop."""

    __slots__ = ("_idle_grace_seconds", "_leaving", "_loop", "_nobody_left", "_present", "places")

    def __init__(self, *, idle_grace_seconds: float) -> None:
        """A connection that has been idle for less than `idle_grace_seconds` is not closed before the limit."""
        self._loop = asyncio.get_running_loop()
        self._idle_grace_seconds = idle_grace_seconds
        self._present: set[Connection] = set()
        self._nobody_left = asyncio.Event()
        self._leaving: set[asyncio.Task[None]] = set()
        self.places = ClientPlaces()

    def enter(self, client: Connection) -> None:
        """Keeps `client` until `has_ended`."""
        self._present.add(client)

    def has_ended(self, client: Connection) -> None:
        """Forgets `client`, and gives its place back."""
        places = self.places
        self._present.discard(client)
        places.leave(client)
        if not self._present:
            self._nobody_left.set()

    def by_state(self) -> dict[str, int]:
        """How many connections there are, by state, for the metrics; those of HTTP/2 count under two names."""
        idle = sum(client.idle for client in self._present)
        http2 = [client.under_way for client in self._present if isinstance(client, Http2Connection)]
        return {
            "http2_connections": len(http2),
            "http2_streams": sum(http2),
            "client_active": len(self._present) - idle,
            "client_idle": idle,
        }

    def end_soon(self) -> None:
        """Tells every client to send no further request."""
        for client in self._present:
            client.end_soon()

    async def finish(self, limit_seconds: float, arriving: Callable[[], Collection[Any]]) -> None:
        """Closes connections as they become idle, until none is left and none arrives, at most until the limit."""
        await self._wear_down(lambda: self._present, limit_seconds, arriving)

    def let_go(self, entry_points: Collection[str], limit_seconds: float) -> None:
        """Begins to end the connections of these entry points, which are gone. What is left at the limit is cut."""
        clients = [client for client in self._present if client.entry_point.key in entry_points]
        if clients:
            leaving = self._loop.create_task(self._let_go(clients, limit_seconds))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def stop(self) -> None:
        """Cuts every connection."""
        for leaving in self._leaving:
            leaving.cancel()
        for client in tuple(self._present):
            client.abort()
        if self._present:
            await self._wait(_CUT_SECONDS)

    async def _let_go(self, clients: list[Connection], limit_seconds: float) -> None:
        for number, client in enumerate(clients, 1):
            client.end_soon()
            if number % _ENDED_A_TURN == 0:
                await asyncio.sleep(0)
        await self._wear_down(lambda: self._present.intersection(clients), limit_seconds)
        for client in self._present.intersection(clients):
            client.abort()

    async def _wear_down(
        self,
        left: Callable[[], Collection[Connection]],
        limit_seconds: float,
        arriving: Callable[[], Collection[Any]] = tuple,
    ) -> None:
        """Closes those that are `left` as they become idle. Their tunnels end last, a moment before the limit."""
        deadline = self._loop.time() + limit_seconds
        tunnels_until = deadline - min(_TUNNEL_SECONDS, limit_seconds / 2)
        while (now := self._loop.time()) < deadline:
            await self._shut_down(left(), now, now >= tunnels_until)
            if not left() and not arriving():
                break
            await self._wait(min(_LOOK_SECONDS, deadline - now))

    async def _wait(self, seconds: float) -> None:
        """Waits until every client has gone, at most `seconds`."""
        self._nobody_left.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nobody_left.wait()

    async def _shut_down(self, clients: Iterable[Connection], now: float, ends_tunnels: bool) -> None:
        """Closes a few in each turn of the loop, because closing many must not delay requests in flight."""
        idle_before = now - self._idle_grace_seconds
        for number, client in enumerate(tuple(clients), 1):
            client.shut_down(idle_before, ends_tunnels)
            if number % _ENDED_A_TURN == 0:
                await asyncio.sleep(0)
