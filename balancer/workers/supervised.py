"""Handles one worker process for its parent: starts, feeds, asks, drains and kills it.

Owns the messages with the process, and gives back what the process held. Does not know the other workers, nor when the
next one starts.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, count
from typing import Final

import msgspec

from balancer.explain.drafts import Draft
from balancer.picking.failing import FailingRow, FailingRows
from balancer.runtime.build import build_told
from balancer.runtime.priority import give_way
from balancer.sharing.memory import Seat
from balancer.workers.channel import Channel
from balancer.workers.lifecycle import Life, Overdue, Phase, Times
from balancer.workers.messages import (
    TO_PARENT,
    Accepting,
    DrainNow,
    ExplainAsked,
    Explained,
    Failing,
    NotSayable,
    Ping,
    Pong,
    PublicationRefused,
    Retiring,
    Serving,
    SiblingNews,
    StandingBy,
    SuspectRow,
    Suspects,
    TakePlace,
    ToParent,
    ToWorker,
    WorkerReport,
    WorkerStart,
    encode,
)
from balancer.workers.shipping import Consignee, Dispatch
from balancer.workers.siblings import Siblings
from balancer.workers.spawning import Process
from balancer.workers.tables import Table

_LOG = logging.getLogger(__name__)

# Frames that are sent in one turn of the loop if the worker takes them. To make one takes a fifth of a millisecond.
_FRAMES_AT_ONCE: Final = 4

_HUNG_UP_SECONDS: Final = 0.2  # between the end of a channel and the end of its process, which tells why

Command = Callable[[bytes], Sequence[str]]
"""The command line of a worker, from the JSON of its `WorkerStart`."""


class WorkerSettings(msgspec.Struct, frozen=True, kw_only=True):
    """What every worker is told at its start; see `WorkerStart`."""

    access_log_format: str = "json"
    log_level: str = "info"
    log_format: str = "text"
    event_loop: str = "auto"
    compat_metrics: bool = False
    limit_store: str = ""


class Inheritance(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker inherits beside its channel. `places` are the sockets of all places, for a worker that stands by.

    `log` is the write end of a pipe, which the worker alone owns from then on.
    """

    sockets: Mapping[str, socket.socket]
    table: Table
    seat: Seat
    log: int
    places: tuple[Mapping[str, socket.socket], ...] = ()


