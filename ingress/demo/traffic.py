"""Runs the demo's clients: keep-alive connections that send requests and count the answers.

Judges each answer only by the answer itself. Does not know phases, manifests or metrics.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import repeat

import aiohttp

# Enough to have several requests in flight at every backend, and few enough for one small machine.
CONNECTIONS = 16


class Tally:
    """The results: `requests` sent, `failed` requests among them, and the others by the zone that answered."""

    __slots__ = ("by_zone", "failed", "requests")

    def __init__(self) -> None:
        self.requests = self.failed = 0
        self.by_zone: Counter[str] = Counter()

    def record(self, zone: str | None) -> None:
        """Counts one request. A `zone` of None means that it failed."""
        self.requests += 1
        if zone is None:
            self.failed += 1
        else:
            self.by_zone[zone] += 1


class Traffic:
    """GET requests for one URL. `zones` maps each expected body to its zone; any other body is a failure.

    `pause_seconds` is how long each connection rests after an answer.
    """

    __slots__ = ("_host", "_pause_seconds", "_session", "_url", "_zones")

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        url: str,
        host: str,
        zones: Mapping[bytes, str],
        pause_seconds: float = 0.0,
    ) -> None:
        self._session = session
        self._url = url
        self._host = {"Host": host}
        self._zones = zones
        self._pause_seconds = pause_seconds

    async def send(self, requests: int, *, to: Tally) -> None:
        """Sends exactly `requests` requests. Returns when each has its answer or has failed."""
        await self._on_every_connection(iter(range(requests)), to)

    @asynccontextmanager
    async def flowing(self, *, to: Tally) -> AsyncIterator[None]:
        """Sends requests during the block, at least a few even if the block is short. After the block every request has
        ended.
        """
        stopping = asyncio.Event()
        flow = asyncio.create_task(self._on_every_connection(_until(stopping), to))
        try:
            yield
            stopping.set()
            await flow
        finally:
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _on_every_connection(self, turns: Iterator[object], tally: Tally) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(CONNECTIONS):
                group.create_task(self._take_turns(turns, tally))

    async def _take_turns(self, turns: Iterator[object], tally: Tally) -> None:
        for _ in turns:
            tally.record(await self._answering_zone())
            await asyncio.sleep(self._pause_seconds)

    async def _answering_zone(self) -> str | None:
        try:
            async with self._session.get(self._url, headers=self._host, allow_redirects=False) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None
        return self._zones.get(body) if response.status == 200 else None


def _until(stopping: asyncio.Event) -> Iterator[None]:
    yield from repeat(None, CONNECTIONS)
    while not stopping.is_set():
        yield
