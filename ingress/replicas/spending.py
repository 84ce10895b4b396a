"""Decides how much of what clients spend at other replicas counts here, for limits that replicas share. No I/O.

Between two messages a replica expects that the others let pass in proportion to the requests that each of them gets:
one request here stands for `factor` requests in all. What the others have really let pass is compared with that, and
the difference is charged. So a limit holds on average whatever was expected, and no request waits for another replica.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from balancer.sharing.spending import Spent

# Rates are averaged over so many seconds: messages come in steps of half a second.
_RATE_SECONDS: Final = 2.0
_FACTOR_MOST: Final = 64.0
# A client that nobody has seen for so long is forgotten.
_QUIET_SECONDS: Final = 10.0
_CLIENTS_MOST: Final = 8192
_SLOWEST: Final = 0.01
_PART_A_TURN: Final = 0.1

ClientOfLimit = tuple[int, int]
"""The numbers of a limit and of one of its clients."""


class Charge(NamedTuple):
    """What follows for a client of a limit: so many requests passed elsewhere, beyond what was expected (negative: less
    did), and each request here stands for `factor` requests from now on.
    """

    limit: int
    key: int
    passed: float
    factor: float


class _LimitedClient:
    """A client of a limit, as seen here and by others since the last turn."""

    __slots__ = (
        "asked",
        "balance",
        "factor",
        "here",
        "others",
        "others_asked",
        "others_passed",
        "passed",
        "quiet_seconds",
    )

    def __init__(self) -> None:
        self.asked = 0  # here, in all
        self.passed = 0  # here, in all
        self.others_asked = 0  # since the last turn
        self.others_passed = 0  # since the last turn
        self.here = 0.0  # requests a second
        self.others = 0.0  # requests a second
        self.factor = 1.0
        self.balance = 0.0  # requests of others that were not charged yet
        self.quiet_seconds = 0.0


class FleetSpending:
    """The clients of all limits that replicas share."""

    __slots__ = ("_clients",)

    def __init__(self) -> None:
        self._clients: dict[ClientOfLimit, _LimitedClient] = {}

    def hear(self, news: Mapping[ClientOfLimit, tuple[int, int]]) -> None:
        """Takes what another replica was asked and let pass since its last message."""
        for place, (asked, passed) in news.items():
            client = self._clients.get(place)
            if client is None:
                if len(self._clients) >= _CLIENTS_MOST:
                    continue
                client = self._clients[place] = _LimitedClient()
            client.others_asked += asked
            client.others_passed += passed

    def turn(self, own: Iterable[Spent], elapsed: float) -> list[Charge]:
        """What follows after `elapsed` seconds more. `own` are the totals of clients that were here lately."""
        rows = {(row.limit, row.key): row for row in own}
        for place in rows.keys() - self._clients.keys():
            if len(self._clients) < _CLIENTS_MOST:
                self._clients[place] = _LimitedClient()
        weight = -math.expm1(-elapsed / _RATE_SECONDS)
        charges = []
        for place, client in list(self._clients.items()):
            charge = _charge(place, client, rows.get(place), elapsed, weight)
            if client.quiet_seconds > _QUIET_SECONDS:
                del self._clients[place]
                charge = Charge(*place, 0.0, 1.0)
            if charge is not None:
                charges.append(charge)
        return charges


def _charge(
    place: ClientOfLimit, client: _LimitedClient, row: Spent | None, elapsed: float, weight: float
) -> Charge | None:
    asked, passed = (0, 0) if row is None else (row.asked - client.asked, row.passed - client.passed)
    if row is not None:
        if asked < 0 or passed < 0:  # the row was taken over, and came back
            asked, passed = row.asked, row.passed
        client.asked = row.asked
        client.passed = row.passed
    client.here += weight * (asked / elapsed - client.here)
    client.others += weight * (client.others_asked / elapsed - client.others)
    is_quiet = not asked and not client.others_asked
    client.quiet_seconds = client.quiet_seconds + elapsed if is_quiet else 0.0
    beyond = _beyond(client, passed)
    client.others_asked = 0
    client.others_passed = 0
    before = client.factor
    client.factor = _factor(client)
    if not beyond and client.factor == before:
        return None
    return Charge(*place, beyond, client.factor)


def _beyond(client: _LimitedClient, passed: int) -> float:
    """What is charged now of what others let pass beyond what was expected, as `passed` requests passed here.

    A difference that was not expected at all is charged at once. Others are charged in parts, because an expectation
    from a few requests is as often too high as too low. No more than one turn is ever in the balance, so what was let
    pass before replicas knew of each other is soon forgotten.
    """
    difference = client.others_passed - passed * (client.factor - 1.0)
    if client.factor == 1.0:
        return difference
    most = passed * client.factor
    client.balance = max(-most, min(client.balance + difference, most))
    charged = client.balance * _PART_A_TURN
    client.balance -= charged
    return charged


def _factor(client: _LimitedClient) -> float:
    """How many requests in all a request here stands for."""
    if client.others < _SLOWEST:
        return 1.0
    return min(1.0 + client.others / max(client.here, _SLOWEST), _FACTOR_MOST)
