"""Cuts what comes into frames, for an engine that is given one at a time. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from balancer.http2.bodies import FRAME_BYTES
from balancer.http2.events import FRAME_SIZE_ERROR, PROTOCOL_ERROR
from balancer.http2.frames import CONTINUATION, HEAD_BYTES, HEADERS, PREFACE, PUSH_PROMISE, SETTINGS

_ACK, _END_HEADERS = 0x01, 0x04


class Splitter:
    """The preface, in pieces as it comes, and then whole frames.

    `kind` is the type of the frame that was taken last, and -1 in the preface. `is_amid_block`: that frame stands
    between the beginning and the end of a header block. `fault` is the code of an error of the connection, 0 without
    one, and `why` says what is wrong: no further frame is taken.
    """

    __slots__ = ("_data", "_is_block_open", "_preface_left", "fault", "is_amid_block", "kind", "why")

    def __init__(self, *, has_preface: bool) -> None:
        self._data = b""
        self._preface_left = len(PREFACE) if has_preface else 0
        self._is_block_open = False
        self.is_amid_block = False
        self.kind = -1
        self.fault = 0
        self.why = ""

    def split(self, data: bytes) -> Iterator[bytes]:
        """The pieces in `data` behind what came before. All of them have to be taken."""
        data = self._data + data
        at = 0
        if self._preface_left and data:
            at = min(self._preface_left, len(data))
            self._preface_left -= at
            yield data[:at]
        while len(data) - at >= HEAD_BYTES:
            size = int.from_bytes(data[at : at + 3])
            end = at + HEAD_BYTES + size
            if end > len(data) and size <= FRAME_BYTES:
                break
            self._note(data[at + 3], data[at + 4], size)
            if self.fault:
                return
            yield data[at:end]
            at = end
        self._data = data[at:]

    def _note(self, kind: int, flags: int, size: int) -> None:
        if size > FRAME_BYTES:
            self.fault = FRAME_SIZE_ERROR
            self.why = "a frame that is too long"
        elif self.kind < 0 and (kind != SETTINGS or flags & _ACK):
            self.fault = PROTOCOL_ERROR
            self.why = "something before the settings (RFC 9113 3.4)"
        elif kind == CONTINUATION and not self._is_block_open:
            self.fault = PROTOCOL_ERROR
            self.why = "a continuation of nothing (RFC 9113 6.10)"
        self.kind = kind
        self.is_amid_block = self._is_block_open
        if kind in (HEADERS, PUSH_PROMISE, CONTINUATION):
            self._is_block_open = not flags & _END_HEADERS
