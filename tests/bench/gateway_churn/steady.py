"""Endpoints, and clients that ask for routes that stay, in a process of their own.

The API server and the changes of a run hold the loop of the run for milliseconds. Requests that are timed here wait
for the replicas, and for nothing that only a run has.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any, NamedTuple

from tests.bench.gateway_churn.clients import Asked, Clients, Seen
from tests.bench.gateway_churn.objects import Plan

_ENDPOINTS = 5
_LINE_BYTES = 2**26  # the seconds of all requests stand in one line


class Places(NamedTuple):
    """Where the listeners are: the addresses of the replicas, and the port of each listener by its number."""

    addresses: list[str]
    ports: list[int]


class Timed(NamedTuple):
    """What the clients saw since they were asked last: the seconds of each request, and texts of what was not right."""

    seconds: list[float]
    misses: list[str]


class Steady:
    """The other process, as the run has it. `ports` are those of its endpoints."""

    def __init__(self, process: asyncio.subprocess.Process, ports: list[int]) -> None:
        self._process, self.ports = process, ports

    async def begin(self, plan: Plan, places: Places) -> None:
        """Lets its clients begin with as many requests a second as the plan says."""
        await self._said({"plan": plan._asdict(), "places": places._asdict()})

    async def timed(self) -> Timed:
        """What its clients saw since they began, or since the last call."""
        return Timed(**await self._said({}))

    async def _said(self, line: object) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps(line).encode() + b"\n")
        return dict(json.loads(await self._process.stdout.readline()))


@asynccontextmanager
async def steady() -> AsyncIterator[Steady]:
    """The other process, with its endpoints."""
    pipes = {"stdin": asyncio.subprocess.PIPE, "stdout": asyncio.subprocess.PIPE, "limit": _LINE_BYTES}
    process = await asyncio.create_subprocess_exec(sys.executable, "-m", __name__, **pipes)  # type: ignore[arg-type]
    assert process.stdout
    try:
        yield Steady(process, json.loads(await process.stdout.readline()))
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@asynccontextmanager
async def _endpoints() -> AsyncIterator[list[int]]:
    """The ports of endpoints that say which route a request came by."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError):
            while head := await reader.readuntil(b"\r\n\r\n"):
                named = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"x-route:"))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n%b\r\n\r\nok" % named)
        writer.close()

    servers = [await asyncio.start_server(answer, "127.0.0.1", 0, backlog=1024) for _ in range(_ENDPOINTS)]
    try:
        yield [each.sockets[0].getsockname()[1] for each in servers]
    finally:
        for each in servers:
            each.close()


def _clients(seen: Seen, plan: Plan, places: Places) -> Clients:
    """Clients of the routes that stay. Those keep their first version."""
    staying = [Asked(each, True, plan.listener_of(each)) for each in range(plan.routes) if plan.stays(each)]

    def place_of(replica: int, listener: int) -> tuple[str, int]:
        return places.addresses[replica], places.ports[listener]

    every = list(range(len(places.addresses)))
    return Clients(seen, lambda: random.choice(staying), place_of, lambda _: range(1), every)


async def _serve() -> None:
    """Answers each line of standard input with one of standard output, until the process is ended."""
    lines = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async with AsyncExitStack() as stack:
        print(json.dumps(await stack.enter_async_context(_endpoints())), flush=True)
        seen, load = Seen(), None
        while line := await lines.readline():
            if asked := json.loads(line):
                plan, places = Plan(**asked["plan"]), Places(**asked["places"])
                load = asyncio.create_task(_clients(seen, plan, places).run(plan.rate))
            print(json.dumps(Timed(seen.seconds, [*seen.wrong, *seen.failed])._asdict()), flush=True)
            seen.seconds = []
        if load:
            load.cancel()


if __name__ == "__main__":
    asyncio.run(_serve())
