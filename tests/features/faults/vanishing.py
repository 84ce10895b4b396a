"""Endpoints whose pods end without a pause, or whose machine is lost: the address answers nothing from then on."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.features.faults.holes import fill, swallow
from tests.features.faults.load import Ledger, Load, answer_to
from tests.features.faults.versions import Version


class Pod:
    """An endpoint in a zone that answers honestly until it vanishes."""

    def __init__(self, version: Version, ledger: Ledger, name: str, zone: str) -> None:
        self.name, self.zone = name, zone
        self._ledger, self._answering, self._is_ending = ledger, 0, False
        self._endpoint: ScriptedEndpoint = version.endpoint(self._answer)
        self._stack = AsyncExitStack()
        self._hole: list[socket.socket] = []

    @property
    def address(self) -> str:
        return self._endpoint.address

    @property
    def port(self) -> int:
        return self._endpoint.port

    async def start(self) -> None:
        await self._stack.enter_async_context(self._endpoint)

    async def vanish(self) -> None:
        """Answer what was asked, and close every connection. From now on the address does not even refuse."""
        self._is_ending = True
        await until(lambda: not self._answering)
        await self._stack.aclose()
        hole = socket.socket()
        hole.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        hole.bind((self.address, self.port))
        self._hole += [hole, *fill(hole)]

    def go_dark(self) -> None:
        """From now on every packet vanishes, on open connections too."""
        swallow(self.port)

    async def _answer(self, visit: Visit) -> None:
        while True:
            asked = await self._ledger.take(visit)
            if self._is_ending:
                return
            self._answering += 1
            await visit.send(answer_to(asked, self.name))
            self._answering -= 1

    async def close(self) -> None:
        await self._stack.aclose()
        for each in self._hole:
            each.close()


class Pods:
    """Makes pods, and ends those that are left."""

    def __init__(self, version: Version, ledger: Ledger) -> None:
        self._version, self._ledger = version, ledger
        self._made: list[Pod] = []

    async def start(self, zone: str) -> Pod:
        pod = Pod(self._version, self._ledger, f"pod-{len(self._made)}", zone)
        self._made.append(pod)
        await pod.start()
        return pod

    async def close(self) -> None:
        for pod in self._made:
            await pod.close()


@asynccontextmanager
async def getting(load: Load, *, rate: int) -> AsyncIterator[None]:
    """Open loop: so many GETs a second while the context lasts. All are answered at its end."""
    is_over = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(_get(load, rate, is_over))
        try:
            yield
        finally:
            is_over.set()


async def _get(load: Load, rate: int, is_over: asyncio.Event) -> None:
    started, number = time.monotonic(), 0
    async with asyncio.TaskGroup() as group:
        while not is_over.is_set():
            group.create_task(load.ask(1024))
            number += 1
            await asyncio.sleep(max(0.0, started + number / rate - time.monotonic()))
    load.close()
