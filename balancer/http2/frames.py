"""Follows the borders of frames in what comes, in front of an engine. No I/O.

Engines do not report every frame, and differ in which they do. What all of them are bounded by is counted here.
"""

from __future__ import annotations

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
"""What a client says first (RFC 9113 3.4)."""

HEAD_BYTES = 9
"""The size of a frame's header (RFC 9113 4.1)."""

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)
"""Types of frames (RFC 9113 section 6)."""

_HEAD_BYTES, _DATA, _HEADERS = HEAD_BYTES, DATA, HEADERS  # numbers of C in compiled code
_END_HEADERS = 0x04
_GOAWAY_HEAD = b"\x00\x00\x08\x07\x00\x00\x00\x00\x00"
_STREAM_BITS = 2**31 - 1
_OF_BLOCKS = (HEADERS, CONTINUATION)
UNKNOWN = 10
"""Where frames of all other types are counted."""
KINDS = 11


class Frames:
    """The frames of one peer.

    `counts` has how many frames of each type have begun. `rare` has how many of those were neither DATA nor HEADERS
    since somebody set it to 0. `continuations` and `block_bytes` are those of the largest header block so far of those
    with CONTINUATION. `amid_head` says which preface, header block or frame header has begun and is not whole: its
    place among the frames of the peer, 1 for the preface, and 0 if there is none.
    """

    __slots__ = (
        "_ahead",
        "_begun",
        "_block",
        "_cut_kind",
        "_pieces",
        "amid_head",
        "block_bytes",
        "block_is_open",
        "continuations",
        "counts",
        "rare",
    )

    def __init__(self, preface: bytes) -> None:
        """`preface` comes before the first frame; its content is the engine's business."""
        self._ahead = len(preface)  # bytes until the next frame begins
        self._begun = b""  # a header that has come in part
        self._cut_kind = HEADERS  # the type of the frame that has come in part; the preface counts as one
        self.counts = [0] * KINDS
        self.block_is_open = False
        self.rare = 0
        self._pieces = 0  # the CONTINUATIONs of the open block
        self._block = 0  # the bytes of the open block
        self.continuations = 0
        self.block_bytes = 0
        self.amid_head = 1 if preface else 0

    def walk(self, data: bytes) -> None:
        """Counts the frames that begin in `data`, which follows what came before."""
        at = self._ahead
        if self._begun:
            data = self._begun + data
            self._begun = b""
        end = len(data)
        octets = data  # which compiled code reads without an object for each
        kind, heads, bodies = self._cut_kind, 0, 0
        while at + _HEAD_BYTES <= end:  # so all that is read of a header lies inside
            size = octets[at] << 16 | octets[at + 1] << 8 | octets[at + 2]
            kind = octets[at + 3]
            if kind == _DATA:
                bodies += 1
            elif kind == _HEADERS:
                heads += 1
                flags = octets[at + 4]
                if not flags & _END_HEADERS:
                    self.block_is_open = True
                    self._pieces = 0
                    self._block = size
            else:
                flags = octets[at + 4]
                self._take_rare(kind, flags, size)
            at += _HEAD_BYTES + size
        self._count(heads, bodies)
        if at < end:
            self._begun = data[at:]
            self._ahead = 0
            self.amid_head = self._place(CONTINUATION) if self.block_is_open else self._place(HEADERS) + 1
        else:
            ahead = at - end
            self._ahead = ahead
            self._cut_kind = kind
            self.amid_head = self._place(kind) if self.block_is_open or (ahead and kind in _OF_BLOCKS) else 0

    def _count(self, heads: int, bodies: int) -> None:
        """Counts so many HEADERS and DATA."""
        counts = self.counts
        if heads:
            counts[HEADERS] += heads
        if bodies:
            counts[DATA] += bodies

    def _take_rare(self, kind: int, flags: int, size: int) -> None:
        """Counts a frame that is neither DATA nor HEADERS."""
        counts = self.counts
        counts[min(kind, UNKNOWN)] += 1
        self.rare += 1
        if kind == CONTINUATION:
            self._continue(flags, size)

    def _place(self, kind: int) -> int:
        """The place of the frame that began last, which is of that `kind`; of a CONTINUATION, that of its HEADERS."""
        return 1 + sum(self.counts) - (self._pieces if kind == CONTINUATION else 0)

    def _continue(self, flags: int, size: int) -> None:
        self._pieces += 1
        self._block += size
        self.continuations = max(self.continuations, self._pieces)
        self.block_bytes = max(self.block_bytes, self._block)
        if flags & _END_HEADERS:
            self.block_is_open = False


def goaway_frame(last: int, code: int) -> bytes:
    """A GOAWAY (RFC 9113 6.8), which needs no state of a connection. `last`: the last stream that was taken."""
    return _GOAWAY_HEAD + last.to_bytes(4) + code.to_bytes(4)


def stream_of(frame: bytes) -> int:
    """The stream in the header of a frame, without the bit that is reserved (RFC 9113 4.1)."""
    return int.from_bytes(frame[5:HEAD_BYTES]) & _STREAM_BITS


def read_goaway(frame: bytes) -> tuple[int, int]:
    """The last stream and the code of a whole GOAWAY."""
    last, code = frame[HEAD_BYTES : HEAD_BYTES + 4], frame[HEAD_BYTES + 4 : HEAD_BYTES + 8]
    return int.from_bytes(last) & _STREAM_BITS, int.from_bytes(code)
