"""Servers of gRPC that go, gracefully and not, under 300 calls a second: nothing fails that was not on them."""

from __future__ import annotations

import asyncio
import itertools
import signal
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import grpc
import pytest

from tests.fakes.sockets import until
from tests.features.grpc.servers import method
from tests.features.grpc.stage import GrpcStage, staged

CALLS_A_SECOND = 300
SECONDS = 12.0
CHANNELS = 4


class ServerProcess:
    """A server in a process of its own. `begun` are the ids of the calls that it has begun."""

    service, zone = "calls", None

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process, self.port = process, port
        self.begun: list[str] = []
        self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.begun.append(line.decode().strip())

    async def end(self, number: signal.Signals) -> None:
        """Sends a signal, and returns when the process is gone and all that it said is read."""
        self.process.send_signal(number)
        await self.process.wait()
        await self._reading


async def server_process() -> ServerProcess:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.features.grpc.servers", "calls", stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    return ServerProcess(process, int(await process.stdout.readline()))


@asynccontextmanager
async def processes(count: int) -> AsyncIterator[list[ServerProcess]]:
    made = list(await asyncio.gather(*(server_process() for _ in range(count))))
    try:
        yield made
    finally:
        for each in made:
            if each.process.returncode is None:
                await each.end(signal.SIGKILL)


class Failure(NamedTuple):
    """A call that failed, with the times of `time.monotonic` at which it began and ended."""

    call: str
    began: float
    ended: float
    why: str


class Load:
    """Calls at a steady pace, each with an id of its own."""

    def __init__(self, stage: GrpcStage) -> None:
        self._channels = [stage.channel() for _ in range(CHANNELS)]
        self._calls: set[asyncio.Task[None]] = set()
        self.done = 0
        self.failures: list[Failure] = []

    async def run(self, seconds: float) -> None:
        started = time.monotonic()
        for number in itertools.count():
            due = started + number / CALLS_A_SECOND
            if due > started + seconds:
                break
            await asyncio.sleep(due - time.monotonic())
            task = asyncio.ensure_future(self._call(self._channels[number % CHANNELS], f"call-{number}"))
            self._calls.add(task)
            task.add_done_callback(self._calls.discard)
        await asyncio.gather(*self._calls)
        await asyncio.gather(*(channel.close() for channel in self._channels))

    async def _call(self, channel: Any, call: str) -> None:
        began = time.monotonic()
        try:
            await channel.unary_unary(method("Work"))(call.encode(), metadata=(("x-call", call),), timeout=30.0)
            self.done += 1
        except grpc.aio.AioRpcError as error:
            self.failures.append(Failure(call, began, time.monotonic(), f"{error.code()} {error.details()}"))


def twice(servers: list[ServerProcess]) -> list[str]:
    """The calls that were begun more than once, anywhere."""
    counted = Counter(call for server in servers for call in server.begun)
    return [call for call, times in counted.items() if times > 1]


@pytest.mark.slow
async def test_servers_that_are_rolled_over_fail_no_call(tmp_path: Path) -> None:
    async with processes(3) as servers, staged(tmp_path, servers) as stage:
        load = Load(stage)
        running = asyncio.ensure_future(load.run(SECONDS))
        every = list(servers)
        for old in servers:
            await until(lambda: bool(every[-1].begun))
            new = await server_process()
            every.append(new)
            stage.place(*(each for each in every if each.process.returncode is None))
            await until(lambda new=new: bool(new.begun))  # type: ignore[misc]
            # The slice still names it: requests meet GOAWAY and then a closed port, and go elsewhere.
            await old.end(signal.SIGTERM)
            stage.place(*(each for each in every if each.process.returncode is None))
        await running
        for server in every[3:]:
            await server.end(signal.SIGKILL)
        assert load.failures == []
        assert load.done > CALLS_A_SECOND * SECONDS * 0.9
        assert twice(every) == []


@pytest.mark.slow
async def test_a_server_that_is_killed_fails_only_what_was_on_it(tmp_path: Path) -> None:
    async with processes(3) as servers, staged(tmp_path, servers) as stage:
        load = Load(stage)
        running = asyncio.ensure_future(load.run(SECONDS))
        killed = servers[0]
        await until(lambda: len(killed.begun) > CALLS_A_SECOND)
        at = time.monotonic()
        await killed.end(signal.SIGKILL)
        gone = time.monotonic()
        await running
        for server in servers[1:]:
            await server.end(signal.SIGKILL)
        # What it had begun, and what was on the wire to it.
        on_it = [failure for failure in load.failures if failure.began <= gone and failure.ended >= at]
        assert load.failures == on_it
        assert load.done + len(on_it) > CALLS_A_SECOND * SECONDS * 0.9
        assert twice(servers) == []
