"""One worker process as its parent sees it, also one that is silent, garbled, deaf or dead."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import cast

import msgspec
import pytest

from balancer.connections.listeners import listen
from balancer.connections.tls import self_signed
from balancer.explain.drafts import Draft
from balancer.model.publication import Publication
from balancer.model.routes import Route
from balancer.sharing.memory import SharedMemory
from balancer.workers.lifecycle import Phase
from balancer.workers.messages import Accepting, Explained, Pong, Retiring, Serving, WorkerReport
from balancer.workers.shipping import Dispatch
from balancer.workers.siblings import Siblings
from balancer.workers.spawning import worker_command
from balancer.workers.supervised import Command, Inheritance, Supervised, WorkerSettings
from balancer.workers.tables import Tables
from tests import builders as build
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.unit.balancer.workers.standins import QUICK, standin

MODEL = build.model(build.backend(), hosts=[build.host("shop.test", build.route("/"))])


class Rig:
    """What a worker inherits, and the news of its end."""

    def __init__(self) -> None:
        self.dispatch = Dispatch(self_signed())
        self.ended: list[Supervised] = []
        self.log, self.log_write = os.pipe()
        self.worker: Supervised | None = None

    def begin(self, command: Command) -> Supervised:
        tables, shared = Tables(), SharedMemory(1)
        with listen("127.0.0.1", 0) as http, listen("127.0.0.1", 0) as https:
            try:
                self.worker = Supervised(
                    3,
                    Inheritance(
                        sockets={"http": http, "https": https},
                        table=tables.take(),
                        seat=shared.take(),
                        log=self.log_write,
                    ),
                    settings=WorkerSettings(log_level="warning"),
                    command=command,
                    times=QUICK,
                    dispatch=self.dispatch,
                    siblings=Siblings(list),
                    on_end=self.ended.append,
                )
            finally:
                tables.close()
                shared.close()
        return self.worker


@asynccontextmanager
async def rig() -> AsyncIterator[Rig]:
    rig = Rig()
    try:
        yield rig
    finally:
        if rig.worker is not None:
            rig.worker.kill("the test is over")
            await rig.worker.ended.wait()
        os.close(rig.log)


async def ended(worker: Supervised) -> str:
    async with asyncio.timeout(PATIENCE_SECONDS):
        await worker.ended.wait()
    return worker.end_told


async def test_a_real_one_starts_serves_answers_and_drains() -> None:
    async with rig() as place:
        place.dispatch.newest = Publication(5, MODEL)
        worker = place.begin(worker_command)
        assert worker.life.phase is Phase.STARTING
        await until(lambda: worker.life.is_accepting)
        assert worker.generation == 5, "with a publication at its start, it serves that before it accepts"
        place.dispatch.newest = Publication(6, MODEL)
        worker.feed()
        await until(lambda: worker.generation == 6)
        await worker.report()
        assert worker.last_report is not None
        assert dict(worker.last_report.connections)["client_idle"] == 0
        told = await worker.explain("http://shop.test/", (), client="")
        assert isinstance(told, Draft)
        assert told.explanation.ingress == "shop/web"
        problem = await worker.explain("no url", (), client="")
        assert problem == "give a URL such as http://shop.example/cart"
        worker.drain(grace_seconds=0.0, limit_seconds=30.0)
        assert not worker.life.is_accepting
        assert await ended(worker) == "exit status 0"
        assert place.ended == [worker]


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (standin(then="raise SystemExit(7)"), "exit status 7"),
        (standin(Accepting(), then="os.kill(os.getpid(), signal.SIGKILL)"), "SIGKILL"),
        (standin(then="say('ffffffff'); signal.pause()"), "cannot be talked to: a message of"),
        (standin(then="say('0000000101'); signal.pause()"), "cannot be talked to: not a message"),
        (
            standin(then="os.read(start['channel'], 65536); os.close(start['channel']); signal.pause()"),
            "cannot be talked to: the other side has closed",
        ),
    ],
    ids=["that exits", "that is killed", "without bounds", "that speaks in tongues", "that hangs up"],
)
async def test_one(command: Command, told: str) -> None:
    async with rig() as place:
        assert (await ended(place.begin(command))).startswith(told)
        assert place.ended == [place.worker]


_HANGS_UP_WHEN_TOLD_TO_DRAIN = """\
import socket
with socket.socket(fileno=start["channel"]) as channel:
    for _ in ("the certificate", "to drain"):
        length = int.from_bytes(channel.recv(4, socket.MSG_WAITALL), "big")
        channel.recv(length, socket.MSG_WAITALL)
