"""Reads HTTP/1.1 messages strictly and without the proxy's own code, so that the judge does not share its mistakes.

What the proxy writes must be beyond doubt: anything that could be read in two ways is not repaired but kept in
`rubbish`. It must not know which side it reads for, but for the few rules of RFC 9112 section 6.3 that differ.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_START = re.compile(
    rb"(?:HTTP/1\.1 (?P<status>[1-5]\d\d) [\t\x20-\x7e\x80-\xff]*|(?P<method>\S+) (?P<target>\S+) HTTP/1\.1)"
)
_FIELD = re.compile(
    rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ?((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)"
)
_LENGTH = re.compile(rb"0|[1-9]\d*")
_SIZE = re.compile(rb"0|[1-9a-f][0-9a-f]*")


class Message:
    """One request or response. Names in `fields` and `trailers` are in lower case."""

    def __init__(self, head: bytes) -> None:
        self.head = head
        self.status = 0
        self.method = self.target = b""
        self.fields: list[tuple[bytes, bytes]] = []
        self.trailers: list[tuple[bytes, bytes]] = []
        self.body = bytearray()
        self.framing = "none"
        self.complete = False

    def values(self, name: bytes) -> list[bytes]:
        return [value for each, value in self.fields if each == name]

    def value(self, name: bytes) -> bytes | None:
        return next(iter(self.values(name)), None)

    @property
    def ends_connection(self) -> bool:
        return b"close" in (value.lower() for value in self.values(b"connection"))


class Reader:
    """Takes the bytes of one direction of a connection. `on_head` and `on_end` hear of each message in turn.

    `bodiless` says that a response answers a HEAD; `tunnel` holds what follows a 101.
    """

    def __init__(
        self,
        *,
        on_head: Callable[[Message], None] = lambda _: None,
        on_end: Callable[[Message], None] = lambda _: None,
        bodiless: bool = False,
        keep_bodies: bool = True,
    ) -> None:
        self.messages: list[Message] = []
        self.rubbish = b""
        self.tunnel: bytearray | None = None
        self._on_head, self._on_end = on_head, on_end
        self._bodiless = bodiless
        self._keep_bodies = keep_bodies
        self._buffer = bytearray()
        self._left = 0
        self._take: Callable[[], bool] = self._take_head

    @property
    def _is_spoilt(self) -> bool:
        return bool(self.rubbish)

    @property
    def partial_head(self) -> bytes:
        """What has come of a head that is not whole."""
        return bytes(self._buffer) if self._take == self._take_head else b""

    def feed(self, data: bytes) -> None:
        if self.tunnel is not None:
            self.tunnel += data
            return
        if self.rubbish:
            self.rubbish += data
            return
        self._buffer += data
        while self._buffer and not self._is_spoilt and self._take():
            pass
        if self._is_spoilt:
            self.rubbish = bytes(self._buffer)

    def end(self) -> None:
        """The direction was closed cleanly."""
        if self.messages and self.messages[-1].framing == "close":
            self.messages[-1].complete = True
        elif self._buffer and self._take == self._take_head:
            self.rubbish = bytes(self._buffer)

    def _reject(self) -> bool:
        self.rubbish = bytes(self._buffer) or b"(an empty line)"
        return False

    def _take_head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return False
        head = bytes(self._buffer[: end + 4])
        message = parse_head(head)
        if message is None:
            return self._reject()
        del self._buffer[: end + 4]
        self.messages.append(message)
        self._start_body(message)
        self._on_head(message)
        if self._take == self._take_head and message.framing == "none":
            self._finish()
        return True

    def _start_body(self, message: Message) -> None:
        if message.status == 101:
            self.tunnel = self._buffer
            self._buffer = bytearray()
        elif 100 <= message.status < 200 or message.status in (204, 304) or (self._bodiless and message.status):
            pass
        elif message.values(b"transfer-encoding"):
            message.framing, self._take = "chunked", self._take_size
        elif (length := message.value(b"content-length")) is not None:
            message.framing, self._left = "length", int(length)
            self._take = self._take_counted
            if not self._left:
                self._take, message.framing = self._take_head, "none"
        elif message.status:
            message.framing, self._take = "close", self._take_all

    def _finish(self) -> None:
        self._take = self._take_head
        message = self.messages[-1]
        message.complete = True
        self._on_end(message)

    def _store(self, size: int) -> int:
        """Move up to `size` bytes from the buffer into the body; how many it were."""
        size = min(size, len(self._buffer))
        if self._keep_bodies:
            self.messages[-1].body += self._buffer[:size]
        del self._buffer[:size]
        return size

    def _take_all(self) -> bool:
        self._store(len(self._buffer))
        return True

    def _take_counted(self) -> bool:
        self._left -= self._store(self._left)
        if not self._left:
            self._finish()
        return True

    def _take_line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _take_size(self) -> bool:
        line = self._take_line()
        if line is None:
            return False
        if not _SIZE.fullmatch(line):
            self._buffer[:0] = line + b"\r\n"
            return self._reject()
        self._left = int(line, 16)
        self._take = self._take_chunk if self._left else self._take_trailer
        return True

    def _take_chunk(self) -> bool:
        self._left -= self._store(self._left)
        if not self._left:
            self._take = self._take_chunk_end
        return True

    def _take_chunk_end(self) -> bool:
        if len(self._buffer) < 2:
            return False
        if not self._buffer.startswith(b"\r\n"):
            return self._reject()
        del self._buffer[:2]
        self._take = self._take_size
        return True

    def _take_trailer(self) -> bool:
        line = self._take_line()
        if line is None:
            return False
        if not line:
            self._finish()
            return True
        match = _FIELD.fullmatch(line)
        if match is None:
            return self._reject()
        self.messages[-1].trailers.append((match[1].lower(), match[2]))
        return True


def parse_head(head: bytes) -> Message | None:
    """The message that a whole head begins, or None if it is malformed or its framing is not beyond doubt."""
    start, *lines = head[:-4].split(b"\r\n")
    match = _START.fullmatch(start)
    fields = [_FIELD.fullmatch(line) for line in lines]
    if match is None:
        return None
    message = Message(head)
    message.status = int(match["status"] or 0)
    message.method, message.target = match["method"] or b"", match["target"] or b""
    for field in fields:
        if field is None:
            return None
        message.fields.append((field[1].lower(), field[2]))
    lengths, codings = message.values(b"content-length"), message.values(b"transfer-encoding")
    if len(lengths) + len(codings) > 1 or codings not in ([], [b"chunked"]):
        return None
    if lengths and not _LENGTH.fullmatch(lengths[0]):
        return None
    return message
