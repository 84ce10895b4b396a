"""The process of isolated hooks, as a worker runs it: asked, killed when it overruns, and replaced."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from balancer.connections.hook_hosts import UNAVAILABLE, HookHost, HookTerms, beginning
from balancer.connections.hook_threads import HookThreads
from balancer.connections.isolated_calls import IsolatedCall
from balancer.connections.isolated_hooks import call_of
from balancer.model.hooks import HookCode, HookPhase, HookRule
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.shares import FairShares
from tests.fakes.sockets import until
from tests.fakes.stalls import stall
from tests.fakes.stopwatch import Stopwatch
from tests.integration.processes import children
from tests.unit.zonal_hooks.test_messages import request
from zonal_hooks.loading import digest_of
from zonal_hooks.messages import Request
from zonal_hooks.talking import MESSAGE_BYTES_MOST
from zonal_hooks.verdicts import Denied, Failed, Verdict

pytestmark = pytest.mark.large

TEXT = """
import asyncio, os, time
from zonal_hooks import Deny, hook
@hook(isolated=True, timeout="100ms")
async def request(r):
    if r.path == "/endless":
        while True: pass
    if r.path == "/exit":
        os._exit(1)
    if r.path == "/sleep":
        await asyncio.sleep(0.05)
        return Deny(403)
    if r.path == "/compute":
        time.sleep(0.05)
        return Deny(403)
    if r.path == "/garbage":
        for fd in range(3, 64):
            try: os.write(fd, b"\\x00\\x00\\x00\\x02\\xc1\\xc1")
            except OSError: pass
    return Deny(451)
