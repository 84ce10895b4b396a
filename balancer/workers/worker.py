"""One worker: builds the data plane of an event loop, serves the newest publication, drains and stops.

A drain has three steps: each answer closes its connection while the listeners still accept; the listeners close;
requests in flight end, tunnels last, and what is left at the limit is cut.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final, NamedTuple

from balancer.connections.accepting import Reception
from balancer.connections.auth_services import AuthClient
from balancer.connections.client_making import ClientMaker
from balancer.connections.configured_names import ConfiguredNames
from balancer.connections.listeners import BACKLOG, connection_bound, descriptor_limit, endpoint_bound
from balancer.connections.mirrors import MirrorClient
from balancer.connections.places import ClientPlaces
from balancer.connections.pools import ConnectionPools
from balancer.connections.probing import Probes
from balancer.explain.asking import RefusedRequest, question_of
from balancer.explain.drafts import Draft
from balancer.explain.explaining import explain, refused
from balancer.http.streams import Connection
from balancer.http1.heads import RequestHeadReader
from balancer.http2.client import Http2Connection
from balancer.live import LiveTable
from balancer.logs.accesslog import AccessLog
from balancer.logs.tracing.outbox import SpanOutbox
from balancer.matching.gates.basic_auth import SignIn
from balancer.matching.gates.external_auth.cache import AuthCache
from balancer.matching.gates.external_auth.gate import AuthTools
from balancer.matching.gates.making import GateTools, gate_maker
from balancer.matching.logins import LoginTables
from balancer.matching.password_checks import CheckLimits, PasswordChecks
from balancer.metrics.recorder import Recorder
from balancer.metrics.streams import StreamRecorder
from balancer.model.certificates import Certificate
from balancer.model.endpoints import BackendKey
from balancer.model.entry_points import EntryPoint
from balancer.model.publication import Publication
from balancer.picking.checking import Checks
from balancer.picking.failing import WATCHED_SECONDS, FailingRow
from balancer.picking.health import Change
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.body_room import BodyRoom, files_for
from balancer.proxy.compat_accounting import CompatAccounting
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.hash_threads import HashThreads
from balancer.proxy.hooked_requests import serve_hooked
from balancer.proxy.mirroring import Mirrors
from balancer.proxy.serving import Proxy
from balancer.relays.accounts import RelayAccounting
from balancer.relays.relay import Relay
from balancer.relays.relays import Relays
from balancer.relays.tools import RelayTools
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.steps import finished
from balancer.runtime.tcp import TcpTransports
from balancer.sharing.counting import Counting
from balancer.sharing.memory import alone as memory_alone
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.workers.failing_telling import FailingTelling
from balancer.workers.hook_callers import WorkerHooks
from balancer.workers.judging import Judgements, judging
from balancer.workers.messages import SuspectRow

_LOG = logging.getLogger(__name__)
_ENDED_A_TURN = 32  # connections that a drain closes in one turn of the event loop
_CHECKED_A_STEP = 128  # backends whose active checks are judged at once
_CLOSED_A_STEP = 16  # endpoints whose idle connections are closed at once
_LEAVING_LOOK_SECONDS = 0.1
_TUNNEL_SECONDS = 5.0  # before the limit, so that an endpoint can send its last bytes when its tunnel ends
_DIGEST_KEY_BYTES = 32
_CHECKS = CheckLimits()
_SPANS_SECONDS, _SPANS_SECONDS_MOST = 0.5, 6.0  # for the last spans to reach the collector


class WorkerTimes(NamedTuple):
    """How long a worker waits for clients, in seconds.

    Connections whose entry point is gone may end their requests and tunnels for `leave_seconds`.

    A TLS handshake may take `handshake_seconds` as a whole (asyncio would wait for 60). A drain closes connections that
    have been idle for `idle_grace_seconds`, because a request may be on its way to one that has just become idle.
    """

    handshake_seconds: float = 10.0
    idle_grace_seconds: float = 1.0
    leave_seconds: float = 240.0


USUAL_TIMES: Final = WorkerTimes()
"""The times of a worker that serves."""


class Worker:
    """The data plane of one event loop. Made inside a running loop."""

    def __init__(
        self,
        *,
        recorder: Recorder,
        access_log: AccessLog,
        fallback: Certificate,
        counting: Counting | None = None,
        others: Others = NO_OTHERS,
        random_below: Callable[[int], int] = random.randrange,
        times: WorkerTimes = USUAL_TIMES,
        compat_metrics: bool = False,
    ) -> None:
        """`fallback` is for handshakes that no certificate of the model fits. `counting` None: it counts clients alone.
        `others` are the other workers. `compat_metrics`: metrics have the names of ingress-nginx as well.
        """
        self._loop = asyncio.get_running_loop()
        self._times = times
        self._hash_threads = HashThreads(_CHECKS.at_once)
        self._logins = LoginTables(os.urandom(_DIGEST_KEY_BYTES))
        self._auth = AuthClient()
        self._mirrors = MirrorClient()
        self._spans = SpanOutbox(recorder.spans_dropped)
        self._hooks = WorkerHooks(recorder)
        tools = GateTools(
            auth=AuthTools(self._auth, AuthCache(), time.monotonic),
            counting=counting or memory_alone().counting,
            sign_in=SignIn(self._logins, self._password_checks()),
            random_bits=random.getrandbits,
            hooks=self._hooks.caller,
            now=time.time,
        )
        self.live = LiveTable(random_below, gate_maker(tools), others)
        self._deadlines = Deadlines(self._loop)
        transports = TcpTransports(self._loop)
        self._pools = self._made_pools(transports)
        self._recorder = recorder
        self._health_log = HealthLog()
        health_log, accounting = self._health_log, CompatAccounting if compat_metrics else Accounting
        forwarder = self._forwarder(recorder, health_log)
        self._proxy = Proxy(
            live=self.live,
            forwarder=forwarder,
            accounting=accounting(recorder=recorder, access_log=access_log, spans=self._spans),
            deadlines=self._deadlines,
            mirrors=Mirrors(self._mirrors, partial(recorder.error, "mirror_dropped")),
            hooking=serve_hooked,
        )
        self._probes = Probes()
        self._checks = Checks(
            lambda *change: health_log.tell(*change, now=time.perf_counter()), probe=self._probes.is_well
        )
        self._names = ConfiguredNames(fallback, recorder.dear_handshake)
        self.relays = self._made_relays(recorder, access_log, forwarder, random_below)
        self._clients: set[Connection] = set()
        self._places: ClientPlaces[Any] = ClientPlaces()
        self._nobody_left = asyncio.Event()
        self._draining = False
        self._leaving: set[asyncio.Task[None]] = set()
        self._reception = self._made_reception(recorder, transports)
        self._reception.use(self.live.view.model.entry_points)

    def _made_reception(self, recorder: Recorder, transports: TcpTransports) -> Reception:
        return Reception(
            settings=self.live.settings,
            names=self._names.at,
            places=self._places,
            bound=connection_bound(descriptor_limit()),
            hand_over=self._serve,
            note=recorder.error,
            handshake_seconds=self._times.handshake_seconds,
            clients=ClientMaker(
                settings=self.live.settings,
                deadlines=self._deadlines,
                names=self._names.at,
                flusher=self._pools.flusher,
                tally=recorder,
            ),
            relays=self.relays,
            transports=transports,
        )

    def _made_relays(
        self, recorder: Recorder, access_log: AccessLog, forwarder: Forwarder, random_below: Callable[[int], int]
    ) -> Relays:
        tools = RelayTools(
            live=self.live,
            forwarder=forwarder,
            pools=self._pools,
            accounting=RelayAccounting(StreamRecorder(recorder), access_log, recorder.error),
            deadlines=self._deadlines,
        )
        return Relays(tools, self._names, random_below)

    def _made_pools(self, transports: TcpTransports) -> ConnectionPools:
        return ConnectionPools(
            deadlines=self._deadlines,
            settings=self.live.settings,
            transports=transports,
            places=endpoint_bound(descriptor_limit()),
        )

    def _forwarder(self, recorder: Recorder, health_log: HealthLog) -> Forwarder:
        bodies = BodyRoom(files=files_for(descriptor_limit()))
        return Forwarder(pools=self._pools, recorder=recorder, health_log=health_log, bodies=bodies)

    def _password_checks(self) -> PasswordChecks:
        key, run = os.urandom(_DIGEST_KEY_BYTES), self._hash_threads.run
        return PasswordChecks(key=key, run=run, later=self._loop.call_later, limits=_CHECKS)

    def swap(self, publication: Publication) -> None:
        """Serves `publication` from the next request on."""
        finished(self.swapping(publication))

    def swapping(self, publication: Publication) -> Generator[None, None, None]:
        """`swap` in steps. Every request sees either the last publication as a whole, or the new one."""
        model = publication.model
        self._hooks.load(model.hooks)
        coming = yield from self.live.prepare(publication, time.perf_counter())  # the clock of picks
        self._logins.update(model)
        self._names.update(model)
        self.live.use(coming)
        self._use(model.entry_points)
        self.relays.follow()
        self._spans.follow(model.proxy.spans)
        self._pools.idle.limit_to(model.proxy.endpoint_idle_connections)
        yield
        for first in range(0, len(coming.concerned), _CHECKED_A_STEP):
            self._checks.follow(coming.view.backends, coming.concerned[first : first + _CHECKED_A_STEP])
            yield
        for first in range(0, len(coming.departed), _CLOSED_A_STEP):
            self._pools.close(coming.departed[first : first + _CLOSED_A_STEP])
            yield
        yield from coming.settle()

    def _use(self, entry_points: Iterable[EntryPoint]) -> None:
        """Accepts connections of these entry points. Those of entry points that are gone end."""
        gone = {each.key for each in self._reception.use(entry_points)}
        clients = [client for client in self._clients if client.entry_point.key in gone] if gone else []
        if clients:
            leaving = self._loop.create_task(self._leave(clients))
            self._leaving.add(leaving)
            leaving.add_done_callback(self._leaving.discard)

    async def _leave(self, clients: list[Connection]) -> None:
        """Ends connections whose entry point is gone, as a drain does."""
        for number, client in enumerate(clients, 1):
            client.end_soon()
            if number % _ENDED_A_TURN == 0:
                await asyncio.sleep(0)
        deadline = self._loop.time() + self._times.leave_seconds
        tunnels_until = deadline - min(_TUNNEL_SECONDS, self._times.leave_seconds / 2)
        while (now := self._loop.time()) < deadline and (left := self._clients.intersection(clients)):
            await self._shut_down(left, now - self._times.idle_grace_seconds, now >= tunnels_until)
            await asyncio.sleep(min(_LEAVING_LOOK_SECONDS, deadline - now))
        for client in self._clients.intersection(clients):
            client.abort()

    async def listen(self, sockets: Mapping[str, socket.socket]) -> None:
        """Accepts connections on bound sockets, by name, for the entry points that stand on them now or later.

        A socket that does not listen yet begins to.
        """
        for listener in sockets.values():
            listener.listen(BACKLOG)
        self._reception.open(sockets)

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Stops without failing a request: accepts for `grace_seconds` more, then finishes what is in flight.

        Tunnels end last. What still runs after `limit_seconds` more is cut.
        """
        self._draining = True
        for client in self._clients:
            client.end_soon()
        await asyncio.sleep(grace_seconds)
        self._reception.close()
        deadline = self._loop.time() + limit_seconds
        tunnels_until = deadline - min(_TUNNEL_SECONDS, limit_seconds / 2)
        while (now := self._loop.time()) < deadline:
            await self._shut_down(self._clients, now - self._times.idle_grace_seconds, now >= tunnels_until)
            if not self._clients and not self._reception.arriving:
                break
            await self._wait(min(0.1, deadline - now))
        left = min(deadline - self._loop.time(), _SPANS_SECONDS_MOST)
        await self.stop(spans_seconds=max(left, _SPANS_SECONDS))

    async def stop(self, *, spans_seconds: float = _SPANS_SECONDS) -> None:
        """Cuts everything that is left at once. Waiting spans have `spans_seconds` to leave."""
        for leaving in self._leaving:
            leaving.cancel()
        self._checks.stop()
        self._reception.stop()
        for client in tuple(self._clients):
            client.abort()
        if self._clients:
            await self._wait(1.0)
        self._hash_threads.stop()
        self._hooks.stop()
        await self._probes.close()
        await self._auth.stop()
        await self._mirrors.stop()
        self._pools.close_all()
        self._deadlines.stop()
        await self._spans.stop(spans_seconds)

    def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft:
        """Where a request for `url` goes now, and why. Raises `BadQuestion`."""
        view, now = self.live.view, time.perf_counter()  # the clock of picks
        try:
            question = question_of(url, fields, read=RequestHeadReader(view.model.proxy).read, client=client)
        except RefusedRequest as request:
            return refused(request, view.own_zone)
        return explain(question, view, now=now, live=True)

    def connections(self) -> dict[str, int]:
        """How many connections there are, by state, for the metrics; those of HTTP/2 count under two names."""
        idle = sum(client.idle for client in self._clients)
        http2 = [client.under_way for client in self._clients if isinstance(client, Http2Connection)]
        return {
            "http2_connections": len(http2),
            "http2_streams": sum(http2),
            "client_active": len(self._clients) - idle,
            "client_idle": idle,
            "endpoint_active": len(self._pools.open) - self._pools.idle_count,
            "endpoint_idle": self._pools.idle_count,
        }

    def judging(self, about: tuple[str, str] | None = None) -> Generator[None, None, Judgements]:
        """What is known about backends, in steps. `about` is the Service (namespace, name) whose endpoints are told."""
        return judging(self.live, about)

    def tell_failing(self, say: Callable[[tuple[FailingRow, ...]], None]) -> None:
        """From now on `say` is told how endpoints do that failed lately, soon after that changes."""
        FailingTelling(self.live.failing, self._loop.call_later, say)

    def suspect(self, rows: Iterable[SuspectRow]) -> None:
        """Learns about endpoints that failed elsewhere."""
        now = time.perf_counter()  # the clock of picks
        for row in rows:
            runtime = self.live.view.backends.get(BackendKey(row.backend))
            member = None if runtime is None else runtime.members.get(row.endpoint)
            if runtime is None or member is None:
                continue
            if self.live.failing.watch(runtime.backend.key, member.label, member.health, now):
                runtime.health.suspect(member.health, now, now + WATCHED_SECONDS)
            if row.ejects and runtime.health.eject_suspect(member.health, now):
                self._recorder.ejection(runtime.backend.namespace, runtime.backend.service)
                self._health_log.tell(runtime, member, Change.EJECTED, now=now, why="what they saw")

    def _serve(self, client: Connection) -> None:
        if client.entry_point.key not in self.live.view.configurations:
            client.abort()  # its entry point has gone while it shook hands
        if self._draining:
            client.end_soon()
        self._clients.add(client)
        if isinstance(client, Relay):
            self.relays.serve(client, self._ended)
        else:
            self._proxy.serve(client, self._ended)

    def _ended(self, client: Connection) -> None:
        self._clients.discard(client)
        self._places.leave(client)
        if not self._clients:
            self._nobody_left.set()

    async def _wait(self, seconds: float) -> None:
        """Waits until every client has gone, at most `seconds`."""
        self._nobody_left.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._nobody_left.wait()

    async def _shut_down(self, clients: Iterable[Connection], idle_before: float, ends_tunnels: bool) -> None:
        """Closes a few in each turn of the loop, because closing many must not delay requests in flight."""
        for number, client in enumerate(tuple(clients), 1):
            client.shut_down(idle_before, ends_tunnels)
            if number % _ENDED_A_TURN == 0:
                await asyncio.sleep(0)
