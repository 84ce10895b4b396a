"""The composition root: builds every object of one process and owns the order in which they start and stop.

No logic: what is decided is decided elsewhere, and this is the one place to see what a process is made of.
"""

from __future__ import annotations

import asyncio
import gc
import mmap
import os
import signal
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from balancer.accesslines import AccessLogFormat
from balancer.accesslog import AccessLog
from balancer.admin import Document, build_admin, model_document, start_admin
from balancer.asking import question_of
from balancer.explaining import Explanation, explain
from balancer.metrics.exposition import Exposition, Snapshot
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import TABLE_BYTES, SlotTable
from balancer.workers.lag import LoopLag
from balancer.workers.listeners import CannotListen, listen, port_of
from balancer.workers.logpipes import LogPipes
from balancer.workers.worker import Worker
from ingress.controller import Controller
from ingress.evidence import Evidence
from ingress.inventory import Inventory
from ingress.mode_telling import ModeTelling
from ingress.options import RunOptions
from ingress.publishing import Published, without_left_out
from ingress.sources.contract import Source
from ingress.sources.folder import FolderSource
from ingress.sources.resolving import ResolvingSource

if TYPE_CHECKING:
    from ingress.cluster import Cluster

_LOG_FLUSH_SECONDS = 1.0  # into the pipe, and as much from there


class App:
    """One serving process: control plane and one worker in the same event loop. Made inside the running loop."""

    def __init__(self, options: RunOptions) -> None:
        self._options = options
        self._counters = mmap.mmap(-1, TABLE_BYTES)  # pages that are never touched cost nothing
        recorder = Recorder(SlotTable(self._counters))
        self._log_pipes = LogPipes(sys.stdout.fileno())
        self._log_fd = self._log_pipes.new_pipe()
        self._access_log = AccessLog(self._log_fd, AccessLogFormat(options.access_log), recorder.access_log_dropped)
        self._worker = Worker(recorder=recorder, access_log=self._access_log)
        self._published = Published(self._worker.swap)
        self._cluster: Cluster | None = None
        self._controller: Controller | None = None
        self._lag = LoopLag()
        self._exposition = Exposition(tables=lambda: [self._counters], snapshot=self._snapshot, clock=time.time)
        self._stopping = False
        self._signals: asyncio.Queue[signal.Signals] = asyncio.Queue()

    async def run(self) -> None:
        """Serve until a signal says stop. Raises `CannotListen` and what the source raises when it cannot start."""
        controller = self._controller = await self._open()
        try:
            await self._serve(controller)
        finally:
            await controller.close()
            self._modes.close()
            if self._cluster is not None:
                await self._cluster.close()

    async def _serve(self, controller: Controller) -> None:
        options = self._options
        http = listen(options.bind_address, options.http_port)
        https = listen(options.bind_address, options.https_port)
        await controller.start()
        if self._cluster is not None:
            await self._cluster.start(controller)
        await self._worker.listen(http=http, https=https)
        runner, admin_port = await self._start_admin()
        self._watch_signals()
        print(f"zonal: serving http={port_of(http)} https={port_of(https)} admin={admin_port}", flush=True)
        self._log_pipes.start()
        following = asyncio.create_task(controller.run())
        try:
            grace_seconds = await self._serve_until_signal(following)
            await self._drain(grace_seconds=grace_seconds)
        finally:
            following.cancel()
            await asyncio.wait({following})
            self._lag.stop()
            await self._worker.stop()
            await runner.cleanup()
            self._access_log.close(_LOG_FLUSH_SECONDS)
            os.close(self._log_fd)
            self._log_pipes.close(_LOG_FLUSH_SECONDS)

    # What the admin port asks (AdminSource).

    def readiness(self) -> str | None:
        if self._stopping:
            return "draining"
        return None if self._published.publication is not None else "no configuration yet"

    async def metrics(self) -> bytearray:
        return await self._exposition.render()

    def model(self) -> Document:
        publication = self._published.publication
        if publication is None:
            return {"generation": 0}
        return {"generation": publication.generation, "model": model_document(publication.model)}

    def findings(self) -> list[Document]:
        return [msgspec.to_builtins(finding) for finding in self._published.findings]

    def explain(self, url: str, fields: Sequence[str], *, client: str) -> Explanation:
        view, now = self._worker.live.view, time.perf_counter()  # the clock of picks
        inventory = self._controller.inventory if self._controller is not None else Inventory()
        evidence = Evidence(inventory, self._options.context, findings=self._published.findings)
        question = question_of(url, fields, settings=view.model.proxy, client=client)
        return explain(question, view, background=evidence, now=now, live=True)

    # Starting and stopping.

    async def _open(self) -> Controller:
        """The controller of what the options say is to be followed."""
        context, source = self._options.context, self._options.source
        if source is not None:
            self._modes = ModeTelling()
            return Controller(
                self._resolving(FolderSource(source)),
                context=context,
                published=self._published,
                on_model=self._modes.published,
            )
        from ingress.cluster import Cluster

        self._cluster = cluster = await Cluster.open(self._options)
        self._modes = ModeTelling(cluster.modes_changed)
        return Controller(
            self._resolving(cluster.source),
            context=context,
            published=self._published,
            on_findings=cluster.findings_changed,
            on_model=self._modes.published,
        )

    def _resolving(self, source: Source) -> Source:
        return ResolvingSource(source) if self._options.context.allow_external_name else source

    def _snapshot(self) -> Snapshot:
        ages = self._cluster.source.event_ages() if self._cluster is not None else {}
        connections = {(state,): float(count) for state, count in self._worker.connections().items()}
        spill_ratios, overload_factors = self._worker.spills()
        return msgspec.structs.replace(
            without_left_out(self._published.snapshot(), self._worker.left_out()),
            connections=connections,
            spill_ratios=spill_ratios,
            overload_factors=overload_factors,
            watch_ages_seconds={(kind.value,): age for kind, age in ages.items()},
            event_loop_lag_seconds=self._lag.worst_seconds,
        )

    async def _start_admin(self) -> tuple[web.AppRunner, int]:
        options = self._options
        try:
            return await start_admin(
                build_admin(self, debug_remote=options.debug_remote),
                host=options.admin_address,
                port=options.admin_port,
            )
        except OSError as error:
            problem = error.strerror or str(error)
            raise CannotListen(
                f"cannot listen on {options.admin_address} port {options.admin_port}: {problem}"
            ) from None

    def _watch_signals(self) -> None:
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._signals.put_nowait, number)

    async def _serve_until_signal(self, following: asyncio.Task[None]) -> float:
        """Serve until a signal; the seconds of grace that it gives."""
        gc.freeze()  # what is built by now stays; later collections need not look at it again
        told = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({told, following}, return_when=asyncio.FIRST_COMPLETED)
        if not told.done():
            following.result()  # the control loop never ends on its own: raise what ended it
        return 0.0 if told.result() == signal.SIGINT else self._options.shutdown_grace_seconds

    async def _drain(self, *, grace_seconds: float) -> None:
        self._stopping = True
        draining = asyncio.ensure_future(
            self._worker.drain(grace_seconds=grace_seconds, limit_seconds=self._options.drain_timeout_seconds)
        )
        told_again = asyncio.ensure_future(self._signals.get())
        await asyncio.wait({draining, told_again}, return_when=asyncio.FIRST_COMPLETED)
        draining.cancel()
        told_again.cancel()
