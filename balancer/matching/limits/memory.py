"""Lays out the memory in which the workers of one replica count requests together. No I/O.

One process makes the memory, and every worker maps it: a secret, the table of due times, the table of requests in
flight. The secret keys the hashes of clients, so that nobody can aim at a place in the tables.
"""

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
