"""One worker: builds the data plane of an event loop, serves the newest publication, drains and stops.

A drain has three steps: each answer closes its connection while the listeners still accept; the listeners close;
requests in flight end, tunnels last, and what is left at the limit is cut.
"""

from __future__ import annotations

import asyncio
import os
import random
import socket
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from balancer.connections.accepting import Reception
from balancer.connections.auth_services import AuthClient
from balancer.connections.client_making import ClientMaker
from balancer.connections.configured_names import ConfiguredNames
from balancer.connections.listeners import BACKLOG, connection_bound, descriptor_limit, endpoint_bound
from balancer.connections.mirrors import MirrorClient
from balancer.connections.pools import ConnectionPools
from balancer.connections.probing import Probes
from balancer.explain.asking import RefusedRequest, question_of
from balancer.explain.drafts import Draft
from balancer.http1.heads import RequestHeadReader
from balancer.live import LiveTable
from balancer.logs.accesslog import AccessLog
from balancer.logs.tracing.outbox import SpanOutbox
from balancer.matching.gates.basic_auth import SignIn
from balancer.matching.gates.external_auth.cache import AuthCache
from balancer.matching.gates.external_auth.gate import AuthTools
from balancer.matching.gates.making import GateTools, gate_maker
from balancer.matching.logins import LoginTables
from balancer.matching.password_checks import CheckLimits, PasswordChecks
from balancer.metrics.definitions import LIMIT_STORE_ANSWERS
from balancer.metrics.recorder import Recorder
from balancer.metrics.streams import StreamRecorder
from balancer.model.certificates import Certificate
from balancer.model.entry_points import EntryPoint
from balancer.model.publication import Publication
from balancer.picking.checking import Checks
from balancer.picking.failing import FailingRow
from balancer.picking.healthlog import HealthLog
from balancer.proxy.accounting import Accounting
from balancer.proxy.auth_endpoints import auth_endpoint
from balancer.proxy.body_room import BodyRoom, files_for
from balancer.proxy.compat_accounting import CompatAccounting
from balancer.proxy.forwarder import Forwarder, Sight
from balancer.proxy.hash_threads import HashThreads
from balancer.proxy.hooked_requests import serve_hooked
from balancer.proxy.mirroring import Mirrors
from balancer.proxy.serving import Proxy
from balancer.relays.accounts import RelayAccounting
from balancer.relays.relays import Relays
from balancer.relays.tools import RelayTools
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.steps import finished
from balancer.runtime.tcp import TcpTransports
from balancer.sharing.counting import Counting
from balancer.sharing.memory import alone as memory_alone
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.workers import hearsay
from balancer.workers.clients import Clients
from balancer.workers.failing_telling import FailingTelling
from balancer.workers.handing_over import HandingOver
from balancer.workers.judging import Judgements, judging
from balancer.workers.messages import SuspectRow
from balancer.workers.worker_hooks import WorkerHooks

if TYPE_CHECKING:
    from balancer.connections.limit_stores import ValkeyStore

