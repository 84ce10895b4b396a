"""Clients that go on sending, each request with an id and each body with a hash, and what they have got.

They behave as HTTP asks of them: a connection that was announced to close is not used again. Any other end that meets
a request is a failure.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from tests.fakes.clients import RawClient
from tests.features.faults.load import LATE_SECONDS, body_of, request_of

_POST_EVERY = 3
_GET_BYTES, _POST_BYTES = 1024, 4096


class Crowd:
    """`told` and `untold` count the kept connections that a replica ended, by whether their last answer said so."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._numbers = itertools.count()
        self._is_over = False
        self.answered = self.told = self.untold = 0
        self.failures: list[str] = []

    @asynccontextmanager
    async def sending(self, *, keeping: int, passing: int, every_seconds: float) -> AsyncIterator[None]:
        """So many clients that keep their connection, and so many with a new one for each request, all with that pause
        between requests.
        """
        async with asyncio.TaskGroup() as group:
            for number in range(keeping + passing):
                group.create_task(self._send(every_seconds, keeps=number < keeping))
                await asyncio.sleep(every_seconds / (keeping + passing))
            yield
            self._is_over = True

    async def _send(self, every_seconds: float, *, keeps: bool) -> None:
        while not self._is_over:
            try:
                async with RawClient(self._port) as client:
                    await self._use(client, every_seconds, keeps=keeps)
            except (OSError, EOFError, TimeoutError) as error:
                self.failures.append(repr(error))

    async def _use(self, client: RawClient, every_seconds: float, *, keeps: bool) -> None:
        """Send requests on one connection until it ends."""
        while not self._is_over:
            ends = await self._ask(client)
            await asyncio.sleep(every_seconds)
            if not keeps:
                return
            if ends:
                self.told += 1
                return
            if client.reader.at_eof():
                self.untold += 1
                return

    async def _ask(self, client: RawClient) -> bool:
        """One request and its answer; whether that is the last of its connection."""
        number = next(self._numbers)
        identity = f"r{number}"
        is_post = number % _POST_EVERY == 0
        size = 0 if is_post else _GET_BYTES
        async with asyncio.timeout(LATE_SECONDS):
            response = await client.ask(
                request_of(identity, size, post=body_of(identity, _POST_BYTES) if is_post else None)
            )
        if response.status != 200 or response.fields.get(b"x-id") != identity.encode():
            self.failures.append(f"{identity}: status {response.status}")
        elif response.body != body_of(identity, size):
            self.failures.append(f"{identity}: another body")
        else:
            self.answered += 1
        return response.fields.get(b"connection") == b"close"