"""
CODE = HookCode("x", digest_of(TEXT), "x.py", TEXT, isolated=True)
TIMEOUT_SECONDS = 0.1
RULE = HookRule("x", CODE.digest, (HookPhase("request", TIMEOUT_SECONDS),), isolated=True)
ROOM = 16


class Host:
    """The host of one hook, and the calls that ended there."""

    def __init__(self, absences: Absences = NEVER_ABSENT) -> None:
        self.ended: list[tuple[str, Verdict]] = []
        self.lost: list[str] = []
        told = self.ended
        self.threads = HookThreads()
        terms = HookTerms(
            beginning([CODE]),
            lambda name, _, verdict: told.append((name, verdict)),
            FairShares(ROOM),
            self.threads,
            absences,
        )
        self.host = HookHost(terms, "shop", self.lost.append)

    def call(self, asked: Request) -> Verdict | IsolatedCall:
        return self.host.call("x", TIMEOUT_SECONDS, call_of(RULE, "request", asked))

    async def ask(self, path: str = "/", namespace: str = "shop") -> Verdict:
        answer: asyncio.Future[Verdict] = asyncio.get_running_loop().create_future()
        asked = Request((), b"GET", b"a.test", path.encode(), b"/", route=f"{namespace}/x")
        told = self.call(asked)
        if not isinstance(told, IsolatedCall):
            return told
        told.tell_to(answer.set_result)
        return await answer

    async def asked_until_it_runs(self) -> Verdict:
        verdict = await self.ask()
        while isinstance(verdict, Failed):
            await asyncio.sleep(0.01)
            verdict = await self.ask()
        return verdict


@asynccontextmanager
async def hosting(absences: Absences = NEVER_ABSENT) -> AsyncIterator[Host]:
    host = Host(absences)
    try:
        yield host
    finally:
        host.host.close()
        host.threads.stop()


async def test_a_namespace_with_many_calls_leaves_others_room() -> None:
    async with hosting() as host:
        asked = Request((), b"GET", b"shop.test", b"/", b"/", route="greedy/x")
        greedy = [host.call(asked) for _ in range(2 * ROOM)]
        refused = [each for each in greedy if isinstance(each, Failed)]
        assert refused == [UNAVAILABLE] * (ROOM + ROOM // 2)
        assert await host.ask() == Denied(451)


async def test_what_is_too_long_to_be_told_fails_and_takes_no_room() -> None:
    async with hosting() as host:
        long = Request(((b"x-a", bytes(MESSAGE_BYTES_MOST)),), b"GET", b"shop.test", b"/", b"/", route="shop/x")
        told = [host.call(long) for _ in range(ROOM)]
        assert {each.outcome for each in told if isinstance(each, Failed)} == {"invalid"}
        assert host.ended == [("x", each) for each in told]
        short = Request((), b"GET", b"shop.test", b"/", b"/", route="shop/x")
        assert isinstance(host.call(short), IsolatedCall)


async def test_a_call_of_a_process_that_has_just_ended_is_asked_of_the_next_one() -> None:
    """The loop has not heard of the end yet."""
    async with hosting() as host:
        await host.asked_until_it_runs()
        pid = host.host.pid
        assert pid is not None
        _kill(pid)
        assert await host.ask() == Denied(451)
        assert host.host.pid != pid
        assert host.lost == [], "the process worked at no call"


async def test_calls_of_others_are_asked_again_and_only_who_ended_the_process_is_told_of_it() -> None:
    async with hosting() as host:
        await host.asked_until_it_runs()
        sleeping = asyncio.create_task(host.ask("/sleep", "modest"))
        await asyncio.sleep(0)  # the oldest call under way is not the one at which the process works
        guilty = asyncio.create_task(host.ask("/exit", "greedy"))
        await asyncio.sleep(0)
        behind = asyncio.create_task(host.ask("/", "modest"))
        of_the_guilty = asyncio.create_task(host.ask("/", "greedy"))
        assert [await guilty, await of_the_guilty] == [UNAVAILABLE] * 2
        assert [await sleeping, await behind] == [Denied(403), Denied(451)]
        assert host.lost == ["greedy"]


async def test_a_process_that_is_busy_with_many_calls_is_not_killed() -> None:
    """The calls behind wait for longer than a call may take."""
    async with hosting() as host:
        await host.asked_until_it_runs()
        first = host.host.pid
        assert await asyncio.gather(*(host.ask("/compute", "greedy") for _ in range(8))) == [Denied(403)] * 8
        assert host.host.pid == first


async def test_a_call_that_nobody_waits_for_any_more_is_still_known_to_hold_the_process() -> None:
    async with hosting() as host:
        await host.asked_until_it_runs()
        call = host.call(Request((), b"GET", b"a.test", b"/endless", b"/", route="greedy/x"))
        assert isinstance(call, IsolatedCall)
        call.cancel()
        assert await host.ask("/", "modest") == Denied(451)
        assert host.lost == ["greedy"]


async def test_calls_fail_at_once_when_no_process_begins() -> None:
    async with hosting() as host:
        for _ in range(5):  # more than may be lost without an answer
            await until(lambda: host.host.pid is not None)
            pid = host.host.pid
            assert pid is not None
            _kill(pid)
            await until(partial(_has_lost, host, pid))
        assert await host.ask() == UNAVAILABLE
        assert await host.asked_until_it_runs() == Denied(451)


def _has_lost(host: Host, pid: int) -> bool:
    return host.host.pid != pid


def _kill(pid: int) -> None:
    """Ends a process of ours, and returns when it is over; it can still be waited for."""
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)


async def test_calls_that_come_before_the_process_are_answered() -> None:
    async with hosting() as host:
        assert await asyncio.gather(*(host.ask() for _ in range(5))) == [Denied(451)] * 5
        assert host.ended == [("x", Denied(451))] * 5


@pytest.mark.parametrize(
    ("path", "outcome"), [("/endless", "overrun"), ("/exit", "unavailable"), ("/garbage", "unavailable")]
)
async def test_a_process_that_is_lost_is_replaced(path: str, outcome: str) -> None:
    async with hosting() as host:
        assert await host.ask() == Denied(451)
        first = host.host.pid
        failed = await host.ask(path)
        assert isinstance(failed, Failed)
        assert failed.outcome == outcome
        assert await host.asked_until_it_runs() == Denied(451)
        assert host.host.pid != first


def test_a_process_that_is_being_started_ends_although_its_loop_is_over() -> None:
    before = set(children(os.getpid()))

    async def opens_and_closes() -> None:
        threads = HookThreads()
        HookHost(HookTerms(beginning([CODE]), lambda *_: None, FairShares(ROOM), threads), "shop").close()
        threads.stop()

    asyncio.run(opens_and_closes())
    watch = Stopwatch()
    while set(children(os.getpid())) - before:
        assert watch.within(30)
        time.sleep(0.01)
    gc.collect()  # a process that nobody has waited for would warn here


async def test_a_call_that_is_cancelled_tells_nothing() -> None:
    async with hosting() as host:
        told: list[Verdict] = []
        call = host.call(request())
        assert isinstance(call, IsolatedCall)
        call.tell_to(told.append)
        call.cancel()
        assert await host.ask() == Denied(451)
        assert told == []


async def test_a_process_ends_with_its_host() -> None:
    async with hosting() as host:
        await host.ask()
        pid = str(host.host.pid)
        assert pid in os.listdir("/proc")
    await until(lambda: pid not in os.listdir("/proc"))


async def test_an_answer_that_came_while_the_loop_was_held_does_not_end_the_process() -> None:
    loop, absences = asyncio.get_running_loop(), Absences()
    async with hosting(absences) as host:
        assert await host.ask() == Denied(451)
        first = host.host.pid
        absences.beat(loop.time(), 0.0)
        asking = asyncio.create_task(host.ask())
        await asyncio.sleep(0)  # it has asked
        stall(0.5)  # longer than a call may take
        assert await asking == Denied(451)
        assert host.host.pid == first
