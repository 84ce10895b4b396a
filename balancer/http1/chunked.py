"""Decodes and encodes the chunked transfer coding (RFC 9112 section 7.1). No I/O.

Our own decoder, because a relay must know to the byte where a message ends, and httptools does not tell.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import Trailers
from balancer.http.passing import passes_as_trailer

_SIZE_LINE = re.compile(rb"([0-9A-Fa-f]{1,16})(?:[ \t]*;[\t\x20-\x7e\x80-\xff]*)?")
_PLAIN_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})\r\n")
_LINE_LIMIT = 256  # bytes of one chunk-size line: 16 digits and room for an honest extension
_EXTENSIONS_LIMIT = 16 * 1024  # bytes of all extensions of one body: nothing honest sends more (CVE-2023-39326)
_TRAILERS_LIMIT = 8 * 1024
_TRAILER = re.compile(rb"([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*([\t\x20-\x7e\x80-\xff]*)")

LAST_CHUNK = b"0\r\n\r\n"


def encode_chunk(data: bytes) -> bytes:
    """One chunk holding `data`, which must not be empty: an empty chunk would end the body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def encode_last_chunk(trailers: Trailers) -> bytes:
    """The end of a chunked body, with its trailer fields."""
    if not trailers:
        return LAST_CHUNK
    return b"0\r\n" + b"".join(b"%b: %b\r\n" % trailer for trailer in trailers) + b"\r\n"


class ChunkedDecoder:
    """Takes a chunked body as it comes, cut anywhere, and gives back the data in it.

    Trailers that would change what the message is are dropped. Errors are raised as `Refusal` of the kind given at
    construction.
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
        """The last chunk and its trailers have come."""
        return self._state == self._DONE

    @property
    def trailers(self) -> Trailers:
        """The trailer fields; complete once `done`."""
        return tuple(self._trailers)

    def feed(self, data: bytes) -> tuple[list[bytes], bytes]:
        """Decode `data`: the pieces of body in it, and what follows the end of the body (empty until `done`)."""
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
        """Collect one line that ends in CRLF, act on it when it is whole, and say where to go on."""
        end = data.find(b"\n", position)
        end = len(data) if end < 0 else end + 1
        self._line += data[position:end]
        if len(self._line) > (_TRAILERS_LIMIT if self._state == self._TRAILER else _LINE_LIMIT):
            raise Refusal(self._kind, "a line of a chunked body is over its limit")
        if self._line[-1:] == b"\n":
            if self._line[-2:] != b"\r\n":
                raise Refusal(self._kind, "a line of a chunked body does not end in CRLF")
            line, self._line = self._line[:-2], b""
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
        self._left = int(match[1], 16)
        if self._extension_bytes > _EXTENSIONS_LIMIT or self._left >= 1 << 60:
            raise Refusal(self._kind, "chunk extensions or a chunk size over their limit")
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
    """Take the chunks that are whole and without extension; where the next one starts.

    In one tight loop, for a body of tiny chunks must not hold up everybody else's requests.
    """
    while (size := _PLAIN_SIZE.match(data, position)) is not None:
        start = size.end()
        end = start + int(size[1], 16)
        if end == start or data[end : end + 2] != b"\r\n":
            break
        pieces.append(data[start:end])
        position = end + 2
    return position
