"""The running processes of a fleet have memory of their own, which the next process gets, and none stays in silence."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import msgspec

from balancer.connections.tls import self_signed
from balancer.sharing.memory import SharedMemory
from balancer.workers.crew import Crew
from balancer.workers.messages import Accepting, StandingBy, ToParent
from balancer.workers.shipping import Dispatch
from balancer.workers.supervised import Supervised, WorkerSettings
from tests.fakes.sockets import until
from tests.unit.balancer.workers.standins import QUICK, standin

FALLBACK = self_signed()
SHORT = msgspec.structs.replace(QUICK, answer=0.2)
"""How long a process that says nothing is waited for."""


@asynccontextmanager
async def crew(
    *said: ToParent, new_log: Callable[[], int] | None = None
) -> AsyncIterator[tuple[Crew, list[Supervised]]]:
    """A crew of processes that say only `said`, and the workers whose end it has told; none is left afterwards."""
    ended: list[Supervised] = []

    def log() -> int:
        reader, writer = os.pipe()
        os.close(reader)
        return writer

    made = Crew(
        WorkerSettings(),
        command=standin(*said),
        shared=SharedMemory(2),
        dispatch=Dispatch(FALLBACK, let_in=lambda: None),
        new_log=new_log or log,
        on_end=ended.append,
    )
    try:
        yield made, ended
    finally:
        for worker in made.workers:
            worker.kill("stopped")
        await made.all_ended()
        made.close()


async def test_each_process_has_memory_of_its_own_until_it_ends() -> None:
    async with crew(Accepting()) as (made, ended):
        first, second = made.start(0, {}, QUICK), made.start(1, {}, QUICK)
        assert first is not None
        assert second is not None
        assert made.workers == [first, second]
        assert first.table != second.table
        assert first.seat != second.seat
        await until(lambda: made.accepting() == [first, second])
        first.kill("asked to")
        await until(lambda: made.workers == [second])
        assert ended == [first]
        third = made.start(0, {}, QUICK)
        assert third is not None
        assert (third.table, third.seat) == (first.table, first.seat)
        assert len(made.tables()) == 2


async def test_a_process_that_cannot_be_started_leaves_its_memory() -> None:
    def refused() -> int:
        raise OSError("no pipe")

    async with crew(new_log=refused) as (made, ended):
        assert made.start(0, {}, QUICK) is None
        assert made.start(0, {}, QUICK) is None
        assert (made.workers, ended) == ([], [])
        assert len(made.tables()) == 1


async def test_a_process_that_falls_silent_is_killed_and_one_that_speaks_is_not() -> None:
    async with crew(Accepting()) as (made, ended):
        silent, patient = made.start(0, {}, SHORT), made.start(1, {}, QUICK)
        assert silent is not None
        watching = asyncio.get_running_loop().create_task(made.watch())
        await until(lambda: ended == [silent])
        watching.cancel()
        with suppress(asyncio.CancelledError):
            await watching
        assert made.workers == [patient]


async def test_who_stands_by_has_no_place() -> None:
    async with crew(StandingBy()) as (made, _):
        worker = made.start(2, {}, QUICK)
        assert made.placed() == [worker]
        await until(lambda: made.placed() == [])
        assert made.accepting() == []
