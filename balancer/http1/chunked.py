"""Decodes and encodes the chunked transfer coding (RFC 9112 section 7.1). No I/O.

This is our own decoder, because a relay must know the exact byte where a message ends, which httptools does not report.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Trailers
from balancer.http.passing import passes_as_trailer

# A quoted text of an extension ends in its line: some readers look for its end in the lines that follow.
_QUOTED = rb'"(?:[\t\x20\x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_EXTENSIONS = rb"[ \t]*;(?:[\t\x20\x21\x23-\x7e\x80-\xff]|" + _QUOTED + rb")*"
_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:" + _EXTENSIONS + rb")?")
_PLAIN_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
_LINE_LIMIT = 256  # bytes of one chunk-size line: 16 digits, and room for a usual extension
_EXTENSIONS_LIMIT = 16 * 1024  # bytes of all extensions of one body; no usual client sends more (CVE-2023-39326)
_TRAILERS_LIMIT = 8 * 1024
_TRAILER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")

LAST_CHUNK = b"0\r\n\r\n"


def encode_chunk(data: bytes) -> bytes:
    """One chunk holding `data`, which must not be empty: an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def encode_last_chunk(trailers: Trailers) -> bytes:
    """The last chunk and the trailer section, which end a chunked body."""
    if not trailers:
        return LAST_CHUNK
    return b"0\r\n" + b"".join([b"%b: %b\r\n" % trailer for trailer in trailers]) + b"\r\n"


class ChunkedDecoder:
    """Decodes a chunked body, which may arrive in pieces of any size.

    Drops trailers that would change the meaning of the message. Raises `Refusal` of the kind given at construction for
    an invalid body.
    """

    __slots__ = ("_extension_bytes", "_kind", "_left", "_line", "_state", "_trailer_bytes", "_trailers")

    _SIZE, _DATA, _DATA_END, _TRAILER, _DONE = range(5)

    def __init__(self, kind: ErrorKind) -> None:
        self._kind = kind
        self._state = self._SIZE
        self._left = 0
        self._line = b""
        self._extension_bytes = 0
        self._trailer_bytes = 0
        self._trailers: list[tuple[bytes, bytes]] = []

    @property
    def done(self) -> bool:
        """Whether the last chunk and the trailers have arrived."""
        return self._state == self._DONE

    @property
    def trailers(self) -> Trailers:
        """The trailer fields. They are complete once `done` is true."""
        return tuple(self._trailers)

    def feed(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Decodes `data`. Returns the pieces of the body, and the bytes after its end (empty until `done`)."""
        pieces: list[bytes] = []
        position, size = 0, len(data)
        while position < size and self._state != self._DONE:
            if self._state == self._SIZE and not self._line:
                position = _take_plain_chunks(data, position, pieces)
                if position == size:
                    break
            if self._state == self._DATA:
                piece = data[position : position + self._left]
                pieces.append(piece)
                position += len(piece)
                self._left -= len(piece)
                if self._left == 0:
                    self._state = self._DATA_END
            else:
                position = self._take_line(data, position)
        return pieces, data[position:]

    def _take_line(self, data: bytes, position: int) -> int:
        """Collects one line that ends in CRLF and interprets it when it is whole. Returns the position after it."""
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end + 1
        self._line += data[position:end]
        if len(self._line) > (_TRAILERS_LIMIT if self._state == self._TRAILER else _LINE_LIMIT):
            raise Refusal(self._kind, "a line of a chunked body is over its limit")
        if self._line[-1:] == b"\n":
            if self._line[-2:] != b"\r\n":
                raise Refusal(self._kind, "a line of a chunked body does not end in CRLF")
            line = self._line[:-2]
            self._line = b""
            self._act_on_line(line)
        elif b"\r" in self._line[:-1] or (self._state == self._DATA_END and self._line != b"\r"):
            raise Refusal(self._kind, "a bare CR, or bytes after a chunk")
        return end

    def _act_on_line(self, line: bytes) -> None:
        if self._state == self._SIZE:
            self._start_chunk(line)
        elif self._state == self._DATA_END:
            if line:
                raise Refusal(self._kind, "bytes after a chunk")
            self._state = self._SIZE
        elif line:
            self._add_trailer(line)
        else:
            self._state = self._DONE

    def _start_chunk(self, line: bytes) -> None:
        match = _SIZE_LINE.fullmatch(line)
        if match is None:
            raise Refusal(self._kind, "a malformed chunk size")
        self._extension_bytes += len(line) - len(match[1])
        size = int(match[1], 16)
        if self._extension_bytes > _EXTENSIONS_LIMIT or size >= 1 << 60:
            raise Refusal(self._kind, "chunk extensions or a chunk size over their limit")
        self._left = size
        self._state = self._DATA if self._left else self._TRAILER

    def _add_trailer(self, line: bytes) -> None:
        self._trailer_bytes += len(line) + 2
        match = _TRAILER.fullmatch(line)
        if match is None or self._trailer_bytes > _TRAILERS_LIMIT:
            raise Refusal(self._kind, "a malformed trailer, or trailers over their limit")
        name = match[1].lower()
        if passes_as_trailer(name):
            self._trailers.append((match[1], match[2].rstrip(b" \t")))


def _take_plain_chunks(data: bytes, position: int, pieces: list[bytes]) -> int:
    """Takes the chunks that are whole and have no extension. Returns the position where the next chunk starts.

    One tight loop does it, because a body of tiny chunks must not delay other requests.
    """
    while (size := _PLAIN_SIZE.match(data, position)) is not None:
        start = size.end()
        end = start + int(size[1], 16)
        if end == start or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[start:end])
        position = end + 2
    return position
