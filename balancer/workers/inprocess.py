"""Runs a fleet of one worker in the event loop of its parent, without processes (`--workers 0`)."""

from __future__ import annotations

import asyncio
import logging
import mmap
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from socket import socket
from typing import Final

from balancer.connections.listeners import listen, port_of
from balancer.explain.drafts import Draft
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import TABLE_BYTES, Buffer, SlotTable
from balancer.model.certificates import Certificate
from balancer.model.publication import Publication
from balancer.runtime.lag import LoopLag
from balancer.runtime.turns import in_turns
from balancer.workers.reports import FleetReport
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
        http_port: int,
        https_port: int,
        access_log: AccessLogFormat,
        fallback: Certificate,
        new_log: Callable[[], int],
        compat_metrics: bool = False,
        loop_transports: bool = False,
    ) -> None:
        """`new_log` returns the write end of a new pipe for access log lines. The rest is as for a `Worker`."""
        self._address = address
        self.http_port, self.https_port = http_port, https_port
        self._counters = mmap.mmap(-1, TABLE_BYTES)  # pages that are never touched cost nothing
        recorder = Recorder(SlotTable(self._counters))
        self._log = new_log()
        self._access_log = AccessLog(self._log, access_log, recorder.access_log_dropped)
        self._worker = Worker(
            recorder=recorder,
            access_log=self._access_log,
            fallback=fallback,
            compat_metrics=compat_metrics,
            loop_transports=loop_transports,
        )
        self._swaps = Swaps(
            used=lambda _: None,
            failed=_tell_failure,
            later=asyncio.get_running_loop().call_later,
        )
        self._listeners: tuple[socket, socket] | None = None
        self._lag = LoopLag()

    def open(self) -> None:
        """Binds the ports. Raises `CannotListen`."""
        http = listen(self._address, self.http_port, purpose="http")
        try:
            https = listen(self._address, self.https_port, purpose="https")
        except BaseException:
            http.close()
            raise
        self._listeners = http, https
        self.http_port, self.https_port = port_of(http), port_of(https)

    async def start(self) -> None:
        """Accept connections."""
        assert self._listeners is not None, "open comes first"
        http, https = self._listeners
        await self._worker.listen(http=http, https=https)

    def publish(self, publication: Publication) -> None:
        """Serves `publication` soon. If that fails because of a bug, the last publication stays."""
        self._swaps.take(publication.generation, self._worker.swapping(publication))

    def readiness(self) -> str | None:
        """Always None: if this loop can answer the question, it serves."""
        return None

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        """What the worker reports; see `Fleet.report`."""
        found = await in_turns(self._worker.judging(about))
        return FleetReport(
            connections={(state,): float(count) for state, count in self._worker.connections().items()},
            left_out=found.left_out,
            unwell=Counter(found.unwell),
            zones=tuple(found.zones),
            members=tuple(found.members),
            spill_ratios=found.spill_ratios,
            overload_factors=found.overload_factors,
            event_loop_lag_seconds=self._lag.worst_seconds,
        )

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
        for listener in self._listeners or ():
            listener.close()
        self._access_log.close(_LOG_FLUSH_SECONDS)
        os.close(self._log)


def _tell_failure(generation: int, error: Exception) -> None:
    _LOG.error("publication %d cannot be served; what is served stays", generation, exc_info=error)