_CHECKED_A_STEP = 128  # backends whose active checks are judged at once
_CLOSED_A_STEP = 16  # endpoints whose idle connections are closed at once
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
        limit_store: str = "",
    ) -> None:
        """`fallback` is for handshakes that no certificate of the model fits. `counting` None: it counts clients alone.
        `others` are the other workers. `compat_metrics`: metrics have the names of ingress-nginx as well.
        `limit_store` is the URL of the store of limits, empty for none.
        """
        self._loop = asyncio.get_running_loop()
        self._times = times
        self._hash_threads = HashThreads(_CHECKS.at_once)
        self._logins = LoginTables(os.urandom(_DIGEST_KEY_BYTES))
        self._deadlines = Deadlines(self._loop)
        absences = self._deadlines.absences
        self._auth = AuthClient(absences=absences)
        self._mirrors = MirrorClient(absences=absences)
        self._spans = SpanOutbox(recorder.spans_dropped)
        self._hooks = WorkerHooks(recorder, absences)
        self._limit_store = _made_store(limit_store, recorder) if limit_store else None
        tools = self._gate_tools(counting or memory_alone().counting)
        self.live = LiveTable(random_below, gate_maker(tools), others, absences)
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
        self._probes = Probes(absences)
        self._checks = Checks(
            lambda *change: health_log.tell(*change, now=time.perf_counter()), probe=self._probes.is_well
        )
        self._names = ConfiguredNames(fallback, recorder.dear_handshake)
        self.relays = self._made_relays(recorder, access_log, forwarder, random_below)
        self._clients = Clients(idle_grace_seconds=times.idle_grace_seconds)
        self._handing_over = HandingOver(self.live, self._clients, self._proxy, self.relays)
        self._reception = self._made_reception(recorder, transports)
        self._reception.use(self.live.view.model.entry_points)

    def _gate_tools(self, counting: Counting) -> GateTools:
        return GateTools(
            auth=AuthTools(self._auth, AuthCache(), time.monotonic),
            counting=counting,
            sign_in=SignIn(self._logins, self._password_checks()),
            random_bits=random.getrandbits,
            hooks=self._hooks.caller,
            now=time.time,
            limit_store=self._limit_store,
            auth_endpoint=lambda backend, secure: auth_endpoint(self.live.view.backends, backend, secure=secure),
        )

    def _made_reception(self, recorder: Recorder, transports: TcpTransports) -> Reception:
        return Reception(
            settings=self.live.settings,
            names=self._names.at,
            places=self._clients.places,
            bound=connection_bound(descriptor_limit()),
            hand_over=self._handing_over.take,
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
            deadlines=self._deadlines,
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
        absences = self._deadlines.absences
        return Forwarder(pools=self._pools, recorder=recorder, health_log=health_log, bodies=bodies, absences=absences)

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
        """Accepts connections of `entry_points` only. Those of all others end within `leave_seconds`."""
        gone = {each.key for each in self._reception.use(entry_points)}
        if gone:
            self._clients.let_go(gone, self._times.leave_seconds)

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
        self._handing_over.is_draining = True
        self._clients.end_soon()
        await asyncio.sleep(grace_seconds)
        self._reception.close()
        deadline = self._loop.time() + limit_seconds
        await self._clients.finish(limit_seconds, lambda: self._reception.arriving)
        left = min(deadline - self._loop.time(), _SPANS_SECONDS_MOST)
        await self.stop(spans_seconds=max(left, _SPANS_SECONDS))

    async def stop(self, *, spans_seconds: float = _SPANS_SECONDS) -> None:
        """Cuts everything that is left at once. Waiting spans have `spans_seconds` to leave."""
        self._checks.stop()
        self._reception.stop()
        await self._clients.stop()
        self._hash_threads.stop()
        self._hooks.stop()
        await self._probes.close()
        await self._auth.stop()
        if self._limit_store is not None:
            await self._limit_store.close()
        await self._mirrors.stop()
        self._pools.close_all()
        self._deadlines.stop()
        await self._spans.stop(spans_seconds)

    def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft:
        """Where a request for `url` goes now, and why. Raises `BadQuestion`."""
        from balancer.explain.explaining import explain, refused

        view, now = self.live.view, time.perf_counter()  # the clock of picks
        try:
            question = question_of(url, fields, read=RequestHeadReader(view.model.proxy).read, client=client)
        except RefusedRequest as request:
            return refused(request, view.own_zone)
        return explain(question, view, now=now, live=True)

    def connections(self) -> dict[str, int]:
        """How many connections of clients and to endpoints there are, by state, for the metrics."""
        return {
            **self._clients.by_state(),
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
        """Learns about endpoints that failed for other replicas."""
        hearsay.suspect(self.live, rows, Sight(self._recorder, self._health_log), time.perf_counter())

    def hear(self, rows: Iterable[FailingRow]) -> None:
        """Learns about endpoints that failed for another worker of this replica."""
        hearsay.hear(self.live, rows, time.perf_counter())


def _made_store(url: str, recorder: Recorder) -> ValkeyStore:
    from balancer.connections.limit_stores import ValkeyStore

    return ValkeyStore(url, lambda outcome: recorder.count(LIMIT_STORE_ANSWERS, (outcome,)))
