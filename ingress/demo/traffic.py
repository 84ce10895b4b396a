"""Runs the demo's clients: keep-alive connections that send requests and count the answers; `calling` adds calls.

Judges each answer only by the answer itself. Does not know phases, manifests or metrics.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from itertools import repeat
from typing import Protocol

import aiohttp

# Enough to have several requests in flight at every backend, and few enough for one small machine.
CONNECTIONS = 16


class Tally:
    """The results: `requests` sent, `failed` requests among them, and the others by the zone that answered."""

    __slots__ = ("_whole", "by_zone", "failed", "requests")

    def __init__(self, whole: Tally | None = None) -> None:
        """`whole` counts what this tally counts, too."""
        self._whole = whole
        self.requests = 0
        self.failed = 0
        self.by_zone: Counter[str] = Counter()

    def at_start(self) -> Tally:
        """The tally of a request that begins now."""
        return self

    def record(self, zone: str | None) -> None:
        """Counts one request. A `zone` of None means that it failed."""
        self.requests += 1
        if zone is None:
            self.failed += 1
        else:
            self.by_zone[zone] += 1
        if self._whole is not None:
            self._whole.record(zone)


class Tallies(Protocol):
    """Where the requests of some traffic are counted."""

    def at_start(self) -> Tally:
        """The tally of a request that begins now. It counts the request when the answer has come."""


class Traffic:
    """Requests, `at_once` at a time. Each of them is followed by a rest of `pause_seconds`. Subclasses send one."""

    __slots__ = ("_at_once", "_pause_seconds")

    def __init__(self, *, at_once: int, pause_seconds: float) -> None:
        self._at_once = at_once
        self._pause_seconds = pause_seconds

    async def answering_zone(self) -> str | None:
        """Sends one request. Returns the zone of its answer, or None if it failed."""
        raise NotImplementedError

    async def send(self, requests: int, *, to: Tallies) -> None:
        """Sends exactly `requests` requests. Returns when each has its answer or has failed."""
        await self._take_all(iter(range(requests)), to)

    @asynccontextmanager
    async def flowing(self, *, to: Tallies) -> AsyncIterator[None]:
        """Sends requests during the block, at least a few even if the block is short. After the block every request has
        ended.
        """
        stopping = asyncio.Event()
        flow = asyncio.create_task(self._take_all(_until(stopping, self._at_once), to))
        try:
            yield
            stopping.set()
            await flow
        finally:
            flow.cancel()
            await asyncio.gather(flow, return_exceptions=True)

    async def _take_all(self, turns: Iterator[object], tallies: Tallies) -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._take_turns(turns, tallies))

    async def _take_turns(self, turns: Iterator[object], tallies: Tallies) -> None:
        for _ in turns:
            tally = tallies.at_start()
            tally.record(await self.answering_zone())
            await asyncio.sleep(self._pause_seconds)


class HttpTraffic(Traffic):
    """GET requests for one URL. `zones` maps each expected body to its zone; any other body is a failure."""

    __slots__ = ("_host", "_session", "_url", "_zones")

    def __init__(
        self,
        session: aiohttp.ClientSession,
        *,
        url: str,
        host: str,
        zones: Mapping[bytes, str],
        pause_seconds: float = 0.0,
    ) -> None:
        super().__init__(at_once=CONNECTIONS, pause_seconds=pause_seconds)
        self._session = session
        self._url = url
        self._host = {"Host": host}
        self._zones = zones

    async def answering_zone(self) -> str | None:
        try:
            async with self._session.get(self._url, headers=self._host, allow_redirects=False) as response:
                body = await response.read()
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None
        return self._zones.get(body) if response.status == 200 else None


def _until(stopping: asyncio.Event, at_least: int) -> Iterator[None]:
    yield from repeat(None, at_least)
    while not stopping.is_set():
        yield
