"""An endpoint that answers as the target of a request says, and notes the head and body of each request."""

from __future__ import annotations

import asyncio
import re
from collections import Counter

_NUMBER = re.compile(rb"/(\w+)/(\d+)")
_LENGTH = re.compile(rb"(?i)\r\ncontent-length: *(\d+)")
_CHUNKS_END = b"0\r\n\r\n"

ANSWERS = {
    b"plain": b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nServer: x\r\nX-Mixed-Case: a, b\r\n\r\nhello",
    b"none": b"HTTP/1.1 204 No Content\r\nDate: today\r\n\r\n",
    b"large": b"HTTP/1.1 200 OK\r\nContent-Length: 70000\r\n\r\n" + b"0123456789" * 7000,
    b"chunked": b"HTTP/1.1 200 Fine\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\nX-Trailer: t\r\n\r\n",
    b"close": b"HTTP/1.1 200 OK\r\n\r\nuntil the end",
    b"old": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
    b"missing": b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\nKeep-Alive: timeout=5\r\n"
    b"Connection: keep-alive\r\n\r\ngone",
    b"broken": b"HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
    b"hint": b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
    b"not": b"HTTP/1.1 304 Not Modified\r\nETag: x\r\nContent-Length: 9\r\n\r\n",
    b"surplus": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more",
    b"ambiguous": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\nok",
    b"garbage": b"SSH-2.0-nothing\r\n\r\n",
    b"cut": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nonly this",
    b"once": b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecond",
    b"gone": b"",
}
"""How requests are answered, by the first element of their path. `once` closes the first time that a target comes."""

CLOSES = {b"close", b"cut", b"gone", b"ambiguous", b"garbage"}


class Endpoint:
    """Listens until the end of the block. `heads` has what each request to it was, in the order of their ends."""

    service = "cart"
    zone = "zone-a"

    def __init__(self) -> None:
        self.port = 0
        self.heads: list[bytes] = []
        self._came: Counter[bytes] = Counter()

    async def __aenter__(self) -> Endpoint:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = int(self._server.sockets[0].getsockname()[1])
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while not await self._answer(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serves one request. Returns whether the connection closes."""
        head = await reader.readuntil(b"\r\n\r\n")
        found = _NUMBER.search(head.partition(b"\r\n")[0])
        kind = found[1] if found else b"plain"
        if (length := _LENGTH.search(head)) is not None:
            head += await reader.readexactly(int(length[1]))
        elif b"\r\nTransfer-Encoding: chunked" in head:
            head += await reader.readuntil(_CHUNKS_END)
        self.heads.append(head)
        target = found[0] if found else b""
        self._came[target] += 1
        if kind == b"once" and self._came[target] == 1:
            return True
        answer = ANSWERS.get(kind, ANSWERS[b"plain"])
        writer.write(answer.partition(b"\r\n\r\n")[0] + b"\r\n\r\n" if head.startswith(b"HEAD ") else answer)
        await writer.drain()
        return kind in CLOSES