time.sleep(0.5)
"""


async def test_one_that_drains_may_hang_up_some_time_before_it_ends() -> None:
    async with rig() as place:
        worker = place.begin(standin(Accepting(), then=_HANGS_UP_WHEN_TOLD_TO_DRAIN))
        await until(lambda: worker.life.is_accepting)
        worker.drain(grace_seconds=0.0, limit_seconds=30.0)
        assert await ended(worker) == "exit status 0"


async def test_its_pipe_is_at_its_end_when_it_has_ended() -> None:
    async with rig() as place:
        await ended(place.begin(standin(then="os.write(start['access_log'], b'last words')")))
        assert os.read(place.log, 100) == b"last words"
        assert os.read(place.log, 100) == b""


async def test_what_it_says_moves_its_life() -> None:
    async with rig() as place:
        worker = place.begin(standin(Serving(4), Accepting(), Retiring()))
        async with asyncio.timeout(PATIENCE_SECONDS):
            await worker.until(Phase.ACCEPTING)
            await worker.until(Phase.RETIRING)
        assert worker.generation == 4
        assert worker.life.is_accepting, "until its successor does"


async def test_nobody_waits_for_one_that_has_ended() -> None:
    async with rig() as place:
        worker = place.begin(standin(then="signal.pause()"))
        waiting = [
            asyncio.ensure_future(worker.until(Phase.ACCEPTING)),
            asyncio.ensure_future(worker.report()),
            asyncio.ensure_future(worker.explain("", (), client="")),
        ]
        await asyncio.sleep(0)
        worker.kill("in the way")
        assert await ended(worker) == "in the way (SIGKILL)"
        first, *others = await asyncio.gather(*waiting, return_exceptions=True)
        assert first is None
        assert all(isinstance(each, ConnectionError) for each in others)


@pytest.mark.parametrize("answer", [Pong(99, WorkerReport()), Explained(99, None, "of whom?")], ids=type)
async def test_an_answer_that_nobody_waits_for_is_a_sign_of_life(answer: Pong | Explained) -> None:
    async with rig() as place:
        worker = place.begin(standin(Accepting(), answer))
        await until(lambda: worker.life.is_accepting)
        worker.ping()


async def test_one_that_does_not_read_holds_nobody_up_and_little_memory() -> None:
    async with rig() as place:
        worker = place.begin(standin(Accepting()))
        await until(lambda: worker.life.is_accepting)
        for generation in range(1, 30):
            backends = (build.backend(f"shop/cart-{generation}-{n}:80", build.endpoints("abc")) for n in range(500))
            place.dispatch.newest = Publication(generation, build.model(*backends))
            worker.feed()
            await asyncio.sleep(0)
        assert worker.pending_bytes < 1024 * 1024


def command_of(program: str) -> Callable[[bytes], list[str]]:
    return lambda _: [program]


async def test_what_cannot_be_started_leaves_nothing_behind() -> None:
    before = len(os.listdir("/proc/self/fd"))
    async with rig() as place:
        with pytest.raises(FileNotFoundError):
            place.begin(command_of("/nowhere/program"))
        assert place.worker is None
        assert os.read(place.log, 1) == b""
    assert len(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize(
    ("route", "told"),
    [
        (build.route(hash_by=cast("str", 7)), "hash_by"),
        (build.route(hash_by="${"), "cannot serve publication 6"),
        (build.route(hash_by="\ud800"), "host evil.test of Ingress shop/web"),
    ],
    ids=["cannot be read", "cannot be served", "cannot be sent"],
)
async def test_what(route: Route, told: str, caplog: pytest.LogCaptureFixture) -> None:
    poisoned = msgspec.structs.replace(MODEL, hosts=(build.host("evil.test", route), *MODEL.hosts))
    async with rig() as place:
        good = place.dispatch.newest = Publication(5, MODEL)
        worker = place.begin(worker_command)
        await until(lambda: worker.life.is_accepting)
        place.dispatch.newest = Publication(6, poisoned)
        worker.feed()
        await until(lambda: place.dispatch.newest is good)
        assert told in caplog.text
        assert worker.generation == 5
        place.dispatch.newest = Publication(7, MODEL)
        worker.feed()
        await until(lambda: worker.generation == 7)
        assert not worker.ended.is_set()
