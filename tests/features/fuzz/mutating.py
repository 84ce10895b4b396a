"""Makes hostile messages out of known ones. Deterministic: the same seed makes the same inputs.

It must not know what is right; it only knows what has confused HTTP parsers before.
"""

from __future__ import annotations

from functools import cache
from random import Random

from tests.features.http_cases.cases import Case, Send, all_cases

_SEED_BYTES = 4096  # longer cases test limits, and would only be slow here
_MUTATIONS = (0, 1, 1, 1, 2, 2, 3, 4)  # mostly few: an input that is refused at its first line tests little

_VALID = {
    "request": (
        b"GET /a?b=c HTTP/1.1\r\nHost: app.test\r\n\r\nGET /b HTTP/1.1\r\nHost: app.test\r\n\r\n",
        b"POST /p HTTP/1.1\r\nHost: app.test\r\nContent-Length: 5\r\n\r\nhelloGET / HTTP/1.1\r\nHost: app.test\r\n\r\n",
        b"POST /p HTTP/1.1\r\nHost: app.test\r\nTransfer-Encoding: chunked\r\n\r\n5;x\r\nhello\r\n0\r\nX-S: 1\r\n\r\n",
        b"GET /ws HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00",
        b"OPTIONS * HTTP/1.1\r\nHost: app.test\r\nMax-Forwards: 2\r\n\r\n",
        b"PUT http://app.test/%2e/x HTTP/1.0\r\nConnection: keep-alive, x-a\r\nX-A:1\r\nExpect: 100-continue\r\n\r\n",
    ),
    "response": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nDate: Mon, 01 Jan 2024 00:00:00 GMT\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n",
        b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\nHTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n",
        b"HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nSet-Cookie: a=b\r\n\r\nuntil the end",
        b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x00",
    ),
}

_PIECES = (
    *(b"\r", b"\n", b"\r\n", b"\r\n\r\n", b"\x00", b" ", b"\t", b"\x0b", b"\x0c", b"\x1f", b"\x7f", b"\x80", b"\xff"),
    *(b":", b";", b",", b"=", b'"', b"_", b"-", b"+", b"0", b"0x5", b"5 ", b"1e1", b"-1", b"18446744073709551616"),
    *(b"%2e", b"%2f", b"%00", b"%", b"..", b"/../", b"//", b"\\", b"?", b"#", b"@", b"[::1]", b"http://", b"*"),
    *(b"Content-Length: 5\r\n", b"Content-Length: 0\r\n", b"Content-Length : 5\r\n", b"Content_Length: 5\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding: identity\r\n", b"Transfer-Encoding:\x0bchunked\r\n"),
    *(b"transfer-encoding: chunked, chunked\r\n", b"TE: trailers\r\n", b"Host: other.test\r\n", b"Host:\r\n"),
    *(
        b"Connection: close\r\n",
        b"Connection: content-length, host\r\n",
        b"Connection: Upgrade\r\n",
        b"Upgrade: h2c\r\n",
    ),
    *(
        b"Upgrade: websocket\r\n",
        b"Expect: 100-continue\r\n",
        b"X-Forwarded-For: 1.2.3.4\r\n",
        b"X-A: b\r\n folded\r\n",
    ),
    *(b"GET ", b"CONNECT ", b"PRI ", b"HEAD ", b" HTTP/1.1", b" HTTP/1.0", b" HTTP/0.9", b" HTTP/2.0", b" http/1.1"),
    *(b"HTTP/1.1 204 x\r\n", b"HTTP/1.1 100 \r\n", b"0\r\n\r\n", b"ffffffffffffffff\r\n", b"1\r\nx\r\n"),
)


@cache
def seeds(side: str) -> tuple[bytes, ...]:
    """What inputs are made of: the hostile messages of the cases and some valid ones. `side`: request or response."""
    return tuple(seed for seed in (*map(_bytes_of, _cases(side)), *_VALID[side]) if 0 < len(seed) <= _SEED_BYTES)


def _cases(side: str) -> list[Case]:
    return [case for case in all_cases() if case.side == side and (case.raw is not None or case.segments is not None)]


def _bytes_of(case: Case) -> bytes:
    return b"".join(b"".join(step.pieces) for step in case.steps if isinstance(step, Send))


class Mutator:
    """An endless source of inputs for one side."""

    def __init__(self, random: Random, side: str) -> None:
        self._random = random
        self._seeds = (seeds(side), _VALID[side])

    def next(self) -> bytes:
        """A seed, or two that were joined somewhere, with a few mutations."""
        random = self._random
        data = self._seed()
        if random.random() < 0.2:
            data = self._joined(data, self._seed())
        for _ in range(random.choice(_MUTATIONS)):
            data = self._mutated(data)
        return data

    def _seed(self) -> bytes:
        return self._random.choice(self._random.choice(self._seeds))  # half hostile, half valid

    def _joined(self, first: bytes, second: bytes) -> bytes:
        return first[: self._place(first)] + second[self._place(second) :]

    def _mutated(self, data: bytes) -> bytes:
        random = self._random
        start = self._place(data)
        end = min(len(data), start + random.randint(1, 8))
        match random.randrange(6):
            case 0:
                return data[:start] + bytes((random.randrange(256),)) + data[start + 1 :]
            case 1 | 2:
                return data[:start] + random.choice(_PIECES) + data[start:]
            case 3:
                return data[:start] + data[end:]
            case 4:
                return data[:start] + data[start:end] * random.randint(2, 5) + data[end:]
            case _:
                return data[:start] + data[start:end].swapcase() + data[end:]

    def _place(self, data: bytes) -> int:
        """Somewhere in `data`, half the time where a line ends: there the structure is."""
        if self._random.random() < 0.5 and (lines := data.count(b"\n")):
            place = -1
            for _ in range(self._random.randint(1, min(lines, 20))):
                place = data.find(b"\n", place + 1)
            return place + self._random.randint(-1, 1)
        return self._random.randint(0, len(data))
