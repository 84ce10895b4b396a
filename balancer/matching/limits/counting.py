"""Counts the requests of clients, by keys that nobody else can foresee, in both tables. No I/O.

An IPv6 client is counted by its network of 64 bits, because every host there can use all addresses of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final

from balancer.matching.addresses import Address, address_of
from balancer.matching.limits.flight_table import FlightTable, flight_table_bytes, vacate
from balancer.matching.limits.memory import Buffer, Guard
from balancer.matching.limits.rate_table import SET_BYTES, RateTable
from balancer.matching.limits.rates import Schedule, schedule_of
from balancer.model.limits import Rate

SECRET_BYTES: Final = 32
_KEY_BYTES: Final = 8
_KEYS_REMEMBERED: Final = 256  # of clients that ask again; a hash costs more than a rate
_HOST_BITS: Final = 64

# 262,144 entries with a due time in the future, 4 MiB. Pages that are never touched cost nothing.
_RATE_SETS: Final = 2**15
_TABLE_BYTES: Final = _RATE_SETS * SET_BYTES
# Rates by the minute have a table of their own, because their bursts last sixty times as long.
_SECONDS_AT: Final = 64
_MINUTES_AT: Final = _SECONDS_AT + _TABLE_BYTES
# 32,768 clients with requests in flight.
_FLIGHT_SETS: Final = 2**12
_FLIGHTS_AT: Final = _MINUTES_AT + _TABLE_BYTES


def memory_bytes(seats: int) -> int:
    """The size of the memory for `seats` processes."""
    return _FLIGHTS_AT + flight_table_bytes(sets=_FLIGHT_SETS, seats=seats)


def begin_memory(buffer: Buffer, secret: bytes) -> None:
    """Prepares zeroed memory; `secret` has `SECRET_BYTES` random bytes."""
    buffer[:SECRET_BYTES] = secret


def vacate_seat(buffer: Buffer, seat: int) -> None:
    """Drops what the process with `seat` counted in flight. The process must be gone."""
    vacate(buffer, _FLIGHTS_AT, seat)


class Counting:
    """The memory as one worker sees it."""

    __slots__ = ("_flights", "_minutes", "_now", "_seconds", "_secret")

    def __init__(self, buffer: Buffer, *, seats: int, seat: int, guard: Guard, now: Callable[[], int]) -> None:
        """`now` tells nanoseconds on a clock that all workers share."""
        self._secret, self._now = bytes(buffer[:SECRET_BYTES]), now
        self._seconds = RateTable(buffer, start=_SECONDS_AT, sets=_RATE_SETS, guard=guard)
        self._minutes = RateTable(buffer, start=_MINUTES_AT, sets=_RATE_SETS, guard=_Beyond(guard, _RATE_SETS))
        self._flights = FlightTable(
            buffer, start=_FLIGHTS_AT, sets=_FLIGHT_SETS, seats=seats, seat=seat, guard=_Beyond(guard, 2 * _RATE_SETS)
        )

    def rates(self, zone: str, rates: Iterable[Rate]) -> RateZone:
        """The clients that are counted under the name `zone`, with the rates at which their requests may pass."""
        limits = [(self._seconds if rate.seconds == 1 else self._minutes, schedule_of(rate)) for rate in rates]
        return RateZone(self._keys(zone), limits, self._now)

    def flights(self, zone: str, most: int) -> FlightZone:
        """The clients that are counted under the name `zone`, of which each may have `most` requests in flight."""
        return FlightZone(self._keys(zone), self._flights, most)

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

    __slots__ = ("_key_of", "_limits", "_now")

    def __init__(
        self, key_of: Callable[[bytes], int], limits: Sequence[tuple[RateTable, Schedule]], now: Callable[[], int]
    ) -> None:
        self._key_of, self._limits, self._now = key_of, limits, now

    def may_pass(self, client: bytes) -> bool:
        """Whether a request of `client` (`client_key`) passes at every rate. It counts at all of them or at none."""
        key, now = self._key_of(client), self._now()
        for number, (table, schedule) in enumerate(self._limits):
            if not table.take(key, schedule, now):
                for taken, its_schedule in self._limits[:number]:
                    taken.give_back(key, its_schedule)
                return False
        return True


class FlightZone:
    """Clients whose requests in flight are counted under one name."""

    __slots__ = ("_flights", "_key_of", "_most")

    def __init__(self, key_of: Callable[[bytes], int], flights: FlightTable, most: int) -> None:
        self._key_of, self._flights, self._most = key_of, flights, most

    def enter(self, client: bytes) -> int | None:
        """Counts a request of `client` and returns its place for `leave`; None if the most are in flight."""
        return self._flights.enter(self._key_of(client), self._most)

    def leave(self, place: int) -> None:
        """Removes the count of a request that `enter` counted. Call this when the request is over."""
        self._flights.leave(place)


def client_key(address: Address) -> bytes:
    """What stands for the client with an address: the address, of IPv6 the network."""
    version, number = address
    return b"%d" % number if version == 4 else b"%x:" % (number >> _HOST_BITS)


def peer_key(peer: str) -> bytes:
    """What stands for the client at the other end of a connection: `client_key`, or `peer` if that is no address."""
    address = address_of(peer)
    return peer.encode() if address is None else client_key(address)


class _Beyond:
    """A guard for another table: its places come after those of the first one."""

    __slots__ = ("_first", "_guard")

    def __init__(self, guard: Guard, first: int) -> None:
        self._guard, self._first = guard, first

    def enter(self, place: int) -> None:
        self._guard.enter(self._first + place)

    def leave(self, place: int) -> None:
        self._guard.leave(self._first + place)
