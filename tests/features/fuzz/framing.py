"""Makes sequences of HTTP/2 frames of a peer: mostly sound, often with one thing wrong. The same seed makes the same.

Header blocks are made by `hpack`, which neither engine of ours decodes with in the same way.
"""

from __future__ import annotations

from random import Random

from hpack import Encoder

from balancer.http2.frames import (
    CONTINUATION,
    DATA,
    GOAWAY,
    HEADERS,
    PING,
    PREFACE,
    PRIORITY,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
)

HELLO = PREFACE + bytes.fromhex("000000040000000000000000040100000000")
_STREAMS_MOST = 9
_END_STREAM, _END_HEADERS, _PADDED, _PRIORITY_FLAG = 0x1, 0x4, 0x8, 0x20
_KINDS = (HEADERS,) * 8 + (DATA,) * 6 + (RST_STREAM, SETTINGS, PING, WINDOW_UPDATE, WINDOW_UPDATE, PRIORITY, GOAWAY)
_ODD_KINDS = (CONTINUATION, PUSH_PROMISE, 99)
_PATHS = (b"/", b"/a", b"/a?b=c", b"/%41//b", b"/./c", b"/caf\xc3\xa9", b"*", b"", b"a", b"/ b", b"/#x", b"/smuggled")
_FIELDS = (
    (b"accept", b"*/*"),
    (b"cookie", b"a=1"),
    (b"cookie", b"b=2"),
    (b"x-request-id", b"77"),
    (b"x_under", b"1"),
    (b"te", b"trailers"),
    (b"content-length", b"5"),
    (b"content-length", b"0"),
    (b"expect", b"100-continue"),
    (b"host", b"app.test"),
    (b"x-long", b"y" * 300),
)
_WRONG_FIELDS = (
    (b"Accept", b"*/*"),
    (b"connection", b"close"),
    (b"transfer-encoding", b"chunked"),
    (b"te", b"gzip"),
    (b"x-a", b"1\r\nx-b: 2"),
    (b"x-a", b" 1"),
    (b"x a", b"1"),
    (b"", b"1"),
    (b"x-a", b"\x00"),
    (b"content-length", b"5x"),
    (b"host", b"victim.test"),
    (b":path", b"/smuggled"),
    (b":unknown", b"1"),
    (b"x-a", b"\x7f"),
)


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame (RFC 9113 4.1)."""
    return len(payload).to_bytes(3) + bytes((kind, flags)) + stream.to_bytes(4) + payload


class FrameMaker:
    """Makes the frames of one connection after its preface and settings.

    Those of an endpoint answer requests that are open already: `answered` are their streams.
    """

    def __init__(self, random: Random, answered: tuple[int, ...] = ()) -> None:
        self._random = random
        self._encoder = Encoder()
        self._is_endpoint = bool(answered)
        self._next = answered[-1] + 2 if answered else 1
        self._open = list(answered)  # the peer has not ended them yet
        self._answered: set[int] = set()

    def sequence(self) -> list[bytes]:
        """Up to eight frames, and sometimes bytes of them changed."""
        random = self._random
        frames = [self._frame() for _ in range(random.randint(1, 8))]
        if random.random() < 0.15:
            at = random.randrange(len(frames))
            frames[at] = self._spoilt(frames[at])
        return frames

    def _frame(self) -> bytes:
        random = self._random
        kind = random.choice(_KINDS)
        if random.random() < 0.03:
            kind = random.choice(_ODD_KINDS)
        makers = {HEADERS: self._headers, DATA: self._data, SETTINGS: self._settings, WINDOW_UPDATE: self._update}
        if kind in makers:
            return makers[kind]()
        old = self._old()
        payloads = {
            RST_STREAM: (old, random.choice((0, 8, 1)).to_bytes(4)),
            PRIORITY: (old, random.choice((0, self._old())).to_bytes(4) + b"\x10"),
            PING: (0, bytes(8)),
            GOAWAY: (0, bytes(8)),
        }
        stream, payload = payloads.get(kind, (old, bytes(random.randint(0, 9))))
        return frame(kind, random.choice((0, 0, 0, 1, _END_HEADERS)), stream, payload)

    def _update(self) -> bytes:
        random = self._random
        size = random.choice((1, 1000, 65_535, 2**31 - 1)) if random.random() < 0.9 else 0
        return frame(WINDOW_UPDATE, 0, random.choice((0, self._old())), size.to_bytes(4))

    def _old(self) -> int:
        """A stream that is open, most of the time."""
        chance = self._random.random()
        if chance < 0.02:
            return self._random.choice((0, 2, self._next + 4))
        if chance < 0.06 or not self._open:
            return self._random.randrange(1, max(2, self._next), 2)
        return self._random.choice(self._open)

    def _headers(self) -> bytes:
        random = self._random
        is_new = not self._is_endpoint and random.random() < 0.85 and self._next < 2 * _STREAMS_MOST
        stream = self._next if is_new else self._old()
        if is_new:
            self._next += 2
            self._open.append(stream)
        is_head = is_new or (self._is_endpoint and stream not in self._answered) or random.random() < 0.05
        fields = [random.choice(_FIELDS)]
        if is_head:
            fields = self._response() if self._is_endpoint else self._request()
        if fields[0][1][:1] != b"1":
            self._answered.add(stream)
        block = self._encoder.encode(fields, huffman=random.random() < 0.5)
        flags = _END_HEADERS
        if random.random() < (0.5 if is_head else 0.95):
            flags |= self._end(stream)
        if random.random() < 0.1:
            return _in_pieces(stream, flags, block, random)
        prefix = suffix = b""
        if random.random() < 0.05:
            padding = random.choice((0, 7, 255))
            flags, prefix, suffix = flags | _PADDED, bytes((padding,)), bytes(padding)
        if random.random() < 0.05:
            flags, prefix = flags | _PRIORITY_FLAG, prefix + random.choice((0, stream)).to_bytes(4) + b"\x10"
        return frame(HEADERS, flags, stream, prefix + block + suffix)

    def _end(self, stream: int) -> int:
        if stream in self._open:
            self._open.remove(stream)
        return _END_STREAM

    def _response(self) -> list[tuple[bytes, bytes]]:
        random = self._random
        status = random.choice((b"200",) * 6 + (b"103", b"204", b"304", b"404", b"101", b"2x0", b"099", b""))
        fields = [(b":status", status), *(random.choice(_FIELDS) for _ in range(random.randint(0, 3)))]
        chance = random.random()
        if chance < 0.05:
            fields.insert(random.randint(0, len(fields)), random.choice(_WRONG_FIELDS))
        elif chance < 0.07:
            random.shuffle(fields)
        return fields

    def _request(self) -> list[tuple[bytes, bytes]]:
        random = self._random
        method = random.choice((b"GET", b"GET", b"POST", b"HEAD", b"OPTIONS"))
        path = random.choice(_PATHS if random.random() < 0.3 else _PATHS[:5])
        pseudo = [(b":method", method), (b":scheme", b"https"), (b":authority", b"app.test"), (b":path", path)]
        fields = [random.choice(_FIELDS) for _ in range(random.randint(0, 4))]
        chance = random.random()
        if chance < 0.05:
            fields.insert(random.randint(0, len(fields)), random.choice(_WRONG_FIELDS))
        elif chance < 0.07:
            del pseudo[random.randrange(4)]
        elif chance < 0.09:
            pseudo.append(random.choice(pseudo))
        elif chance < 0.1:
            pseudo[0] = (b":method", random.choice((b"CONNECT", b"TRACE", b"", b"G T")))
        elif chance < 0.11:
            pseudo[1] = (b":scheme", random.choice((b"http", b"ftp", b"", b"https://victim.test/smuggled?")))
        elif chance < 0.12:
            pseudo[2] = (
                b":authority",
                random.choice((b"", b"app.test:443", b"a@b", b"victim.test\r\nx: y", b"B.test.")),
            )
        if random.random() < 0.02:
            fields, pseudo = pseudo, fields
        return pseudo + fields

    def _data(self) -> bytes:
        random = self._random
        data = b"hello"[: random.choice((5, 5, 5, 1, 0))]
        stream = self._old()
        flags = random.choice((0, self._end(stream))) if random.random() < 0.5 else 0
        if random.random() < 0.1:
            padding = random.choice((0, 3, 200))
            return frame(DATA, flags | _PADDED, stream, bytes((padding,)) + data + bytes(padding))
        return frame(DATA, flags, stream, data)

    def _settings(self) -> bytes:
        random = self._random
        what = random.choice((1, 3, 4, 5, 6, 8, 9, 77))
        values = {1: (0, 100, 4096), 4: (0, 70_000), 5: (16_384, 20_000), 6: (100_000,), 8: (0,), 9: (0,)}
        wrong = {2: 1, 4: 2**31, 5: 100, 8: 2, 9: 1}
        value = wrong.get(what, 7) if random.random() < 0.1 else random.choice(values.get(what, (0, 100)))
        return frame(SETTINGS, 0, 0, what.to_bytes(2) + value.to_bytes(4))

    def _spoilt(self, whole: bytes) -> bytes:
        random = self._random
        chance = random.random()
        at = random.randrange(len(whole))
        if chance < 0.5:
            return whole[:at] + bytes((whole[at] ^ 1 << random.randrange(8),)) + whole[at + 1 :]
        if chance < 0.75:
            return whole + whole
        return whole[:at]


def _in_pieces(stream: int, flags: int, block: bytes, random: Random) -> bytes:
    """A header block with CONTINUATION, and sometimes with another frame in it."""
    cut = random.randint(0, len(block))
    first = frame(HEADERS, flags & ~_END_HEADERS, stream, block[:cut])
    between = frame(PING, 0, 0, bytes(8)) if random.random() < 0.05 else b""
    return first + between + frame(CONTINUATION, _END_HEADERS, stream, block[cut:])
