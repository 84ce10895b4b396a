"""A stand-in for the load balancer before the replicas: it forwards bytes and follows readiness, but late.

It must not know HTTP: like a real one of its kind it only decides where new connections go.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from random import Random

from tests.integration.running import Zonal

_POLL_SECONDS = 0.05


class LoadBalancer:
    """New connections go in turn to the replicas that are taken for ready.

    `lag_seconds`: the least and the most it takes to notice that a replica is not ready any more; each replica has its
    own. `refused` counts connections that no replica took.
    """

    def __init__(self, random: Random, *, lag_seconds: tuple[float, float]) -> None:
        self._random = random
        self._lag_seconds = lag_seconds
        self._taken: list[Zonal] = []
        self._turn = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0
        self.refused = 0

    def add(self, replica: Zonal) -> None:
        """Send connections to `replica`, which is ready now, until some time after it says that it is not."""
        self._taken.append(replica)
        self._start(self._follow(replica))

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[LoadBalancer]:
        accepting = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = accepting.sockets[0].getsockname()[1]
        yield self
        accepting.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._start(self._forward(reader, writer))

    def _start(self, activity: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(activity)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _follow(self, replica: Zonal) -> None:
        with suppress(OSError, EOFError):
            while (await replica.admin("/readyz")).status == 200:  # noqa: ASYNC110 - a load balancer polls
                await asyncio.sleep(_POLL_SECONDS)
        await asyncio.sleep(self._random.uniform(*self._lag_seconds))
        self._taken.remove(replica)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._turn += 1
        replica = self._taken[self._turn % len(self._taken)]
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", replica.http_port)
        except OSError:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, far_writer))
                group.create_task(_pump(far_reader, writer))
        except* OSError:
            far_writer.transport.abort()  # a reset on one side is one on the other
            writer.transport.abort()
        finally:
            await _close(far_writer)
            await _close(writer)


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with suppress(OSError):
        await writer.wait_closed()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.write_eof()
