"""Bounds what the request bodies that a worker keeps take of memory, files and descriptors, divided among tenants.

Bodies are kept while they are received first (`spooling`), and for another try (`bodies`). No I/O, no clock.
"""

from __future__ import annotations

from typing import Final

from balancer.runtime.shares import FairShares

MEMORY_BYTES_MOST: Final = 64 * 1024**2
"""The most that the kept bodies of one worker take of its memory."""
FILE_BYTES_MOST: Final = 1024**3
"""The most that one worker keeps in files."""
FILES_MOST: Final = 1024
"""So many files at most are open at once, however many descriptors the process may have."""

_LEAST_FILES = 32
_WARNING_SECONDS = 10.0


def files_for(descriptors: int) -> int:
    """How many files a process with so many descriptors may keep bodies in: half of those that no client needs."""
    return min(FILES_MOST, max(_LEAST_FILES, descriptors // 20))


class Held:
    """What one body holds of a bound. Whatever it holds is given back with its last reference."""

    __slots__ = ("_shares", "_tenant", "units")

    def __init__(self, shares: FairShares, tenant: str) -> None:
        self._shares = shares
        self._tenant = tenant
        self.units = 0

    def __del__(self) -> None:
        self.end()

    def take(self, units: int) -> bool:
        """Takes `units` more if the share of the tenant allows that. Returns whether it does."""
        if not self._shares.take(self._tenant, units):
            return False
        self.units += units
        return True

    def end(self) -> None:
        """Gives everything back."""
        if self.units:
            self._shares.give_back(self._tenant, self.units)
            self.units = 0


class BodyRoom:
    """What bodies may take of one worker: bytes of `memory` and of `files`, and how many files are `open`."""

    __slots__ = ("_untold", "_warn_at", "files", "memory", "open")

    def __init__(
        self,
        *,
        memory_bytes: int = MEMORY_BYTES_MOST,
        file_bytes: int = FILE_BYTES_MOST,
        files: int = FILES_MOST,
    ) -> None:
        self.memory = FairShares(memory_bytes)
        self.files = FairShares(file_bytes)
        self.open = FairShares(files)
        self._warn_at = float("-inf")
        self._untold = 0

    def warns(self, now: float) -> int | None:
        """How many bodies could not be written since the last warning, this one included; None: too soon for another.

        Called once for each of them.
        """
        self._untold += 1
        if now < self._warn_at:
            return None
        untold = self._untold
        self._untold = 0
        self._warn_at = now + _WARNING_SECONDS
        return untold
