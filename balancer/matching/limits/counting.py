"""Counts the requests of clients, by keys that nobody else can foresee, in both tables. No I/O.

An IPv6 client is counted by its network of 64 bits, because every host there can use all addresses of the network.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Final

from balancer.matching.addresses import Address
from balancer.matching.limits.flight_table import FlightTable, flight_table_bytes, vacate
from balancer.matching.limits.memory import Buffer, Guard
from balancer.matching.limits.rate_table import SET_BYTES, RateTable
from balancer.matching.limits.rates import Schedule

SECRET_BYTES: Final = 32
_KEY_BYTES: Final = 8
_HOST_BITS: Final = 64

# 262,144 entries with a due time in the future, 6 MiB. Pages that are never touched cost nothing.
_RATE_SETS: Final = 2**15
_RATES_AT: Final = 64
# 32,768 clients with requests in flight.
_FLIGHT_SETS: Final = 2**12
_FLIGHTS_AT: Final = _RATES_AT + _RATE_SETS * SET_BYTES


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

    __slots__ = ("_flights", "_now", "_rates", "_secret")

    def __init__(self, buffer: Buffer, *, seats: int, seat: int, guard: Guard, now: Callable[[], int]) -> None:
        """`now` tells nanoseconds on a clock that all workers share."""
        self._secret = bytes(buffer[:SECRET_BYTES])
        self._rates = RateTable(buffer, start=_RATES_AT, sets=_RATE_SETS, guard=guard)
        self._flights = FlightTable(
            buffer, start=_FLIGHTS_AT, sets=_FLIGHT_SETS, seats=seats, seat=seat, guard=_Beyond(guard, _RATE_SETS)
        )
        self._now = now

    def zone(self, name: str) -> Zone:
        """The clients that are counted under one name."""
        return Zone(name, self._secret, self._rates, self._flights, self._now)


class Zone:
    """The counts of one zone, such as all paths of an Ingress."""

    __slots__ = ("_flights", "_hash", "_now", "_rates")

    def __init__(
        self, name: str, secret: bytes, rates: RateTable, flights: FlightTable, now: Callable[[], int]
    ) -> None:
        self._hash = blake2b(name.encode() + b"\x00", digest_size=_KEY_BYTES, key=secret)
        self._rates, self._flights, self._now = rates, flights, now

    def may_pass(self, client: bytes, schedules: Sequence[Schedule]) -> bool:
        """Whether a request of `client` (`client_key`) passes under all of its one or two schedules; if so, it counts."""
        return self._rates.take(self._key(client), schedules, self._now())

    def enter(self, client: bytes, most: int) -> int | None:
        """Counts a request of `client` in flight; None if `most` are in flight already. `leave` takes the place back."""
        return self._flights.enter(self._key(client), most)

    def leave(self, place: int) -> None:
        """A request that `enter` counted is over."""
        self._flights.leave(place)

    def _key(self, client: bytes) -> int:
        keyed = self._hash.copy()
        keyed.update(client)
        return int.from_bytes(keyed.digest(), "little") or 1


def client_key(address: Address) -> bytes:
    """What stands for the client with an address: the address, of IPv6 the network."""
    version, number = address
    return b"%d" % number if version == 4 else b"%x:" % (number >> _HOST_BITS)


class _Beyond:
    """A guard for another table: its places come after those of the first one."""

    __slots__ = ("_first", "_guard")

    def __init__(self, guard: Guard, first: int) -> None:
        self._guard, self._first = guard, first

    def enter(self, place: int) -> None:
        self._guard.enter(self._first + place)

    def leave(self, place: int) -> None:
        self._guard.leave(self._first + place)
