"""Shares an outage of the API server between the reflectors: one asks often, and all learn of its return.

If each reflector asked often, a hundred of them would burden an API server in trouble. So one of them, the scout, asks
every few seconds. The others wait for their back-off, or until the API server serves any of them. Does not know what is
asked for, nor why a request failed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress


class Outage:
    """The members that wait for the API server. A member is any object compared by identity, usually a reflector."""

    __slots__ = ("_failing", "_returned", "_scout", "on_return")

    def __init__(self) -> None:
        self.on_return: Callable[[], None] = lambda: None
        """Called whenever all waiting members are woken."""
        self._failing: set[object] = set()
        self._scout: object | None = None
        self._returned = asyncio.Event()

    @property
    def failing(self) -> int:
        """The number of members whose last request the API server did not serve."""
        return len(self._failing)

    async def wait(self, member: object, seconds: float, *, scout_seconds: float | None) -> bool:
        """Waits for `seconds`, or until the API server serves another member. Returns whether it did.

        `scout_seconds` is the longest wait if the member is the scout. None: the member must not be the scout.
        """
        self._failing.add(member)
        if scout_seconds is not None and self._scout in (None, member):
            self._scout = member
            seconds = min(seconds, scout_seconds)
        returned = self._returned
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await returned.wait()
        return returned.is_set()

    def served(self, member: object) -> None:
        """The API server serves `member`. If it did not serve before, all waiting members are woken."""
        if member in self._failing:
            self._failing.discard(member)
            self._wake()

    def resign(self, member: object) -> None:
        """`member` fails for a reason of its own, or ends. If it was the scout, all waiting members are woken."""
        self._failing.discard(member)
        if self._scout is member:
            self._wake()

    def _wake(self) -> None:
        self._scout = None
        self._returned.set()
        self._returned = asyncio.Event()
        self.on_return()
