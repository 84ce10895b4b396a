"""Cuts a byte stream into lines; a watch sends one event on each line.

Hands out only whole lines. Drops a line that is too long, and the stream continues. Does not know what a line says.
"""

from __future__ import annotations

from typing import Final

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Ten times the largest object of etcd, whose JSON may be twice as long. A smaller limit would lose existing objects.
"""


class Lines:
    """Takes pieces and returns whole lines. An incomplete line at the end of the stream is dropped."""

    __slots__ = ("_held", "_held_bytes", "_limit_bytes", "_skipping", "dropped")

    def __init__(self, *, limit_bytes: int = LINE_BYTES_MAX) -> None:
        self._limit_bytes = limit_bytes
        # Joined once the line is whole. Appending to one buffer would copy a long line for every piece.
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._skipping = False
        self.dropped = 0
        """The number of lines that were longer than the limit."""

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that this piece completes, without line ends and without empty lines."""
        *ended, rest = piece.split(b"\n")
        lines = []
        for part in ended:
            self._hold(part)
            lines.append(self._taken())
        self._hold(rest)
        return [line for line in lines if line]

    def _hold(self, part: bytes) -> None:
        if self._skipping or not part:
            return
        if self._held_bytes + len(part) > self._limit_bytes:
            self._forget()
            self._skipping = True
            self.dropped += 1
            return
        self._held.append(part)
        self._held_bytes += len(part)

    def _taken(self) -> bytes:
        line = b"".join(self._held).strip()
        self._forget()
        self._skipping = False
        return line

    def _forget(self) -> None:
        self._held.clear()
        self._held_bytes = 0
