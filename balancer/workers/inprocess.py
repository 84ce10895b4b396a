"""Runs a fleet of one worker in the event loop of its parent, without processes (`--workers 0`)."""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from socket import socket
from typing import Final

from balancer.connections.listeners import Port, open_ports, ports_of
from balancer.explain.drafts import Draft
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import TABLE_BYTES, Buffer, SlotTable
from balancer.model.certificates import Certificate
from balancer.model.publication import Publication
from balancer.picking.failing import EndpointPlace, FailingRow, FailingRows
from balancer.runtime.lag import LoopLag
from balancer.runtime.turns import in_turns
from balancer.sharing.memory import alone as memory_alone
from balancer.sharing.peers import NO_OTHERS
from balancer.workers.judging import worker_report
from balancer.workers.messages import SuspectRow
from balancer.workers.reports import FleetReport, merged
from balancer.workers.swapping import Swaps
from balancer.workers.worker import Worker

_LOG = logging.getLogger(__name__)

_LOG_FLUSH_SECONDS: Final = 1.0


class InProcessFleet:
    """A `Fleet`. Must be made inside the running loop."""

    def __init__(
        self,
        *,
        address: str,
        ports: Iterable[Port],
        access_log: AccessLogFormat,
        fallback: Certificate,
        new_log: Callable[[], int],
        compat_metrics: bool = False,
        limit_store: str = "",
        key_secret: bytes | None = None,
    ) -> None:
        """`new_log` returns the write end of a new pipe for access log lines. `key_secret` is that of
        `SharedMemory`. The rest is as for a `Worker`.
        """
        self._address = address
        self._wanted = tuple(ports)
        self.ports: Mapping[str, int] = {}
        self._counters = mmap.mmap(-1, TABLE_BYTES)  # pages that are never touched cost nothing
        recorder = Recorder(SlotTable(self._counters))
        self._log = new_log()
        self._access_log = AccessLog(self._log, access_log, recorder.access_log_dropped)
        memory = memory_alone(secret=key_secret)
        self.among_replicas = memory.among_replicas
        self._worker = Worker(
            counting=memory.counting,
            others=memory.others if key_secret is not None else NO_OTHERS,
            recorder=recorder,
            access_log=self._access_log,
            fallback=fallback,
            compat_metrics=compat_metrics,
            limit_store=limit_store,
        )
        self._failing = FailingRows()
        self._worker.tell_failing(self._failing.learn)
        self._swaps = Swaps(
            used=self._used,
            failed=_tell_failure,
            later=asyncio.get_running_loop().call_later,
        )
        self._in_use = 0
        self._sockets: dict[str, socket] = {}
        self._lag = LoopLag()

    def open(self) -> None:
        """Binds the ports. Raises `CannotListen`."""
        (sockets,) = open_ports(self._address, self._wanted, count=1)
        self._sockets = sockets
        self.ports = ports_of(self._sockets)

    async def start(self) -> None:
        """Accept connections."""
        assert self._sockets, "open comes first"
        await self._worker.listen(self._sockets)

    def publish(self, publication: Publication) -> None:
        """Serves `publication` soon. If that fails because of a bug, the last publication stays."""
        self._swaps.take(publication.generation, self._worker.swapping(publication))

    def generation_in_use(self) -> int:
        """What the worker serves."""
        return self._in_use

    def readiness(self) -> str | None:
        """Always None: if this loop can answer the question, it serves."""
        return None

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        """What the worker reports; see `Fleet.report`."""
        found = await in_turns(self._worker.judging(about))
        return merged([worker_report(found, self._worker.connections(), lag_seconds=self._lag.worst_seconds)])

    def failing(self) -> Sequence[Mapping[EndpointPlace, FailingRow]]:
        """How endpoints do that failed lately; see `Fleet.failing`."""
        return [self._failing.rows]

    def suspect(self, rows: tuple[SuspectRow, ...]) -> None:
        """Tells the worker; see `Fleet.suspect`."""
        self._worker.suspect(rows)

    def processes(self) -> Mapping[int, int]:
        """Empty, because the worker runs in the parent process."""
        return {}

    def tables(self) -> Sequence[Buffer]:
        """The one table."""
        return [self._counters]

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft:
        """Where a request goes. Raises `BadQuestion`."""
        return self._worker.explain(url, fields, client=client)

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Drains; see `Worker.drain`."""
        await self._worker.drain(grace_seconds=grace_seconds, limit_seconds=limit_seconds)

    async def stop(self) -> None:
        """Cuts the remaining connections and writes the last log lines."""
        self._lag.stop()
        await self._worker.stop()
        for listener in self._sockets.values():
            listener.close()
        self._access_log.close(_LOG_FLUSH_SECONDS)
        os.close(self._log)

    def _used(self, generation: int) -> None:
        self._in_use = generation


def _tell_failure(generation: int, error: Exception) -> None:
    _LOG.error("publication %d cannot be served; what is served stays", generation, exc_info=error)
