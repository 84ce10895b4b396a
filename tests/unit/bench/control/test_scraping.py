"""A page of metrics is read to its end, and one that is not whole is no page."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.bench.control.scraping import page_bytes

LINE = b"zonal_requests_total 1\n"


@asynccontextmanager
async def answering(answer: bytes) -> AsyncIterator[int]:
    """The port of a server that gives every connection this answer, and then closes it."""

    async def answer_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request = await reader.readuntil(b"\r\n\r\n")
        assert request.startswith(b"GET /metrics HTTP/1.1\r\n")
        writer.write(answer)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer_once, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]


def page(status: str, body: bytes, *, length: int | None = None) -> bytes:
    said = len(body) if length is None else length
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status.encode(), said, body)


@pytest.mark.parametrize("lines", [1, 100_000])
async def test_the_length_of_a_page_is_that_of_its_body(lines: int) -> None:
    async with answering(page("200 OK", LINE * lines)) as port:
        assert await page_bytes(port) == len(LINE) * lines


@pytest.mark.parametrize(
    "answer",
    [page("503 Service Unavailable", b"draining\n"), page("200 OK", LINE, length=1000), b"HTTP/1.1 200 OK\r\n"],
)
async def test_a_refusal_and_a_page_that_breaks_off_are_no_pages(answer: bytes) -> None:
    async with answering(answer) as port:
        with pytest.raises(RuntimeError, match="no whole page"):
            await page_bytes(port)
