"""Tells a worker at which call the process of its isolated hooks works, in memory that both share.

A process that computes says nothing over its socket, and one that was killed says nothing any more.
"""

from __future__ import annotations

import mmap
import os
import struct
import time
from typing import Final, NamedTuple

from zonal_hooks.calling import Watch

_LAYOUT: Final = struct.Struct("=Qd")


class Work(NamedTuple):
    """The number of the call whose code runs, 0 for none, and since when, by `time.monotonic`."""

    call: int
    since: float


class WorkNote:
    """At what a process works. The code of hooks can write here, too, so what it says is a hint."""

    __slots__ = ("_memory",)

    def __init__(self, descriptor: int) -> None:
        """`descriptor` is what `note_file` has made; this object does not close it."""
        self._memory = mmap.mmap(descriptor, _LAYOUT.size)

    def read(self) -> Work:
        """What was written last."""
        return Work(*_LAYOUT.unpack_from(self._memory))

    def write(self, call: int) -> None:
        """The process works at this call from now on."""
        _LAYOUT.pack_into(self._memory, 0, call, time.monotonic())


def note_file() -> int:
    """The descriptor of a file in memory for a note that says 0."""
    descriptor = os.memfd_create("zonal-hooks")
    os.truncate(descriptor, _LAYOUT.size)
    return descriptor


class NotingWatch(Watch):
    """Notes one call while a step of it runs, also after it has waited."""

    __slots__ = ("_call", "_held_by", "_note")

    def __init__(self, note: WorkNote, call: int) -> None:
        self._note = note
        self._call = call
        self._held_by = ""
        super().__init__()

    @property
    def holder(self) -> str:
        """The hook whose step runs, empty for none."""
        return self._held_by

    @holder.setter
    def holder(self, hook: str) -> None:
        self._held_by = hook
        self._note.write(self._call if hook else 0)
