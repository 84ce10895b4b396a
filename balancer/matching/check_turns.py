"""Whose password check is next, and whose verdicts are remembered: tenants take turns, and so do the paths of each.

No I/O, no threads, no clock.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, deque
from collections.abc import Hashable
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """A check that may wait for its turn."""

    @property
    def asker(self) -> Hashable:
        """The path that asks."""

    @property
    def tenant(self) -> str:
        """The namespace that the check counts for."""


_Check = TypeVar("_Check", bound=Queued)


class CheckTurns(Generic[_Check]):
    """The checks that wait for a free thread, of which there are `at_once`. A tenant gets all but one of them."""

    __slots__ = ("_most", "_queues", "_running", "_running_of")

    def __init__(self, at_once: int) -> None:
        self._most = at_once
        self._running = 0
        self._running_of = Counter[str]()
        self._queues: OrderedDict[str, OrderedDict[Hashable, deque[_Check]]] = OrderedDict()

    def add(self, check: _Check) -> None:
        """`check` waits, behind those of its asker."""
        self._queues.setdefault(check.tenant, OrderedDict()).setdefault(check.asker, deque()).append(check)

    def remove(self, check: _Check) -> None:
        """`check` does not wait any more, and does not run."""
        self._queues[check.tenant][check.asker].remove(check)
        self._tidy(check)

    def take(self) -> _Check | None:
        """The check that runs now: the oldest of the path whose turn it is. None if there is none, or no thread."""
        of_one = max(1, self._most - 1)
        if self._running >= self._most:
            return None
        tenant = next((each for each in self._queues if self._running_of[each] < of_one), None)
        if tenant is None:
            return None
        paths = self._queues[tenant]
        asker, queue = next(iter(paths.items()))
        check = queue.popleft()
        self._queues.move_to_end(tenant)
        paths.move_to_end(asker)
        self._tidy(check)
        self._running += 1
        self._running_of[tenant] += 1
        return check

    def ended(self, check: _Check) -> None:
        """`check` runs no more."""
        self._running -= 1
        self._running_of[check.tenant] -= 1
        if not self._running_of[check.tenant]:
            del self._running_of[check.tenant]

    def _tidy(self, check: _Check) -> None:
        paths = self._queues[check.tenant]
        if not paths[check.asker]:
            del paths[check.asker]
        if not paths:
            del self._queues[check.tenant]


class Remembered:
    """At most so many names, by tenant. The tenant with the most names loses the one that was used longest ago."""

    __slots__ = ("_by_tenant", "_count", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._count = 0
        self._by_tenant: dict[str, OrderedDict[bytes, None]] = {}

    def knows(self, tenant: str, name: bytes) -> bool:
        """Whether `name` is remembered for `tenant`, which uses it now."""
        names = self._by_tenant.get(tenant)
        if names is None or name not in names:
            return False
        names.move_to_end(name)
        return True

    def add(self, tenant: str, name: bytes) -> None:
        """Remembers a name that is not remembered yet."""
        self._by_tenant.setdefault(tenant, OrderedDict())[name] = None
        self._count += 1
        if self._count > self._most:
            loser = max(self._by_tenant, key=lambda each: len(self._by_tenant[each]))
            self._by_tenant[loser].popitem(last=False)
            self._count -= 1
            if not self._by_tenant[loser]:
                del self._by_tenant[loser]
