"""Holds what the requests of one worker share to be forwarded: pools, retries, room for bodies, and who is told."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol

from balancer.http.streams import Pool
from balancer.metrics.recorder import Recorder
from balancer.model.handshakes import Handshake
from balancer.picking.backend import BackendRuntime
from balancer.picking.budget import RetryReserve
from balancer.picking.endpoint_health import Change
from balancer.picking.healthlog import HealthLog
from balancer.picking.members import Member
from balancer.picking.silence import Told
from balancer.proxy.body_room import BodyRoom
from balancer.proxy.knocking import Knocks
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.zones.evacuation import ZoneChange, ZoneTurn

_EJECTIONS = frozenset((Change.EJECTED, Change.EJECTED_AGAIN, Change.FELL_SILENT))


class EndpointPools(Protocol):
    """The pools of all endpoints. `coming` are tasks that make connections; they are cancelled with the pools."""

    coming: set[asyncio.Task[None]]

    async def knock(self, member: Member, timeout_seconds: float) -> None:
        """Makes a connection to the endpoint without TLS and closes it. Raises OSError or TimeoutError."""

    def of(self, member: Member, tls: Handshake | None, http2: bool) -> Pool:
        """The pool of `member` whose connections speak TLS as `tls` says; None is plain. `http2`: HTTP/2 in place of
        HTTP/1.1.
        """


class Sight:
    """Where it is told and counted what has changed about endpoints."""

    __slots__ = ("_health_log", "_recorder")

    def __init__(self, recorder: Recorder, health_log: HealthLog) -> None:
        self._recorder = recorder
        self._health_log = health_log

    def tell(self, runtime: BackendRuntime, member: Member, change: Change, now: float, why: str = "") -> None:
        """Counts and logs one change. `why` is our own name for the last failure."""
        if change in _EJECTIONS:
            recorder, failing, key = self._recorder, runtime.failing, runtime.backend.key
            recorder.ejection(runtime.backend.namespace, runtime.backend.service)
            if failing is not None:
                failing.watch(key, member.label, member.health, now)
        self._health_log.tell(runtime, member, change, now=now, why=why)

    def tell_zone(self, runtime: BackendRuntime, change: ZoneChange, now: float) -> None:
        """Counts and logs that requests begin to leave a zone, or no longer do."""
        if change.turn is ZoneTurn.BEGUN:
            recorder, backend = self._recorder, runtime.backend
            dry_run = not runtime.plans.leaves_zones
            recorder.zone_evacuation(backend.namespace, backend.service, change.zone, dry_run=dry_run)
        self._health_log.tell_zone(runtime, change, now=now)

    def tell_all(self, runtime: BackendRuntime, told: Told, now: float) -> None:
        """Counts and logs what connects have shown."""
        for member, change in told:
            self.tell(runtime, member, change, now)


class Forwarder:
    """Shared by the jobs of one worker: pools, a reserve of retries, room for bodies, and where events are reported.

    `absences` are those of the loop.
    """

    __slots__ = ("absences", "bodies", "knocks", "pools", "recorder", "reserve", "sight")

    def __init__(
        self,
        *,
        pools: EndpointPools,
        recorder: Recorder,
        health_log: HealthLog,
        bodies: BodyRoom | None = None,
        absences: Absences = NEVER_ABSENT,
    ) -> None:
        self.absences = absences
        self.pools = pools
        self.bodies = BodyRoom() if bodies is None else bodies
        self.sight = Sight(recorder, health_log)
        self.knocks = Knocks(pools, self.sight, absences)
        self.recorder = recorder
        self.reserve = RetryReserve()

    def look_in(
        self, runtime: BackendRuntime, member: Member, handshake: Handshake | None, http2: bool, waited: float
    ) -> float:
        """The seconds until a request shall look again whether `member` is gone; 0: it is, so its idle connections end.

        `member` owes the request an answer since `waited` seconds, over connections that `handshake` and `http2` say.
        Without evidence yet it is asked for a new connection (`knocking.py`).
        """
        if not member.is_silent:
            return self.knocks.ask(runtime, member, waited, time.perf_counter())
        pool = self.pools.of(member, handshake, http2)
        pool.drop_idle()
        return 0.0
