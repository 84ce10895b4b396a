"""Cuts what comes into frames, for an engine that is given one at a time. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from balancer.http2.frames import CONTINUATION, HEAD_BYTES, HEADERS, PREFACE, PUSH_PROMISE

FRAME_BYTES = 16_384
"""The most bytes of a frame that comes, without its header: nobody is told that there may be more."""

_END_HEADERS = 0x04


class Splitter:
    """The preface, in pieces as it comes, and then whole frames.

    `kind` is the type of the frame that was taken last, and -1 in the preface. `is_amid_block`: that frame stands
    between the beginning and the end of a header block. `is_too_long`: no further frame is taken, because the next one
    is over `FRAME_BYTES`.
    """

    __slots__ = ("_data", "_is_block_open", "_preface_left", "is_amid_block", "is_too_long", "kind")

    def __init__(self, *, has_preface: bool) -> None:
        self._data = b""
        self._preface_left = len(PREFACE) if has_preface else 0
        self._is_block_open = self.is_amid_block = self.is_too_long = False
        self.kind = -1

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
            if size > FRAME_BYTES:
                self.is_too_long = True
                return
            end = at + HEAD_BYTES + size
            if end > len(data):
                break
            self._note(data[at + 3], data[at + 4])
            yield data[at:end]
            at = end
        self._data = data[at:]

    def _note(self, kind: int, flags: int) -> None:
        self.kind, self.is_amid_block = kind, self._is_block_open
        if kind in (HEADERS, PUSH_PROMISE, CONTINUATION):
            self._is_block_open = not flags & _END_HEADERS
