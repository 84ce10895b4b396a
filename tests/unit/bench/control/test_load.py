"""The load counts as failed only what the proxy failed."""

from __future__ import annotations

import asyncio

import pytest

from tests.bench.control.load import measure

pytestmark = pytest.mark.large

RATE, SECONDS = 200.0, 0.2
LAST = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\na"


async def test_a_connection_whose_last_answer_came_gets_no_further_request() -> None:
    closing = []

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(LAST)
        closing.append(writer)  # its end comes later than the next request would

    async with await asyncio.start_server(answer_once, "127.0.0.1", 0) as server:
        latencies = await measure(server.sockets[0].getsockname()[1], hosts=["shop.test"], rate=RATE, seconds=SECONDS)
        for writer in closing:
            writer.close()
    assert (latencies.sent, latencies.failed) == (40, 0)
