"""Makes limits of all replicas: reads what clients spent here, and charges what they spent elsewhere.

No I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

from balancer.model.limits import LimitScope, RateLimit
from balancer.model.publication import RoutingModel
from balancer.sharing.books import SharedLimits, number_of
from balancer.sharing.spending import Spent
from ingress.replicas.messages import SpentRow
from ingress.replicas.spending import ClientOfLimit, FleetSpending

TURN_SECONDS: Final = 0.5
"""How often clients are charged who are not new."""

# So many new clients are told of at once. Others come with the next regular message.
_NEW_MOST: Final = 256


class LimitSharing:
    """The limits that replicas share. `spent` is what clients spent here, `fresh` the part of those that are new."""

    __slots__ = ("_arrivals", "_at", "_books", "_limits", "_spending", "fresh", "spent")

    def __init__(self, books: SharedLimits) -> None:
        self._books = books
        self._limits: dict[int, RateLimit] = {}
        self._spending = FleetSpending()
        self._arrivals = books.arrivals()
        self._at: float | None = None
        self.spent: dict[ClientOfLimit, SpentRow] = {}
        self.fresh: dict[ClientOfLimit, SpentRow] = {}

    @property
    def is_used(self) -> bool:
        """Whether there are limits that replicas share."""
        return bool(self._limits)

    def follow(self, model: RoutingModel) -> None:
        """These limits are shared from now on."""
        self._limits = shared_limits(model)

    def hear(self, teller: str, news: Mapping[ClientOfLimit, tuple[int, int]]) -> None:
        """Takes what clients spent at another replica since its last message."""
        self._spending.hear(teller, {place: each for place, each in news.items() if place[0] in self._limits})

    def turn(self, now: float, *, others: int, counts: bool) -> None:
        """Charges what clients spent elsewhere, if it `counts`. `others` replicas are up."""
        self.fresh = {}
        self._books.weigh_new(1.0 + others if counts and self._limits else 1.0)
        if self._at is None or not self._limits:
            self._at = now
            self.spent = {}
            return
        arrivals = self._books.arrivals()
        if now - self._at < TURN_SECONDS and arrivals == self._arrivals and not self._spending.has_young:
            return
        elapsed = now - self._at
        self._at = now
        self._arrivals = arrivals
        if elapsed > 0.0:
            self._charge(elapsed, others if counts else 0, counts=counts)

    def _charge(self, elapsed: float, others: int, *, counts: bool) -> None:
        rows = [row for row in self._books.rows() if row.limit in self._limits]
        self.spent = _told(rows)
        self.fresh = _told(islice(self._spending.new_clients(rows), _NEW_MOST))
        charges = self._spending.turn(rows, elapsed, others=others)
        if not counts:
            for row in rows:
                if row.parts:
                    self._books.weigh(row.limit, row.key, 1.0)
            return
        for charge in charges:
            limit = self._limits.get(charge.limit)
            if limit is None or charge.factor is None:
                self._books.forget(charge.limit, charge.key)
                continue
            if charge.passed:
                self._books.charge(limit, charge.key, charge.passed)
            self._books.weigh(charge.limit, charge.key, charge.factor)


def shared_limits(model: RoutingModel) -> dict[int, RateLimit]:
    """The limits that replicas share, by their numbers."""
    gates = (
        gate for host in model.hosts for route in (*host.routes, host.default) if route for gate in route.all_gates
    )
    return {number_of(gate): gate for gate in gates if isinstance(gate, RateLimit) and gate.scope is LimitScope.FLEET}


def _told(rows: Iterable[Spent]) -> dict[ClientOfLimit, SpentRow]:
    return {(row.limit, row.key): SpentRow(row.limit, row.key, row.asked, row.passed) for row in rows}
