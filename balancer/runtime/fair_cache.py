"""Remembers values in bounded room that tenants share: whoever holds most of the room gives way. No I/O, no clock.

`shares.FairShares` cannot do this: values stay for as long as nobody needs their room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Hashable
from typing import Generic, TypeVar

_V = TypeVar("_V")

# Of the values of the tenant with the most, this part goes at once, so that tenants are rarely compared.
_PART = 16


class FairCache(Generic[_V]):
    """Values by tenant and key. Of one tenant those go first that were not used for the longest time.

    `n` tenants who want all of the room get the `n`-th part of it each, and a tenant who needs less keeps all of its
    values.
    """

    __slots__ = ("_held", "_left", "_values")

    def __init__(self, most: int) -> None:
        """All values together take at most `most` units."""
        self._left = most
        self._held: dict[str, int] = {}
        self._values: dict[str, OrderedDict[Hashable, tuple[_V, int]]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._values.values()))

    def get(self, tenant: str, key: Hashable) -> _V | None:
        """The value of `tenant` under `key`."""
        values = self._values.get(tenant)
        if values is None or (found := values.get(key)) is None:
            return None
        values.move_to_end(key)
        return found[0]

    def put(self, tenant: str, key: Hashable, value: _V, units: int = 1) -> None:
        """Keeps a value that takes `units`, in place of another under `key`. It may have to go at once."""
        self.drop(tenant, key)
        self._values.setdefault(tenant, OrderedDict())[key] = (value, units)
        self._held[tenant] = self._held.get(tenant, 0) + units
        self._left -= units
        while self._left < 0:
            self._make_room()

    def drop(self, tenant: str, key: Hashable) -> None:
        """Forgets a value, if it is known."""
        values = self._values.get(tenant)
        if values is not None and (found := values.pop(key, None)) is not None:
            self._free(tenant, found[1])

    def _make_room(self) -> None:
        most = max(self._held, key=self._held.__getitem__)
        values = self._values[most]
        for _ in range(len(values) // _PART or 1):
            self._free(most, values.popitem(last=False)[1][1])

    def _free(self, tenant: str, units: int) -> None:
        self._left += units
        self._held[tenant] -= units
        if not self._values[tenant]:
            del self._values[tenant], self._held[tenant]


class FairPart(Generic[_V]):
    """The values of one user of a cache that several share: tenants are divided in all of it, and keys meet nowhere."""

    __slots__ = ("_known", "_room")

    def __init__(self, room: FairCache[_V]) -> None:
        self._room = room
        self._known: dict[Hashable, str] = {}  # the tenant by key, also of values that had to go

    def get(self, tenant: str, key: Hashable) -> _V | None:
        """The value of `tenant` under `key`."""
        return self._room.get(tenant, (self, key))

    def put(self, tenant: str, key: Hashable, value: _V, units: int = 1) -> None:
        """As `FairCache.put`."""
        self._known[key] = tenant
        self._room.put(tenant, (self, key), value, units)

    def keys(self) -> Collection[Hashable]:
        """The keys that were put and not dropped."""
        return tuple(self._known)

    def drop(self, key: Hashable) -> None:
        """Forgets a value, if it is known."""
        tenant = self._known.pop(key, None)
        if tenant is not None:
            self._room.drop(tenant, (self, key))

    def clear(self) -> None:
        """Forgets every value of this user."""
        for key in self.keys():
            self.drop(key)
