"""Counts the requests of clients, by keys that nobody else can foresee, in the tables of the replica. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from balancer.model.limits import Rate
from balancer.sharing.flight_table import FlightTable
from balancer.sharing.rate_table import RateTable
from balancer.sharing.rates import Schedule, schedule_of
from balancer.sharing.spending import Spending

_KEY_BYTES: Final = 8
_KEYS_REMEMBERED: Final = 256  # of clients that ask again; a hash costs more than a rate


class CountingTables(NamedTuple):
    """Due times of rates by the second and of rates by the minute, and requests in flight."""

    seconds: RateTable
    minutes: RateTable
    flights: FlightTable
    spending: Spending


class Counting:
    """The counts of the replica as one process sees them."""

    __slots__ = ("_now", "_secret", "_tables")

    def __init__(self, tables: CountingTables, *, secret: bytes, now: Callable[[], int]) -> None:
        """`secret` makes the keys. `now` returns nanoseconds on a clock that all processes share."""
        self._tables = tables
        self._secret = secret
        self._now = now

    def rates(self, zone: str, rates: Iterable[Rate]) -> RateZone:
        """The clients that are counted under the name `zone`, with the rates at which their requests may pass."""
        tables = self._tables
        limits = [(tables.seconds if rate.seconds == 1 else tables.minutes, schedule_of(rate)) for rate in rates]
        return RateZone(self._keys(zone), limits, self._now)

    def fleet_rates(self, zone: str, rates: Iterable[Rate], *, number: int) -> FleetRateZone:
        """As `rates`, for a limit that replicas share: `number` is its number in all of them."""
        return FleetRateZone(self.rates(zone, rates), self._tables.spending, number)

    def flights(self, zone: str, most: int) -> FlightZone:
        """The clients that are counted under the name `zone`, of which each may have `most` requests in flight."""
        return FlightZone(self._keys(zone), self._tables.flights, most)

    def _keys(self, zone: str) -> Callable[[bytes], int]:
        begun = blake2b(zone.encode() + b"\x00", digest_size=_KEY_BYTES, key=self._secret)

        @lru_cache(maxsize=_KEYS_REMEMBERED)
        def key_of(client: bytes) -> int:
            hashed = begun.copy()
            hashed.update(client)
            return int.from_bytes(hashed.digest(), "little") or 1

        return key_of


class RateZone:
    """Clients whose requests are counted under one name, such as those of all paths of an Ingress."""

    __slots__ = ("_limits", "key_of", "now")

    def __init__(
        self, key_of: Callable[[bytes], int], limits: Sequence[tuple[RateTable, Schedule]], now: Callable[[], int]
    ) -> None:
        self.key_of = key_of
        self._limits = limits
        self.now = now

    def may_pass(self, client: bytes) -> bool:
        """Whether a request of `client` (`client_key`) passes at every rate. It counts at all of them or at none."""
        return self._passes(self.key_of(client), self._limits)

    def key_may_pass(self, key: int, factor: float) -> bool:
        """As `may_pass`, for the key of a client, whose request counts `factor` times."""
        if factor == 1.0:
            return self._passes(key, self._limits)
        return self._passes(
            key, [(table, each._replace(interval=round(each.interval * factor))) for table, each in self._limits]
        )

    def _passes(self, key: int, limits: Sequence[tuple[RateTable, Schedule]]) -> bool:
        now = self.now()
        for number, (table, schedule) in enumerate(limits):
            if not table.take(key, schedule, now):
                for taken, its_schedule in limits[:number]:
                    taken.give_back(key, its_schedule)
                return False
        return True


class FleetRateZone:
    """A `RateZone` whose clients are counted by several replicas, which tell each other what they let pass."""

    __slots__ = ("_number", "_spending", "_zone")

    def __init__(self, zone: RateZone, spending: Spending, number: int) -> None:
        self._zone = zone
        self._spending = spending
        self._number = number

    def may_pass(self, client: bytes) -> bool:
        """Whether a request of `client` passes at every rate, where it counts as often as others' requests demand."""
        key = self._zone.key_of(client)
        passes = self._zone.key_may_pass(key, self._spending.factor(self._number, key))
        self._spending.count(self._number, key, passed=passes, now=self._zone.now())
        return passes


class FlightZone:
    """Clients whose requests in flight are counted under one name."""

    __slots__ = ("_flights", "_key_of", "_most")

    def __init__(self, key_of: Callable[[bytes], int], flights: FlightTable, most: int) -> None:
        self._key_of = key_of
        self._flights = flights
        self._most = most

    def enter(self, client: bytes) -> int | None:
        """Counts a request of `client` and returns its place for `leave`; None if the most are in flight."""
        return self._flights.enter(self._key_of(client), self._most)

    def leave(self, place: int) -> None:
        """Removes the count of a request that `enter` counted. Call this when the request is over."""
        self._flights.leave(place)
