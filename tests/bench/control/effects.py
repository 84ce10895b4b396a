"""When a change shows: asks on several connections until every one of them gets the new answer.

The kernel deals connections out to workers, so many of them reach every worker. Nothing here knows what was changed.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from tests.integration.wire import Connection, trusting

_CONNECTIONS_A_WORKER = 8
_PAUSE_SECONDS = 0.002
_PATIENCE_SECONDS = 60.0

IsNew = Callable[[Connection], Awaitable[bool]]


@asynccontextmanager
async def connections(port: int, *, workers: int) -> AsyncIterator[list[Connection]]:
    """So many connections that every worker has one (a chance of 1 in 30,000 that two do not)."""
    opened = [await Connection.open(port) for _ in range(max(1, 2 * workers * _CONNECTIONS_A_WORKER if workers else 1))]
    try:
        yield opened
    finally:
        for connection in opened:
            connection.close()


async def seconds_until(opened: list[Connection], is_new: IsNew, *, since: float) -> float:
    """Seconds from `since` (monotonic) until each connection has seen what is new. TimeoutError after a minute.

    One connection at a time is asked: to ask all of them again and again takes a processor from who is measured.
    """
    async with asyncio.timeout(_PATIENCE_SECONDS):
        for each in opened:
            while not await is_new(each):  # noqa: ASYNC110 -- nothing tells of it
                await asyncio.sleep(_PAUSE_SECONDS)
    return time.monotonic() - since


async def seconds_until_certificate(port: int, host: str, certificate: bytes, *, since: float, workers: int) -> float:
    """Seconds until handshakes in a row, as many as reach every worker, show this certificate (DER)."""
    trust, in_a_row = trusting(), 0
    async with asyncio.timeout(_PATIENCE_SECONDS):
        first = 0.0
        while in_a_row < max(1, workers * _CONNECTIONS_A_WORKER):
            shown = await _certificate(port, host, trust)
            if shown == certificate:
                first = first or time.monotonic() - since
                in_a_row += 1
            else:
                in_a_row, first = 0, 0.0
                await asyncio.sleep(_PAUSE_SECONDS)
    return first


async def _certificate(port: int, host: str, trust: ssl.SSLContext) -> bytes:
    _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trust, server_hostname=host)
    shown = writer.get_extra_info("ssl_object").getpeercert(binary_form=True)
    writer.close()
    await writer.wait_closed()
    return bytes(shown or b"")
