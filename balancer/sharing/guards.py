"""Says what a table asks of the memory that it lies in: bytes, and a guard that keeps other processes out. No I/O."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeAlias

if TYPE_CHECKING:
    from mmap import mmap

Buffer: TypeAlias = "bytearray | memoryview | mmap"

WAYS: Final = 8
"""Slots of a set."""


class Guard(Protocol):
    """Keeps other processes out of one set of a table while it is read and written."""

    def enter(self, place: int) -> None:
        """Waits for a short time until no other process is in the set."""

    def leave(self, place: int) -> None:
        """Lets others in."""


class Unguarded:
    """The guard of memory that no other process has."""

    __slots__ = ()

    def enter(self, place: int) -> None:
        """Does nothing, because no other process has the memory."""

    def leave(self, place: int) -> None:
        """Does nothing, because no other process waits."""


class Beyond:
    """A guard for one more table: its places come after the `first` places of `guard`, which other tables use."""

    __slots__ = ("_first", "_guard")

    def __init__(self, guard: Guard, first: int) -> None:
        self._guard = guard
        self._first = first

    def enter(self, place: int) -> None:
        """Enters the place of this table."""
        self._guard.enter(self._first + place)

    def leave(self, place: int) -> None:
        """Leaves the place of this table."""
        self._guard.leave(self._first + place)
