"""Runs a worker process: serves what its parent publishes, answers its questions, drains when told, ends with it.

Connects the channel to the data plane of one event loop. Does not know the control plane: nothing of Kubernetes, of the
admin port or of the exposition is even imported here. The parent decides when the worker ends.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import mmap
import os
import signal
import socket
import sys
from typing import NoReturn

import msgspec

from balancer.explain.asking import BadQuestion
from balancer.logs.accesslines import AccessLogFormat
from balancer.logs.accesslog import AccessLog
from balancer.logs.stderr import configure_logs
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import TABLE_BYTES, SlotTable
from balancer.model.certificates import Certificate
from balancer.runtime.garbage import leave_out, not_searching, short_searches
from balancer.runtime.lag import LoopLag
from balancer.runtime.loops import loop_factory
from balancer.runtime.signals import ENDING, ignore_unheeded, let_through, tell_crashes
from balancer.runtime.turns import in_turns
from balancer.sharing.memory import Seat, join
from balancer.workers.channel import Channel
from balancer.workers.deltas import Making, Piece, PublicationAssembler, Unfitting
from balancer.workers.judging import worker_report
from balancer.workers.messages import (
    TO_WORKER,
    Accepting,
    DrainNow,
    ExplainAsked,
    Explained,
    Failing,
    Fallback,
    Ping,
    Pong,
    PublicationRefused,
    Retiring,
    Serving,
    SiblingNews,
    StandingBy,
    Suspects,
    TakePlace,
    ToParent,
    ToWorker,
    UnreadablePiece,
    WorkerStart,
    encode,
)
from balancer.workers.swapping import Steps, Swaps
from balancer.workers.worker import Worker

_LOG = logging.getLogger("balancer.workers.process")  # this module runs as __main__

_LOG_FLUSH_SECONDS = 2.0  # at the end, for lines that the parent has not read yet
_PROBLEM_CHARACTERS = 500  # characters of an error's text, which may quote anything; enough to find its place


class WorkerProcess:
    """A worker process. Must be made inside the running loop, and owns the descriptors of `start` from then on."""

    def __init__(self, start: WorkerStart) -> None:
        self._loop = asyncio.get_running_loop()
        self._start = start
        self._place: asyncio.Future[int | None] = self._loop.create_future()
        self._recorder = Recorder(SlotTable(mmap.mmap(start.counters, TABLE_BYTES)))
        self._shared = join(Seat(*start.seat))
        self._access_log = AccessLog(
            start.access_log, AccessLogFormat(start.access_log_format), self._recorder.access_log_dropped
        )
        self._worker: Worker  # made of the first message, before any other message
        self._swaps: Swaps  # likewise
        self._gathering = PublicationAssembler()
        self._served = self._gathering.publication
        self._compat_metrics = start.compat_metrics
        self._limit_store = start.limit_store
        self._refused = 0
        self._is_settled = False
        self._waits_for_publication = start.has_publication
        self._may_accept = asyncio.Event()
        self._reports = set[asyncio.Task[None]]()
        self._lag = LoopLag()
        self._told_to_drain: asyncio.Future[DrainNow] = self._loop.create_future()
        self._channel = Channel(
            socket.socket(fileno=start.channel), TO_WORKER, on_message=self._heard, on_end=_end_with_parent
        )

    async def run(self) -> None:
        """Serves until told to drain, then drains."""
        for number in ENDING:
            self._loop.add_signal_handler(number, self._retire)
        let_through()
        await self._may_accept.wait()
        listeners = await self._listeners()
        if listeners is not None and not self._told_to_drain.done():
            await self._worker.listen(listeners)
            self._say(Accepting())
        drain = await self._told_to_drain
        await self._worker.drain(grace_seconds=drain.grace_seconds, limit_seconds=drain.limit_seconds)
        self._lag.stop()
        self._access_log.close(_LOG_FLUSH_SECONDS)
        self._channel.close()

    async def _listeners(self) -> dict[str, socket.socket] | None:
        """The sockets to accept from, by name. A worker that stands by waits for a place. None: it drains first."""
        start = self._start
        if not start.places:
            return _opened(start.sockets)
        self._say(StandingBy())
        number = await self._place
        configure_logs(level=start.log_level, log_format=start.log_format, worker=number)
        for other, descriptors in enumerate(start.places):
            if other != number:
                for _, descriptor in descriptors:
                    os.close(descriptor)
        if number is None:
            return None
        return _opened(start.places[number])

    def _say(self, message: ToParent) -> None:
        self._channel.send(encode(message))

    def _heard(self, message: ToWorker | UnreadablePiece) -> None:
        match message:
            case Fallback(certificate=certificate):
                self._make_worker(certificate)
            case Piece():
                self._take(message)
            case UnreadablePiece(generation=generation, problem=problem):
                self._refuse(generation, problem)
            case Ping():
                self._pinged(message)
            case ExplainAsked():
                self._say(self._explained(message))
            case TakePlace(number=number):
                self._take_place(number)
            case Suspects() | SiblingNews():
                self._hear(message)
            case DrainNow():
                if not self._told_to_drain.done():
                    self._told_to_drain.set_result(message)
                    self._take_place(None)
                    self._may_accept.set()  # so that `run`, which may still wait, goes on to the drain

    def _hear(self, message: Suspects | SiblingNews) -> None:
        if isinstance(message, Suspects):
            self._worker.suspect(message.rows)
        else:
            self._worker.hear(message.rows)

    def _make_worker(self, fallback: Certificate) -> None:
        """Makes the worker, of the first message."""
        self._worker = Worker(
            recorder=self._recorder,
            access_log=self._access_log,
            fallback=fallback,
            counting=self._shared.counting,
            others=self._shared.others,
            compat_metrics=self._compat_metrics,
            limit_store=_url_at(self._limit_store) if self._limit_store else "",
        )
        self._worker.tell_failing(lambda rows: self._say(Failing(rows)))
        self._swaps = Swaps(used=self._used, failed=self._fail, later=self._loop.call_later)
        if not self._waits_for_publication:
            self._may_accept.set()

    def _take_place(self, number: int | None) -> None:
        if not self._place.done():
            self._place.set_result(number)

    def _take(self, piece: Piece) -> None:
        """Brings the publication that `piece` completes into use. If a bug prevents this, the last one stays."""
        if piece.generation == self._refused:
            return
        if not self._is_settled:
            gc.disable()  # nearly all objects of the first publication stay, and searching for the others is slow
        try:
            with not_searching():
                making = self._gathering.add(piece)
        except Unfitting as problem:
            _LOG.info("a piece of publication %d is left out: %s", piece.generation, problem)  # its base was refused
        except Exception as error:
            self._fail(piece.generation, error)
        else:
            if self._is_settled:
                leave_out()  # pieces stay
            if making is not None:  # to decode the last piece held the loop long enough
                self._loop.call_soon(self._swaps.take, piece.generation, self._swapping(making))

    def _swapping(self, making: Making) -> Steps:
        """Brings the publication that `making` makes into use, in steps."""
        publication = yield from making
        yield from self._worker.swapping(publication)

    def _used(self, generation: int) -> None:
        self._served = self._gathering.publication
        self._say(Serving(generation))
        if not self._is_settled:
            self._is_settled = True
            self._may_accept.set()
            gc.enable()

    def _fail(self, generation: int, error: Exception) -> None:
        _LOG.error("publication %d cannot be served; %d stays", generation, self._served.generation, exc_info=error)
        self._gathering.publication = self._served
        gc.enable()
        self._refuse(generation, f"{type(error).__name__}: {error}")

    def _refuse(self, generation: int, problem: str) -> None:
        self._refused = generation
        self._say(PublicationRefused(generation, problem[:_PROBLEM_CHARACTERS]))

    def _explained(self, asked: ExplainAsked) -> Explained:
        try:
            told = self._worker.explain(asked.url, asked.fields, client=asked.client)
        except BadQuestion as problem:
            return Explained(asked.number, None, str(problem))
        return Explained(asked.number, told)

    def _pinged(self, ping: Ping) -> None:
        if not ping.wants_report:
            self._say(Pong(ping.number))
            return
        reporting = self._loop.create_task(self._report(ping))
        self._reports.add(reporting)
        reporting.add_done_callback(self._reports.discard)

    async def _report(self, ping: Ping) -> None:
        """Answers `ping` with a report. Requests are served while it is made."""
        found = await in_turns(self._worker.judging(ping.about))
        report = worker_report(found, self._worker.connections(), lag_seconds=self._lag.worst_seconds)
        self._say(Pong(ping.number, report))

    def _retire(self) -> None:
        if not self._told_to_drain.done():
            _LOG.info("told to end; serving until a successor serves")
            self._say(Retiring())


def _opened(sockets: tuple[tuple[str, int], ...]) -> dict[str, socket.socket]:
    return {name: socket.socket(fileno=descriptor) for name, descriptor in sockets}


def _url_at(file: str) -> str:
    from balancer.connections.limit_stores import url_at

    return url_at(file)


def _end_with_parent(reason: str) -> NoReturn:
    """Ends the process: nobody publishes, counts or reaps any more. Whatever runs the container starts all again."""
    signal.alarm(1)  # in case nobody reads our log either
    _LOG.error("ending at once: no parent (%s)", reason)
    os._exit(1)


async def _run(start: WorkerStart) -> None:
    with short_searches():
        await WorkerProcess(start).run()


def main() -> None:
    """The main program. Its one argument is the JSON of a `WorkerStart`."""
    tell_crashes()
    ignore_unheeded(signal.SIGINT)  # Ctrl-C reaches every process of a terminal, but the parent decides
    start = msgspec.json.decode(sys.argv[1], type=WorkerStart)
    configure_logs(level=start.log_level, log_format=start.log_format, worker=start.number)
    try:
        with asyncio.Runner(loop_factory=loop_factory(start.event_loop)) as runner:
            runner.run(_run(start))
    except Exception:
        _LOG.critical("ended by an error", exc_info=True)
        sys.exit(1)


if __name__ == "__main__":
    main()
