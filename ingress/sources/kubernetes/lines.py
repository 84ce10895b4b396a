"""A byte stream cut into lines, as a watch sends one event a line.

Responsible for whole lines only: what is not ended is not handed out, and one that is too long is dropped while the
stream lives on. It must not know what a line says.
"""

from __future__ import annotations

from typing import Final

LINE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Ten times what etcd stores of an object, which JSON may double; less would lose objects that exist."""


class Lines:
    """Pieces go in, whole lines come out; what is left at the end of the stream was cut and is forgotten."""

    __slots__ = ("_held", "_held_bytes", "_limit_bytes", "_skipping", "dropped")

    def __init__(self, *, limit_bytes: int = LINE_BYTES_MAX) -> None:
        self._limit_bytes = limit_bytes
        # Joined once a line is whole: appending to one buffer would copy a long line for every piece of it.
        self._held: list[bytes] = []
        self._held_bytes = 0
        self._skipping = False
        self.dropped = 0
        """How many lines were longer than the limit."""

    def feed(self, piece: bytes) -> list[bytes]:
        """The lines that are whole with this piece, without their ends, empty ones left out."""
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
