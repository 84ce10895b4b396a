"""One client that opens as many connections as it gets, and opens each again that it loses."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

_AT_ONCE = 32


@asynccontextmanager
async def crowding(port: int, count: int, *, says: bytes = b"", address: str = "127.0.0.2") -> AsyncIterator[Crowd]:
    """Connections from `address` that say something and read nothing, `count` of them or as many as there may be."""
    crowd = Crowd(port, says, address)
    tasks = [asyncio.create_task(crowd.keep(), name="crowd") for _ in range(count)]
    try:
        yield crowd
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Crowd:
    """`opened` counts connections, `lost` those that the other side has ended."""

    def __init__(self, port: int, says: bytes, address: str) -> None:
        self._port, self._says, self._address = port, says, address
        self._few = asyncio.Semaphore(_AT_ONCE)
        self.opened = self.lost = 0

    @property
    def held(self) -> int:
        return self.opened - self.lost

    async def keep(self) -> None:
        """Keeps one connection open, and opens it again when it is lost."""
        while True:
            async with self._few:
                reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(self._address, 0))
                self.opened += 1
            try:
                with suppress(OSError):
                    writer.write(self._says)
                    await reader.read()
                self.lost += 1
                await asyncio.sleep(0.1)  # a client that never rests would measure the event loop
            finally:
                writer.transport.abort()
