"""Decides how much of what clients spend at other replicas counts here, for limits that replicas share. No I/O.

Between two messages a replica expects that the others let pass in proportion to the requests that each of them gets:
one request here stands for `factor` requests in all. What the others have really let pass is compared with that, and
the difference is charged. So a limit holds on average whatever was expected, and no request waits for another replica.

Of a new client nobody knows what the others get. Each replica begins with its even part of the rate, so all of them
together let no more pass than the rate. As soon as the others had time to tell, what was withheld is given back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

import msgspec

from balancer.runtime.shares import FairShares
from balancer.sharing.spending import TENANT_SHIFT, Spent
from ingress.replicas.pace import RecentPace

YOUNG_SECONDS: Final = 0.5
"""For so long a client is new: others had no time to tell about it."""

TICK_SECONDS: Final = 0.1
"""How often to look for new clients."""

_FACTOR_MOST: Final = 64.0
# A client that nobody has seen for so long is forgotten.
_QUIET_SECONDS: Final = 10.0
_CLIENTS_MOST: Final = 8192
_SLOWEST: Final = 0.01
# A difference is balanced over so many seconds, and no more of it than passes in half a second.
_BALANCED_SECONDS: Final = 2.0
_BALANCE_SECONDS: Final = 0.5

ClientOfLimit = tuple[int, int]
"""The numbers of a limit and of one of its clients."""


class Charge(NamedTuple):
    """What follows for a client of a limit: so many requests passed elsewhere, beyond what was expected (negative: less
    did), and each request here stands for `factor` requests from now on. None: the client was quiet, and is new when it
    comes back.
    """

    limit: int
    key: int
    passed: float
    factor: float | None


class _LimitedClient(msgspec.Struct):
    """A client of a limit, as seen here and by others since the last turn. Rates are requests a second."""

    asked: int = 0  # totals here
    passed: int = 0
    others_asked: int = 0  # since the last turn
    others_passed: int = 0
    here: RecentPace = msgspec.field(default_factory=RecentPace)
    passing: RecentPace = msgspec.field(default_factory=RecentPace)
    others: RecentPace = msgspec.field(default_factory=RecentPace)
    factor: float = 1.0
    told_factor: float | None = None
    tellers: set[str] = msgspec.field(default_factory=set)  # of messages while it was new
    balance: float = 0.0  # requests of others that were not charged yet
    quiet_seconds: float = 0.0
    known_seconds: float = 0.0


class FleetSpending:
    """The clients of all limits that replicas share; each namespace holds as many of them as stay free."""

    __slots__ = ("_clients", "_shares")

    def __init__(self) -> None:
        self._clients: dict[ClientOfLimit, _LimitedClient] = {}
        self._shares = FairShares(_CLIENTS_MOST)

    @property
    def has_young(self) -> bool:
        """Whether a client is new."""
        return any(client.known_seconds < YOUNG_SECONDS for client in self._clients.values())

    def hear(self, teller: str, news: Mapping[ClientOfLimit, tuple[int, int]]) -> None:
        """Takes what the replica with the identity `teller` was asked and let pass since its last message."""
        for place, (asked, passed) in news.items():
            client = self._client(place)
            if client is not None:
                if client.known_seconds < YOUNG_SECONDS:
                    client.tellers.add(teller)
                client.others_asked += asked
                client.others_passed += passed

    def new_clients(self, own: Iterable[Spent]) -> list[Spent]:
        """The rows whose clients were not here at the last turn."""
        return [row for row in own if not ((known := self._clients.get((row.limit, row.key))) and known.asked)]

    def turn(self, own: Iterable[Spent], elapsed: float, *, others: int = 0) -> list[Charge]:
        """What follows after `elapsed` seconds more. `own` are the totals of clients that were here lately.

        `others` is the number of other replicas that are up.
        """
        even = min(1.0 + others, _FACTOR_MOST)
        rows = {(row.limit, row.key): row for row in own}
        for place in rows:
            self._client(place)
        charges = []
        for place, client in list(self._clients.items()):
            charge = _charge(place, client, rows.get(place), elapsed, even)
            if client.quiet_seconds > _QUIET_SECONDS:
                del self._clients[place]
                self._shares.give_back(_tenant(place))
                charge = Charge(*place, 0.0, None)
            if charge is not None:
                charges.append(charge)
        return charges

    def _client(self, place: ClientOfLimit) -> _LimitedClient | None:
        """A client, which may be new; None if its namespace has too many."""
        client = self._clients.get(place)
        if client is None and self._shares.take(_tenant(place)):
            client = _LimitedClient()
            self._clients[place] = client
        return client


def _tenant(place: ClientOfLimit) -> str:
    """Whose limit it is, as a key of shares."""
    return str(place[0] >> TENANT_SHIFT)


def _charge(
    place: ClientOfLimit, client: _LimitedClient, row: Spent | None, elapsed: float, even: float
) -> Charge | None:
    """`even` is the factor by which all replicas together let the rate pass if each gets as many requests."""
    asked, passed = _news(client, row)
    is_quiet = not asked and not client.others_asked
    client.quiet_seconds = client.quiet_seconds + elapsed if is_quiet else 0.0
    if not client.known_seconds:  # it came in the last tick
        elapsed = min(elapsed, TICK_SECONDS)
    was_young = client.known_seconds < YOUNG_SECONDS
    if was_young:
        client.factor = even
    client.known_seconds += elapsed
    client.here.take(asked, elapsed)
    client.passing.take(passed, elapsed)
    client.others.take(client.others_asked, elapsed)
    if not was_young and client.others.has_ended:
        client.others.rate = 0.0
    client.balance += client.others_passed - passed * (client.factor - 1.0)
    client.others_asked = 0
    client.others_passed = 0
    beyond = 0.0
    if client.known_seconds >= YOUNG_SECONDS:
        if was_young:  # the next messages of others will tell how much of that is true
            client.others.rate = client.here.rate * len(client.tellers)
        beyond = _beyond(client, was_young=was_young)
        client.factor = even if client.here.is_paused else _factor(client)
    if not beyond and client.factor == client.told_factor:
        return None
    client.told_factor = client.factor
    return Charge(*place, beyond, client.factor)


def _news(client: _LimitedClient, row: Spent | None) -> tuple[int, int]:
    """What was asked and let pass here since the last turn."""
    if row is None:
        return 0, 0
    asked, passed = row.asked - client.asked, row.passed - client.passed
    if asked < 0 or passed < 0:  # the row was taken over, and came back
        asked, passed = row.asked, row.passed
    client.asked = row.asked
    client.passed = row.passed
    return asked, passed


def _beyond(client: _LimitedClient, *, was_young: bool) -> float:
    """What is charged at once of what others let pass beyond what was expected.

    If nobody else knows a client that was new, all that was withheld is given back. If others know it, nobody let more
    pass than an even part of the rate, so nothing is owed. Later, a difference that was not expected at all is charged,
    and so is everything while no requests come here: a client who comes back finds here what is left of the rate.
    """
    beyond = 0.0
    is_expected = client.factor > 1.0 and not client.here.is_paused
    if client.others.rate < _SLOWEST or not (is_expected or was_young):
        beyond = client.balance
    if beyond or was_young:
        client.balance = 0.0
    return beyond


def _factor(client: _LimitedClient) -> float:
    """How many requests in all a request here stands for.

    What others let pass beyond what was expected makes requests dearer until it is balanced, and the other way round.
    It is never charged at once: an expectation from a few requests is as often too high as too low. What passes in one
    message's time is the most in the balance.
    """
    if client.others.rate < _SLOWEST:
        return 1.0
    factor = 1.0 + client.others.rate / max(client.here.rate, _SLOWEST)
    most = client.passing.rate * factor * _BALANCE_SECONDS
    client.balance = max(-most, min(client.balance, most))
    if client.passing.rate > _SLOWEST:
        factor += client.balance / (client.passing.rate * _BALANCED_SECONDS)
    return max(1.0, min(factor, _FACTOR_MOST))
