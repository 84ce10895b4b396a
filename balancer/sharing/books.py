"""The limits that replicas share, as the control process of a replica reads and charges them. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Final

from balancer.model.limits import RateLimit
from balancer.sharing.counting import CountingTables
from balancer.sharing.rates import schedule_of
from balancer.sharing.spending import TENANT_SHIFT, Spending, Spent

_NUMBER_BYTES: Final = 8
_SECOND_NS: Final = 1_000_000_000
# The debt of what passed elsewhere refuses requests for no longer than this beyond the rate itself.
_DEBT_NS: Final = _SECOND_NS // 2
# Rows of clients that came within this time are told.
_LATELY_NS: Final = 10 * _SECOND_NS


def number_of(limit: RateLimit) -> int:
    """The number of a limit: the same in every replica, and another one after a change of the rates.

    Its upper bits (`TENANT_SHIFT`) are those of all limits of one namespace, with which the zone begins.
    """
    tenant, own = _hashed(limit.zone.partition("/")[0]), _hashed(f"{limit.zone}\x00{limit.rates!r}")
    return (tenant >> TENANT_SHIFT << TENANT_SHIFT | own & ((1 << TENANT_SHIFT) - 1)) or 1


def _hashed(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=_NUMBER_BYTES).digest(), "little")


class SharedLimits:
    """The totals of clients, and their due times."""

    __slots__ = ("_now", "_spending", "_tables")

    def __init__(self, tables: CountingTables, spending: Spending, *, now: Callable[[], int]) -> None:
        """`now`: nanoseconds on the clock of the workers."""
        self._tables = tables
        self._spending = spending
        self._now = now

    def rows(self) -> Iterator[Spent]:
        """The totals of clients that came lately."""
        return self._spending.rows(max(0, self._now() - _LATELY_NS))

    def charge(self, limit: RateLimit, key: int, passed: float) -> None:
        """Counts requests of a client that passed elsewhere; fewer than 0 are given back."""
        for rate in limit.rates:
            table = self._tables.seconds if rate.seconds == 1 else self._tables.minutes
            table.charge(key, schedule_of(rate), passed, self._now(), ahead=_DEBT_NS)

    def arrivals(self) -> int:
        """A number that changes when a client is new."""
        return self._spending.arrivals()

    def weigh_new(self, factor: float) -> None:
        """From now on each request of a client that was never weighed counts `factor` times."""
        self._spending.weigh_new(factor)

    def forget(self, limit: int, key: int) -> None:
        """A client that was quiet everywhere is new when it comes back."""
        self._spending.forget(limit, key)

    def weigh(self, limit: int, key: int, factor: float) -> None:
        """From now on each request of a client counts `factor` times."""
        self._spending.weigh(limit, key, factor)
