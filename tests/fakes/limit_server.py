"""A real server of Valkey or Redis on loopback, for tests of limits that are counted there."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.fakes.sockets import PATIENCE_SECONDS, free_ports
from tests.fakes.stopwatch import Stopwatch

SERVER = next((found for name in ("valkey-server", "redis-server") if (found := shutil.which(name))), None)
"""The program, None where there is none."""

WITHOUT = "neither valkey-server nor redis-server is on the PATH"
"""Why tests are skipped there."""


class LimitServer:
    """The server. `url` is where it listens."""

    def __init__(self, port: int, place: Path) -> None:
        self.url = f"valkey://127.0.0.1:{port}/0"
        self._port = port
        assert SERVER is not None
        options = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(place))
        self._process = subprocess.Popen((SERVER, *options), stdout=subprocess.DEVNULL)

    async def until_it_listens(self) -> None:
        watch = Stopwatch()
        while not await self._listens():
            assert watch.within(PATIENCE_SECONDS), "the server does not listen"
            await asyncio.sleep(0.01)

    async def _listens(self) -> bool:
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        writer.close()
        return True

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@asynccontextmanager
async def limit_server(place: Path) -> AsyncIterator[LimitServer]:
    """A server that listens, and keeps its files in `place`."""
    (port,) = free_ports(1)
    made = LimitServer(port, place)
    try:
        await made.until_it_listens()
        yield made
    finally:
        made.stop()
