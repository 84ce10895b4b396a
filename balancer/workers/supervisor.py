"""Runs worker processes as one fleet: starts, feeds, watches, asks and drains them.

Carries out what `lifecycle` decides; `crew` keeps the processes. Each place has listening sockets of its own, which
stay open without a process, so connections that wait in them outlive a process that did not accept them. If the next
process will not come soon and other workers accept, the sockets are closed, so that the kernel gives new connections to
those workers.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Final

import msgspec

from balancer.connections.listeners import Port, descriptor_limit, open_ports, ports_of
from balancer.explain.asking import BadQuestion
from balancer.explain.drafts import Draft
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import MINIMUM_BYTES, Buffer, SlotTable
from balancer.model.certificates import Certificate
from balancer.model.publication import Publication
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.runtime.lag import LoopLag
from balancer.runtime.priority import give_way
from balancer.runtime.supervising import kept_at_work
from balancer.sharing.memory import SharedMemory
from balancer.workers.crew import Crew, tell_not_started
from balancer.workers.fleet import NoAnswer
from balancer.workers.lifecycle import Life, Phase, Restarts, Slot, Times
from balancer.workers.messages import SuspectRow
from balancer.workers.places import Place
from balancer.workers.reports import FleetReport, merged
from balancer.workers.shipping import Dispatch
from balancer.workers.spawning import worker_command
from balancer.workers.standby import Standby
from balancer.workers.supervised import Command, Supervised, WorkerSettings

_LOG = logging.getLogger(__name__)

_REPORT_SECONDS: Final = 0.5  # of a scrape's ten
_EXPLAIN_SECONDS: Final = 2.0
_KILLED_SECONDS: Final = 5.0  # for the kernel to end a killed process, which a disk or a debugger may delay


class FleetOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How many workers, where they listen, what each is told, and for how long a retiring worker may drain.

    `stands_by`: one more process is ready to take the place of any of them. `key_secret` is that of `SharedMemory`.
    """

    count: int
    stands_by: bool = False
    address: str
    ports: tuple[Port, ...]
    settings: WorkerSettings = WorkerSettings()
    retire_limit_seconds: float = 240.0
    key_secret: bytes | None = None


