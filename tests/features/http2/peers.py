"""One end of an HTTP/2 connection that keeps what it receives and answers only what every peer must answer."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from typing import cast

from hpack import Decoder

from tests.features.http2 import frames
from tests.features.http2.cases import Way
from tests.features.http2.frames import Frame

Fields = list[tuple[bytes, bytes]]

_SETTING_FRAME_BYTES, _SETTING_STREAMS = 5, 3
_OF_BLOCKS = (bytes((frames.HEADERS,)), bytes((frames.CONTINUATION,)))
_HEADER_LIST_BYTES = 16 * 1024 * 1024


class Half:
    """What one side has said on one stream: `heads` are its field sections, the last is that of the message."""

    def __init__(self) -> None:
        self.heads: list[Fields] = []
        self.trailers: Fields = []
        self.body = bytearray()
        self.first_data_bytes = 0
        self.ended = False
        self.reset: int | None = None

    @property
    def head(self) -> Fields:
        """The head of the message; that of a response is the one that is no interim response."""
        return next((head for head in self.heads if not (head[0][0] == b":status" and head[0][1][:1] == b"1")), [])

    def value(self, name: bytes) -> bytes | None:
        return next((value for each, value in self.head if each == name), None)

    @property
    def status(self) -> int:
        return int(self.value(b":status") or 0)

    @property
    def is_over(self) -> bool:
        return self.ended or self.reset is not None


class Peer(asyncio.Protocol):
    """Reads frames, acknowledges SETTINGS and answers PING. Whoever waits for `news` hears of every frame."""

    def __init__(self, *, speaks_first: bool = True) -> None:
        """`speaks_first`: it is a client, whose preface comes before its answers."""
        self._holds_answers, self._is_amid_block = speaks_first, False
        self._answers: list[bytes] = []
        self.transport: asyncio.Transport | None = None
        self.received = bytearray()
        self.streams: defaultdict[int, Half] = defaultdict(Half)
        self.goaway: tuple[int, int] | None = None
        self.pongs: list[bytes] = []
        self.settings: dict[int, int] = {}
        self.has_settings = self.is_lost = False
        self.acknowledges = self.answers_pings = True
        self.unexpected: list[str] = []
        self._decoder = Decoder(max_header_list_size=_HEADER_LIST_BYTES)
        self._open_block: tuple[int, int, bytearray] | None = None
        self._changed = asyncio.Event()

    @property
    def frame_bytes(self) -> int:
        """The longest frame that the other side takes."""
        return self.settings.get(_SETTING_FRAME_BYTES, 16_384)

    @property
    def stream_limit(self) -> int:
        return self.settings.get(_SETTING_STREAMS, 100)

    def write(self, data: bytes) -> None:
        if self.transport is not None and not self.transport.is_closing():
            self.transport.write(data)

    async def write_in(self, parts: list[bytes], way: Way) -> None:
        """Writes whole frames, cut as `way` says. What must be answered meanwhile is answered behind them."""
        self._holds_answers = True
        for part in parts:
            if part[3:4] in _OF_BLOCKS:
                self._is_amid_block = not part[4] & frames.END_HEADERS
        if way is Way.ONE_WRITE:
            parts = [b"".join(parts)]
        elif way is Way.BYTES:
            whole = b"".join(parts)
            parts = [whole[place : place + 1] for place in range(len(whole))]
        for part in parts:
            self.write(part)
            await asyncio.sleep(0)
        if not self._is_amid_block:
            self._holds_answers = False
            answers, self._answers = self._answers, []
            self.write(b"".join(answers))

    def _answer(self, data: bytes) -> None:
        """Writes what every peer must answer, but not amid a frame or a header block of its own."""
        if self._holds_answers:
            self._answers.append(data)
        else:
            self.write(data)

    async def until(self, is_so: Callable[[], bool], seconds: float) -> bool:
        """Waits for a state or the end of the connection. Says whether the state came."""
        try:
            async with asyncio.timeout(seconds):
                while not is_so() and not self.is_lost:
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            pass
        return is_so()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.received += data
        for each in frames.taken_apart(self.received):
            self._take(each)
        self._changed.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._changed.set()

    def _take(self, each: Frame) -> None:  # noqa: C901 -- one case for each kind of frame
        kind, stream = each.kind, each.stream
        if kind == frames.SETTINGS and not each.flags & frames.ACK:
            pairs = [each.payload[place : place + 6] for place in range(0, len(each.payload), 6)]
            self.settings |= {int.from_bytes(pair[:2], "big"): int.from_bytes(pair[2:], "big") for pair in pairs}
            self.has_settings = True
            if self.acknowledges:
                self._answer(frames.frame(frames.SETTINGS, frames.ACK, 0))
        elif kind == frames.PING:
            if each.flags & frames.ACK:
                self.pongs.append(each.payload)
            elif self.answers_pings:
                self._answer(frames.frame(frames.PING, frames.ACK, 0, each.payload))
        elif kind == frames.GOAWAY:
            self.goaway = int.from_bytes(each.payload[:4], "big"), int.from_bytes(each.payload[4:8], "big")
        elif kind == frames.RST_STREAM:
            self.streams[stream].reset = int.from_bytes(each.payload, "big")
            self.stream_reset(stream)
        elif kind == frames.DATA:
            self._take_data(each)
        elif kind in (frames.HEADERS, frames.CONTINUATION):
            self._take_block(each)
        elif kind not in (frames.SETTINGS, frames.WINDOW_UPDATE):
            self.unexpected.append(f"a frame of type {kind}")

    def _take_data(self, each: Frame) -> None:
        half, data = self.streams[each.stream], frames.without_padding(each)
        if half.is_over:
            self.unexpected.append(f"DATA after the end of stream {each.stream}")
        half.first_data_bytes = half.first_data_bytes or len(data)
        half.body += data
        if each.flags & frames.END_STREAM:
            half.ended = True
            self.stream_ended(each.stream)

    def _take_block(self, each: Frame) -> None:
        if each.kind == frames.HEADERS:
            self._open_block = each.stream, each.flags, bytearray(frames.without_padding(each))
        elif self._open_block is not None:
            self._open_block[2].extend(each.payload)
        if not each.flags & frames.END_HEADERS or self._open_block is None:
            return
        (stream, flags, block), self._open_block = self._open_block, None
        fields = [(bytes(name), bytes(value)) for name, value in self._decoder.decode(bytes(block), raw=True)]
        half = self.streams[stream]
        if half.is_over:
            self.unexpected.append(f"HEADERS after the end of stream {stream}")
        if fields and fields[0][0].startswith(b":"):
            half.heads.append(fields)
        else:
            half.trailers = fields
        half.ended = half.ended or bool(flags & frames.END_STREAM)
        self.head_came(stream)
        if flags & frames.END_STREAM:
            self.stream_ended(stream)

    def head_came(self, stream: int) -> None:
        """A field section came."""

    def stream_ended(self, stream: int) -> None:
        """The other side has said all of a stream."""

    def stream_reset(self, stream: int) -> None:
        """The other side has broken a stream off."""
