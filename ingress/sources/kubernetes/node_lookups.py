"""Decides which Nodes to ask the API server for, and when.

Endpoints name their nodes. An unknown node is looked up once, however many endpoints name it, and many unknown nodes
are looked up by one list. Times are arguments, in seconds of a monotonic clock. Does not know how a Node is fetched,
nor what its labels mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec

MISS_SECONDS = 30.0
"""How long a node that was not found is not asked for again."""

# A name that is used again after this time may belong to another machine, in another zone.
_REFRESH_SECONDS = 300.0
_GETS_AT_ONCE = 10
_GETS_PER_SECOND = 5.0

_Slice = tuple[str, str]


class Lookup(msgspec.Struct, frozen=True):
    """What to ask for now: each of `names`, or with `everything` one list of all Nodes."""

    names: tuple[str, ...] = ()
    everything: bool = False


class NodeLookups:
    """Knows which nodes the slices name, which of these are known, and which to ask for."""

    __slots__ = ("_due", "_known_at", "_missed_until", "_named_by", "_names_of", "_tokens", "_tokens_at")

    def __init__(self) -> None:
        self._names_of: dict[_Slice, frozenset[str]] = {}
        self._named_by: dict[str, int] = {}
        self._known_at: dict[str, float] = {}
        self._missed_until: dict[str, float] = {}
        self._due: set[str] = set()
        self._tokens = float(_GETS_AT_ONCE)
        self._tokens_at = 0.0

    def name(self, item: _Slice, names: Collection[str], *, now: float) -> bool:
        """Notes the nodes that the endpoints of a slice name at `now`; none for a slice that is gone.

        Returns whether other nodes than before are named.
        """
        before, after = self._names_of.get(item, frozenset()), frozenset(names)
        if before == after:
            return False
        self._names_of.pop(item, None)
        if after:
            self._names_of[item] = after
        for name in before - after:
            self._count(name, -1)
        for name in after - before:
            self._count(name, 1)
            if self._named_by[name] == 1 and self._is_stale(name, now):
                self._due.add(name)
        return True

    def found(self, names: Iterable[str], *, now: float) -> None:
        """Notes that these nodes are known as of `now`."""
        for name in names:
            self._known_at[name] = now
            self._missed_until.pop(name, None)
            self._due.discard(name)

    def missed(self, names: Iterable[str], *, now: float) -> None:
        """Notes that these nodes were not found or could not be asked for. They are not asked for again for a while."""
        for name in names:
            self._missed_until[name] = now + MISS_SECONDS

    def listed(self, names: Collection[str], *, now: float) -> None:
        """Takes the names in a list of all nodes; none if the list failed. Other due nodes were missed."""
        self.found(names, now=now)
        self.missed(self._due - set(names), now=now)

    def take(self, now: float) -> Lookup | None:
        """What to ask for now, or None. Report the result with `found`, `missed` or `listed`."""
        self._forgive(now)
        ready = sorted(name for name in self._due if name not in self._missed_until)
        self._tokens = min(_GETS_AT_ONCE, self._tokens + (now - self._tokens_at) * _GETS_PER_SECOND)
        self._tokens_at = now
        if not ready or self._tokens < 1:
            return None
        if len(ready) > _GETS_AT_ONCE:
            self._tokens -= 1
            return Lookup(everything=True)
        names = tuple(ready[: int(self._tokens)])
        self._tokens -= len(names)
        return Lookup(names=names)

    def wake_at(self, now: float) -> float | None:
        """When to call `take` again if no other method is called before. None: not before such a call."""
        if not self._due:
            return None
        if any(name not in self._missed_until for name in self._due):
            return now + max(0.0, (1 - self._tokens) / _GETS_PER_SECOND)
        return min(self._missed_until[name] for name in self._due)

    def _is_stale(self, name: str, now: float) -> bool:
        known_at = self._known_at.get(name)
        return known_at is None or now - known_at > _REFRESH_SECONDS

    def _count(self, name: str, change: int) -> None:
        self._named_by[name] = self._named_by.get(name, 0) + change
        if not self._named_by[name]:
            del self._named_by[name]
            self._due.discard(name)

    def _forgive(self, now: float) -> None:
        for name in [name for name, until in self._missed_until.items() if until <= now]:
            del self._missed_until[name]