class Supervised:
    """A process and the channel to it. Its messages move its `life`. `changed` is set whenever that may matter."""

    def __init__(
        self,
        number: int,
        inheritance: Inheritance,
        *,
        settings: WorkerSettings,
        command: Command,
        times: Times,
        dispatch: Dispatch,
        siblings: Siblings,
        on_end: Callable[[Supervised], None],
    ) -> None:
        """Starts the worker `number`. Raises OSError if there is no process.

        `siblings` are all workers of the replica. `on_end` is called when the process has ended and was reaped.
        """
        self._loop = asyncio.get_running_loop()
        self.number = number
        self.table = inheritance.table
        self.seat = inheritance.seat
        self.life = Life(times, self._loop.time())
        self.generation = 0
        self.last_report: WorkerReport | None = None
        self.failing = FailingRows()
        self.ended = asyncio.Event()
        self.changed = asyncio.Event()
        self.end_told = ""
        self._siblings = siblings
        self._on_end = on_end
        self._consignee = Consignee(dispatch)
        self._feeding = False
        self._numbers = count(1)
        self._asked: dict[int, asyncio.Future[Pong | Explained]] = {}
        try:
            ours, theirs = socket.socketpair()
        except OSError:
            os.close(inheritance.log)
            raise
        try:
            with theirs:
                self._process = _spawned(
                    _start(number, inheritance, theirs, settings=settings, dispatch=dispatch),
                    command=command,
                    on_end=self._process_ended,
                )
        except BaseException:
            ours.close()
            raise
        finally:
            os.close(inheritance.log)
        self._channel = Channel(
            ours, TO_PARENT, on_message=self._heard, on_end=self._channel_ended, on_written=self.feed
        )
        self.feed()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def overdue(self, now: float) -> Overdue | None:
        """Why it has to be killed now, or None. Call it often; see `Life`."""
        return self.life.overdue(now, starved=self._process.starved_seconds())

    @property
    def was_killed(self) -> bool:
        """Whether it was ended from outside, by this process or another."""
        return self._process.was_killed

    @property
    def pending_bytes(self) -> int:
        """Bytes that were sent to it and that it has not read."""
        return self._channel.pending_bytes

    async def until(self, phase: Phase) -> None:
        """Waits until it is in `phase` or a later one, or has ended."""
        while self.life.phase.value < phase.value and not self.ended.is_set():
            self.changed.clear()
            await self.changed.wait()

    def feed(self) -> None:
        """Sends what it lacks of the newest publication, as far as it takes it now. The rest follows later."""
        for _ in range(_FRAMES_AT_ONCE):
            if self._channel.pending_bytes or self.ended.is_set():
                return
            try:
                frame = self._consignee.next_frame()
            except NotSayable as error:
                _LOG.error("cannot be sent: %s; the last one stays (a bug: please report it)", error)
                continue
            if frame is None:
                return
            self._channel.send(frame)
            give_way()
        if not self._feeding:
            self._feeding = True
            self._loop.call_soon(self._feed_on)

    def take_place(self, number: int) -> None:
        """The worker stood by, and accepts from now on in that place. What it lacks comes first."""
        self.number = number
        self.feed()
        self._channel.send(encode(TakePlace(number)))

    def ping(self) -> None:
        """Ask for a sign of life."""
        self._send(Ping(next(self._numbers)))

    async def report(self, about: tuple[str, str] | None = None) -> None:
        """Asks for a report and waits until it is the newest; see `Fleet.report`. Cancel the call to stop waiting."""
        number = next(self._numbers)
        answer = await self._answer(number, Ping(number, wants_report=True, about=about))
        assert isinstance(answer, Pong)

    async def explain(self, url: str, fields: Sequence[str], *, client: str) -> Draft | str:
        """An explanation, or what is wrong with the question. Raises ConnectionError if the worker ends first."""
        number = next(self._numbers)
        answer = await self._answer(number, ExplainAsked(number, url, tuple(fields), client))
        assert isinstance(answer, Explained)
        return answer.draft if answer.draft is not None else answer.problem

    def suspect(self, rows: tuple[SuspectRow, ...]) -> None:
        """Tells it what other replicas say about endpoints."""
        self._channel.send(encode(Suspects(rows)))

    def hear(self, rows: tuple[FailingRow, ...]) -> None:
        """Tells it what another worker says about endpoints."""
        self._channel.send(encode(SiblingNews(rows)))

    def drain(self, *, grace_seconds: float, limit_seconds: float) -> None:
        """Tells it to drain and end."""
        self._channel.send(encode(DrainNow(grace_seconds, limit_seconds)))
        self.life.draining(self._loop.time(), seconds=grace_seconds + limit_seconds)

    def kill(self, reason: str) -> None:
        """End it now."""
        self.end_told = self.end_told or reason
        self._process.kill()

    async def _answer(self, number: int, question: Ping | ExplainAsked) -> Pong | Explained:
        future: asyncio.Future[Pong | Explained] = self._loop.create_future()
        self._asked[number] = future
        try:
            self._send(question)
            return await future
        finally:
            del self._asked[number]

    def _send(self, message: ToWorker) -> None:
        self.life.asked(self._loop.time())
        self._channel.send(encode(message))

    def _feed_on(self) -> None:
        self._feeding = False
        self.feed()

    def _heard(self, message: ToParent) -> None:
        self.life.heard()
        match message:
            case StandingBy():
                self.life.standing_by()
            case Accepting():
                self.life.accepting(self._loop.time())
                self._siblings.joined(self)
            case Serving(generation=generation):
                self.generation = generation
                self._consignee.serves(generation)
                if self.life.phase is not Phase.STANDING_BY:  # else it is fed at times only
                    self.feed()
            case PublicationRefused():
                self._refused(message)
            case Failing(rows=rows):
                self._siblings.told(self, rows)
            case Retiring():
                self.life.retiring()
            case Pong(number=number) | Explained(number=number):
                self._answered(number, message)
        self.changed.set()

    def _answered(self, number: int, message: Pong | Explained) -> None:
        if isinstance(message, Pong) and message.report is not None:
            self.last_report = message.report
        future = self._asked.get(number)
        if future is not None and not future.done():
            future.set_result(message)

    def _refused(self, message: PublicationRefused) -> None:
        if self._consignee.refuses(message.generation):
            _LOG.error(
                "worker %d cannot serve publication %d: %s; the last one stays (a bug: please report it)",
                self.number,
                message.generation,
                message.problem,
            )
        self.feed()

    def _channel_ended(self, reason: str) -> None:
        """A process that ends also ends its channel. A process that lives on has closed or garbled the channel and is
        useless.

        A process that drained closes the channel and may be slow to end on a busy machine.
        """
        if self.life.phase is Phase.DRAINING:
            self.life.hung_up()
        elif not self.ended.is_set():
            self._loop.call_later(_HUNG_UP_SECONDS, self._end_deaf, reason)

    def _end_deaf(self, reason: str) -> None:
        if not self.ended.is_set():
            self.kill(f"cannot be talked to: {reason}")

    def _process_ended(self) -> None:
        told = self._process.end_told()
        if self._process.has_crashed:
            told += f", build {build_told()}"
        self.end_told = f"{self.end_told} ({told})" if self.end_told else told
        self._channel.close()
        self.ended.set()
        self.changed.set()
        self._on_end(self)
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ConnectionError("the worker has ended"))
                future.exception()  # the caller may have stopped waiting


def _start(
    number: int, inheritance: Inheritance, channel: socket.socket, *, settings: WorkerSettings, dispatch: Dispatch
) -> WorkerStart:
    return WorkerStart(
        number=number,
        channel=channel.fileno(),
        sockets=_descriptors(inheritance.sockets),
        counters=inheritance.table.descriptor,
        seat=inheritance.seat,
        access_log=inheritance.log,
        places=tuple(map(_descriptors, inheritance.places)),
        has_publication=dispatch.newest.generation > 0,
        **msgspec.structs.asdict(settings),
    )


def _descriptors(sockets: Mapping[str, socket.socket]) -> tuple[tuple[str, int], ...]:
    return tuple((name, listener.fileno()) for name, listener in sockets.items())


def _spawned(start: WorkerStart, *, command: Command, on_end: Callable[[], None]) -> Process:
    sockets = {descriptor for _, descriptor in chain(start.sockets, *start.places)}
    descriptors = (start.channel, *sockets, start.counters, start.seat[0], start.access_log)
    return Process(command(msgspec.json.encode(start)), descriptors=descriptors, on_end=on_end)
