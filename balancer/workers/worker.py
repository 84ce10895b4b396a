"""One worker: builds the data plane of an event loop, serves the newest publication, drains and stops.

The order of draining: answers end their connections while the listeners still accept, then the listeners close, then
what is in flight ends, tunnels last, or is cut at the limit.
"""

from __future__ import annotations

import asyncio
import logging
import random
import socket
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial

from balancer.accesslog import AccessLog
from balancer.asking import question_of
from balancer.explaining import Background, Explanation, explain
from balancer.http1.checking import Checks
from balancer.http1.client import ClientConnection
from balancer.http1.deadlines import Deadlines
from balancer.http1.pools import Pools
from balancer.live import LiveTable
from balancer.members import UNKNOWN_ZONE
from balancer.metrics.recorder import Recorder
from balancer.model import Certificate, Publication
from balancer.proxy.accounting import Accounting
from balancer.proxy.attempts import Forwarder
from balancer.proxy.serving import Proxy
from balancer.tls import ServerNames
from balancer.workers.accepting import Reception
from balancer.workers.listeners import BACKLOG, connection_bound, descriptor_limit

_LOG = logging.getLogger(__name__)
_HANDSHAKE_SECONDS = 10.0  # as a whole; asyncio would wait for 60 s
_IDLE_GRACE_SECONDS = 1.0  # a request may be on the wire already when its idle connection is to close
_ENDED_A_TURN = 32  # connections that a drain ends before the loop turns to requests in flight
_TUNNEL_SECONDS = 5.0  # before the limit: for an endpoint to say goodbye, once it hears that its tunnel ends


class Worker:
    """The data plane of one event loop. Made inside a running loop."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        access_log: AccessLog,
        fallback: Certificate,
        random_below: Callable[[int], int] = random.randrange,
        handshake_seconds: float = _HANDSHAKE_SECONDS,
    ) -> None:
        """`fallback` is for handshakes that no certificate of the model fits."""
        self._loop = asyncio.get_running_loop()
        self.live = LiveTable(random_below)
        self._deadlines = Deadlines(self._loop)
        self._pools = Pools(deadlines=self._deadlines, settings=lambda: self.live.view.model.proxy)
        self._proxy = Proxy(
            live=self.live,
            forwarder=Forwarder(pools=self._pools, recorder=recorder),
            accounting=Accounting(recorder=recorder, access_log=access_log),
        )
        self._checks = Checks()
        self._names = ServerNames(fallback)
        self._clients: set[ClientConnection] = set()
        self._nobody_left = asyncio.Event()
        self._draining = False
        self._reception = Reception(
            settings=lambda: self.live.view.model.proxy,
            deadlines=self._deadlines,
            tls=self._names.listener_context,
            held=lambda: len(self._clients),
            bound=connection_bound(descriptor_limit()),
            hand_over=self._serve,
            note=recorder.error,
            handshake_seconds=handshake_seconds,
        )

    def swap(self, publication: Publication) -> None:
        """Serve `publication` from the next request on."""
        self._pools.close(self.live.swap(publication, time.perf_counter()))  # the clock of picks
        self._checks.follow(self.live.view.backends)
        self._names.update(publication.model)

    async def listen(self, *, http: socket.socket, https: socket.socket) -> None:
        """Accept connections on two bound sockets; it is only now that one that does not listen yet gets any."""
        for listener in (http, https):
            listener.listen(BACKLOG)
        self._reception.listen(http, secure=False)
        self._reception.listen(https, secure=True)

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Stop without failing a request: keep accepting for `grace_seconds`, then finish what is in flight.

        Tunnels end last, and after `limit_seconds` more what still runs is cut.
        """
        self._draining = True
        for client in self._clients:
            client.ending = True
        await asyncio.sleep(grace_seconds)
        self._reception.close()
        deadline = self._loop.time() + limit_seconds
        tunnels_until = deadline - min(_TUNNEL_SECONDS, limit_seconds / 2)
        while (now := self._loop.time()) < deadline:
            await self._for_each_client(partial(_close_if_idle, since=now - _IDLE_GRACE_SECONDS))
            if now >= tunnels_until:
                await self._for_each_client(ClientConnection.end_tunnel)
            if not self._clients and not self._reception.arriving:
                break
            await self._wait(min(0.1, deadline - now))
        await self.stop()

    async def stop(self) -> None:
        """Cut everything that is left, at once."""
        self._checks.stop()
        self._reception.stop()
        for client in tuple(self._clients):
            client.abort()
        if self._clients:
            await self._wait(1.0)
        self._pools.close_all()
        self._deadlines.stop()

    def explain(self, url: str, fields: Sequence[str], *, client: str, background: Background) -> Explanation:
        """Where a request for `url` goes now, and why. Raises `BadQuestion`."""
        view, now = self.live.view, time.perf_counter()  # the clock of picks
        question = question_of(url, fields, settings=view.model.proxy, client=client)
        return explain(question, view, background=background, now=now, live=True)

    def connections(self) -> dict[str, int]:
        """How many connections there are, by state, for the metrics."""
        idle = sum(client.idle for client in self._clients)
        return {
            "client_active": len(self._clients) - idle,
            "client_idle": idle,
            "endpoint_active": len(self._pools.open) - self._pools.idle_count,
            "endpoint_idle": self._pools.idle_count,
        }

    def left_out(self) -> Counter[tuple[str, str, str]]:
        """How many ready endpoints health leaves out, by namespace, Service and zone, for the metrics."""
        runtimes = (runtime for runtime in self.live.view.backends.values() if runtime.health.impaired)
        return Counter(
            (runtime.backend.namespace, runtime.backend.service, member.endpoint.zone or UNKNOWN_ZONE)
            for runtime in runtimes
            for member in runtime.members.values()
            if member.endpoint.ready and not member.health.is_well
        )

    def spills(self) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str, str], float]]:
        """Under `adaptive`, for the metrics: the share of requests that leaves the own zone, by namespace and Service.

        And how overloaded that zone is, by namespace, Service and zone. Of several ports or policies, the highest.
        """
        ratios: dict[tuple[str, str], float] = {}
        factors: dict[tuple[str, str, str], float] = {}
        zone = self.live.view.own_zone.zone or UNKNOWN_ZONE
        for runtime in self.live.view.backends.values():
            service = (runtime.backend.namespace, runtime.backend.service)
            for controller in runtime.controllers():
                ratios[service] = max(ratios.get(service, 0.0), controller.share)
                factors[*service, zone] = max(factors.get((*service, zone), 0.0), controller.overload_factor)
        return ratios, factors

    def _serve(self, client: ClientConnection) -> None:
        client.ending = self._draining
        self._clients.add(client)
        self._proxy.serve(client, self._ended)

    def _ended(self, client: ClientConnection) -> None:
        self._clients.discard(client)
        if not self._clients:
            self._nobody_left.set()

    async def _wait(self, seconds: float) -> None:
        """Until every client that was handed over has ended, but no longer."""
        self._nobody_left.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nobody_left.wait()

    async def _for_each_client(self, end: Callable[[ClientConnection], None]) -> None:
        """Do it to each, to a few in one turn of the loop: a crowd that ends must not hold up what is in flight."""
        for number, client in enumerate(tuple(self._clients), 1):
            end(client)
            if number % _ENDED_A_TURN == 0:
                await asyncio.sleep(0)


def _close_if_idle(client: ClientConnection, *, since: float) -> None:
    """Close one that has been idle since before that time of the loop, unless its next request is here already."""
    if client.idle and client.idle_since < since and not client.has_unread():
        client.close()
