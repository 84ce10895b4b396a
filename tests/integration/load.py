"""Clients that go on sending until they are told to stop, and remember each answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from tests.integration.running import until
from tests.integration.shop import HOST
from tests.integration.wire import Connection


class Answer(NamedTuple):
    """One answered request: when it was sent (monotonic seconds), and who answered what."""

    sent_at: float
    status: int
    zone: str
    endpoint: str


class Load:
    """What a crowd of clients has got so far. `failures` are requests that had no answer."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.failures: list[Exception] = []
        self.is_over = False

    async def has_answers(self, count: int) -> None:
        """Wait until so many answers have come in all."""
        await until(lambda: len(self.answers) >= count, seconds=30.0)

    async def client(self, port: int) -> None:
        """Send one request after the other, on a new connection whenever an answer ends the old one."""
        connection = await Connection.open(port)
        while not self.is_over:
            sent_at = time.monotonic()
            try:
                response = await connection.get(HOST)
            except (OSError, EOFError, TimeoutError) as failure:
                self.failures.append(failure)
                return
            seen = response.json() if response.status == 200 else {"zone": "", "endpoint": ""}
            self.answers.append(Answer(sent_at, response.status, seen["zone"], seen["endpoint"]))
            if response.ends_connection:
                connection.close()
                connection = await Connection.open(port)
        connection.close()


@asynccontextmanager
async def under_load(port: int, *, clients: int) -> AsyncIterator[Load]:
    """So many clients at once for as long as the context lasts."""
    load = Load()
    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(load.client(port))
        yield load
        load.is_over = True