class ProcessFleet:
    """A `Fleet` of processes. Must be made inside the running loop."""

    def __init__(
        self,
        options: FleetOptions,
        *,
        fallback: Certificate,
        new_log: Callable[[], int],
        times: Times | None = None,
        command: Command = worker_command,
    ) -> None:
        """`fallback` is every worker's certificate for handshakes that no other certificate fits.

        `new_log` returns the write end of a new pipe for access log lines. `times` and `command` are for tests.
        """
        self._options = options
        self._times = times or Times()
        self._loop = asyncio.get_running_loop()
        self._lag = LoopLag()
        shared = SharedMemory(options.count, secret=options.key_secret)
        self.among_replicas = shared.among_replicas()
        self._own_counters = bytearray(MINIMUM_BYTES)
        self._recorder = Recorder(SlotTable(self._own_counters))
        self._dispatch = Dispatch(fallback, let_in=give_way)
        self._crew = Crew(
            options.settings,
            command=command,
            shared=shared,
            dispatch=self._dispatch,
            new_log=new_log,
            on_end=self._forget,
        )
        self._places: list[Place] = []
        self._keeping: list[asyncio.Task[None]] = []
        self._watching: asyncio.Task[None] | None = None
        self._turns = count()
        self._is_draining = False
        self._is_stopped = False
        self._standby = Standby(self._begin_standby, self._times) if options.stands_by else None
        self._restarts = Restarts(self._times)
        self._succeeded = asyncio.Event()  # set for a moment only
        self.ports: Mapping[str, int] = {}

    def open(self) -> None:
        """Binds the ports and starts the first processes. Raises `CannotListen`."""
        options = self._options
        descriptor_limit()  # raises the limit, because the parent has several descriptors for each worker
        for number, sockets in enumerate(open_ports(options.address, options.ports, count=options.count)):
            self.ports = self.ports or ports_of(sockets)
            place = Place(number, sockets, Slot(self._times))
            self._places.append(place)
            self._keeping.append(self._kept(partial(self._keep, place), f"keeping worker {number}", place.was_tried))
            self._keeping[-1].add_done_callback(place.was_tried)
        self._watching = self._kept(self._crew.watch, "watching workers")

    async def start(self) -> None:
        """Waits until every worker accepts, or its first start has failed."""
        for place in self._places:
            await place.tried.wait()

    def publish(self, publication: Publication) -> None:
        """Makes every worker serve `publication`."""
        is_first = not self._dispatch.newest.generation
        self._dispatch.newest = publication
        if is_first and self._standby is not None:  # which starts with a publication only
            self._keeping.append(self._kept(self._standby.keep, "keeping a process ready"))
        for worker in self._crew.placed():  # `Standby` feeds the other one
            worker.feed()

    def generation_in_use(self) -> int:
        """What every accepting worker serves; see `Fleet.generation_in_use`."""
        return min((worker.generation for worker in self._crew.accepting()), default=0)

    def readiness(self) -> str | None:
        """Why clients should not come: no worker accepts, or a worker would answer without a configuration. None if
        they may.
        """
        accepting = self._crew.accepting()
        if not accepting:
            return "no worker"
        if not all(worker.generation for worker in accepting):
            return "no configuration in every worker yet"
        return None

    async def report(self, about: tuple[str, str] | None = None) -> FleetReport:
        """What the workers report; see `Fleet.report`."""
        workers = self._crew.placed()
        with suppress(TimeoutError):
            async with asyncio.timeout(_REPORT_SECONDS):
                await asyncio.gather(*(worker.report(about) for worker in workers), return_exceptions=True)
        reports = [worker.last_report for worker in workers if worker.last_report is not None]
        return merged(reports, lag_seconds=self._lag.worst_seconds)

    def failing(self) -> Sequence[Mapping[EndpointPlace, FailingRow]]:
        """How endpoints do that failed lately; see `Fleet.failing`."""
        return [worker.failing.rows for worker in self._crew.workers]

    def suspect(self, rows: tuple[SuspectRow, ...]) -> None:
        """Tells all workers; see `Fleet.suspect`."""
        for worker in self._crew.accepting():
            worker.suspect(rows)

    def processes(self) -> Mapping[int, int]:
        """The process id of each worker by its number. While a worker is replaced, the id of the newer process."""
        return {worker.number: worker.pid for worker in self._crew.workers}

    def tables(self) -> Sequence[Buffer]:
        """The tables of all workers, including ended ones, and of the parent."""
        return [*self._crew.tables(), self._own_counters]

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft:
        """Where a request goes in one worker, each time another one. Raises `BadQuestion` and `NoAnswer`."""
        accepting = self._crew.accepting()
        newest = [worker for worker in accepting if worker.generation == self._dispatch.newest.generation]
        if not accepting:
            raise NoAnswer("no worker")
        candidates = newest or accepting
        now = self._loop.time()
        candidates = [worker for worker in candidates if not worker.life.is_late(now)] or candidates
        worker = candidates[next(self._turns) % len(candidates)]
        try:
            async with asyncio.timeout(_EXPLAIN_SECONDS):
                told = await worker.explain(url, fields, client=client)
        except (ConnectionError, TimeoutError):
            raise NoAnswer(f"worker {worker.number} does not answer") from None
        if isinstance(told, str):
            raise BadQuestion(told)
        return told

    async def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Makes every worker drain, starts no other worker, and waits for the last one to end."""
        await _ended(self._keeping)
        self._is_draining = True
        self._dismiss_standby()
        self._leave_none_waiting()
        for worker in self._crew.workers:
            worker.drain(grace_seconds=grace_seconds, limit_seconds=limit_seconds)
        closing = self._loop.call_later(grace_seconds, self._close_listeners)
        try:
            await self._crew.all_ended()
        finally:
            closing.cancel()
            self._close_listeners()

    async def stop(self) -> None:
        """Kill what is left."""
        self._is_stopped = True
        await _ended(self._keeping)
        if self._watching is not None:
            await _ended([self._watching])
        self._lag.stop()
        for worker in self._crew.workers:
            worker.kill("stopped")
        with suppress(TimeoutError):
            async with asyncio.timeout(_KILLED_SECONDS):
                await self._crew.all_ended()
        self._close_listeners()
        self._crew.close()

    def _kept(
        self, work: Callable[[], Awaitable[None]], what: str, told: Callable[[str], None] = lambda _: None
    ) -> asyncio.Task[None]:
        """Work without an end, which begins again after an unexpected exception: nobody else would do it."""
        kept = kept_at_work(work, what=what, told=told, pause_seconds=self._times.longest_pause)
        return self._loop.create_task(kept)

    # One place among the workers.

    async def _keep(self, place: Place) -> None:
        """Keeps a worker in this place, without end."""
        retiring: list[Supervised] = []
        while True:
            worker = self._begin(place)
            if worker is not None:
                await self._serve(worker, retiring)
                place.tried.set()
                await worker.until(Phase.RETIRING)
            place.tried.set()
            if worker is not None and not worker.ended.is_set():
                retiring.append(worker)
            else:
                await self._pause(place, worker)
            self._recorder.worker_restart()

    async def _serve(self, worker: Supervised, retiring: list[Supervised]) -> None:
        """Waits until a worker serves, then lets the workers go whose successor it is."""
        await worker.until(Phase.ACCEPTING)
        if worker.life.is_accepting:
            _LOG.info("worker %d accepts, process %d", worker.number, worker.pid)
            for old in retiring:
                old.drain(grace_seconds=0.0, limit_seconds=self._options.retire_limit_seconds)
            retiring.clear()
            self._loop.call_later(self._times.proof, self._prove, worker)

    def _begin(self, place: Place) -> Supervised | None:
        """Lets the process that stands by take a place, or starts one. Returns None if that fails."""
        if place.is_open and self._standby is not None and (worker := self._standby.take()) is not None:
            worker.take_place(place.number)
            return worker
        return self._start_process(place.number, place, place.slot.times)

    def _begin_standby(self) -> Supervised | None:
        if not all(place.is_open for place in self._places):
            return None
        return self._start_process(len(self._places), self._places[0], self._times, stands_by=True)

    def _dismiss_standby(self) -> None:
        if self._standby is not None:
            self._standby.dismiss()

    def _start_process(self, number: int, place: Place, times: Times, *, stands_by: bool = False) -> Supervised | None:
        """Starts a process for `place`, or for any place if it stands by. Returns None if that fails."""
        try:
            if not place.is_open:
                place.reopen()
                self._dismiss_standby()
        except OSError as error:
            tell_not_started(number, error)
            return None
        places = tuple(each.sockets for each in self._places) if stands_by else ()
        return self._crew.start(number, place.sockets, times, places)

    async def _pause(self, place: Place, worker: Supervised | None) -> None:
        """Waits as long as required after a worker that ended unasked, or could not be started."""
        now = self._loop.time()
        life = worker.life if worker is not None else Life(self._times, now)
        seconds = place.slot.ended(life, now, killed=worker is not None and worker.was_killed)
        if seconds is None:
            await self._turn(place)
        else:
            await asyncio.sleep(seconds)

    async def _turn(self, place: Place) -> None:
        """Waits until the successor of a failed worker may start."""
        while (seconds := self._restarts.take(self._loop.time())) > 0:
            _LOG.warning("worker %d is started again in %.1f s", place.number, seconds)
            if seconds > self._times.long_pause:
                self._step_aside(place)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._succeeded.wait()

    def _step_aside(self, place: Place) -> None:
        """Leaves new connections to the workers of other places, if there is no worker in this place."""
        accepting = {worker.number for worker in self._crew.workers if self._takes_connections(worker)}
        if accepting and place.number not in accepting:
            place.close()
            self._dismiss_standby()

    def _takes_connections(self, worker: Supervised) -> bool:
        # While all workers drain, those that have accepted still accept for the grace period.
        return worker.life.accepted_at is not None if self._is_draining else worker.life.is_accepting

    def _prove(self, worker: Supervised) -> None:
        """A worker served for long enough. What made others fail may be gone, so successors need not wait."""
        if not worker.ended.is_set():
            self._restarts.succeeded()
            self._succeeded.set()
            self._succeeded.clear()

    def _forget(self, worker: Supervised) -> None:
        if self._is_draining:
            self._leave_none_waiting()
        _LOG.log(
            self._level_of(worker),
            "worker %d has ended, process %d: %s",
            worker.number,
            worker.pid,
            worker.end_told,
        )

    def _level_of(self, worker: Supervised) -> int:
        """The log level for the end of a worker."""
        if self._is_stopped:
            return logging.DEBUG
        return logging.INFO if worker.life.phase is Phase.DRAINING else logging.WARNING

    def _close_listeners(self) -> None:
        for place in self._places:
            place.close()

    def _leave_none_waiting(self) -> None:
        """No worker is started any more. The remaining workers take all connections."""
        for place in self._places:
            self._step_aside(place)


async def _ended(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancels the tasks and waits until they are done."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
