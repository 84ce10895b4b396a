"""Reads HTTP/1 messages from streams, by rules of its own and not by zonal's code."""

from __future__ import annotations

import asyncio
import gzip
import time
from typing import Any

Headers = list[tuple[str, str]]


class Message:
    """A request or a response. `at` is when its head was whole, `body_at` when the first byte of its body came.

    Both are of the monotonic clock. `whole` says whether the message came to its end.
    """

    def __init__(self, start: str, headers: Headers) -> None:
        self.start = start.split(" ", 2)
        self.headers = headers
        self.body = b""
        self.at = time.monotonic()
        self.body_at: float | None = None
        self.whole = False

    @property
    def status(self) -> int:
        return int(self.start[1])

    @property
    def content(self) -> bytes:
        """The body without its content coding, if that is gzip."""
        return gzip.decompress(self.body) if self.value("content-encoding") == "gzip" else self.body

    def values(self, name: str) -> list[str]:
        return [value for each, value in self.headers if each == name]

    def value(self, name: str) -> str:
        """All values of a header, joined with commas; empty if there is none."""
        return ", ".join(self.values(name))


async def read_head(reader: asyncio.StreamReader) -> Message:
    """The next head. Raises `IncompleteReadError` when none comes any more."""
    head = (await reader.readuntil(b"\r\n\r\n"))[:-4].decode("latin-1")
    start, *lines = head.split("\r\n")
    parts = [line.partition(":") for line in lines]
    return Message(start, [(name.lower(), value.strip()) for name, _, value in parts])


async def read_body(message: Message, reader: asyncio.StreamReader, *, may_end_it: bool) -> None:
    """Read the body of `message`. `may_end_it`: without a length, a body ends with the connection."""
    if "chunked" in message.value("transfer-encoding").lower():
        while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
            await _take(message, reader, size)
            await reader.readexactly(2)
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
    elif message.values("content-length"):
        await _take(message, reader, int(message.value("content-length")))
    elif may_end_it:
        while data := await reader.read(65536):
            _keep(message, data)
    message.whole = True


async def _take(message: Message, reader: asyncio.StreamReader, size: int) -> None:
    while size:
        data = await reader.read(min(size, 65536))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        _keep(message, data)
        size -= len(data)


def _keep(message: Message, data: bytes) -> None:
    message.body_at = message.body_at or time.monotonic()
    message.body += data


def written(start: str, headers: list[tuple[str, Any]]) -> bytes:
    """A head as bytes."""
    return "".join([f"{start}\r\n", *(f"{name}: {value}\r\n" for name, value in headers), "\r\n"]).encode("latin-1")
