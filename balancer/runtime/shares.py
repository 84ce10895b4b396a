"""Divides a bound that protects a worker among the tenants who share it. No I/O, no clock."""

from __future__ import annotations


class FairShares:
    """The units (requests, bytes, threads) of one bound, and which tenant holds how many of them.

    A tenant may hold at most as many units as stay free. One greedy tenant therefore holds half of a bound, `n` greedy
    tenants hold 1 / (n + 1) of it each, and as much again stays free for every tenant who holds less. The rule needs
    neither a list of tenants nor a size for each of them (dynamic thresholds: Choudhury and Hahne, IEEE/ACM
    Transactions on Networking 6, 1998).

    A tenant is a namespace, or another key that its users agree on. `free` is the number of units that nobody holds.
    """

    __slots__ = ("_held", "free")

    def __init__(self, most: int) -> None:
        """`most` units can be held by all tenants together."""
        self._held: dict[str, int] = {}
        self.free = most

    def take(self, tenant: str, units: int = 1) -> bool:
        """Takes `units` for `tenant` if that is within its share. Returns whether they were taken."""
        if not self.has_room(tenant, units):
            return False
        self._held[tenant] = self._held.get(tenant, 0) + units
        self.free -= units
        return True

    def has_room(self, tenant: str, units: int = 1) -> bool:
        """Whether `take` would take `units` for `tenant`."""
        return self._held.get(tenant, 0) + units <= self.free - units

    def give_back(self, tenant: str, units: int = 1) -> None:
        """Frees `units` that `tenant` took before."""
        left = self._held[tenant] - units
        if left:
            self._held[tenant] = left
        else:
            del self._held[tenant]
        self.free += units

    def held(self, tenant: str) -> int:
        """How many units `tenant` holds."""
        return self._held.get(tenant, 0)
