"""Says where each table lies in the memory that the processes of one replica share. No I/O.

The memory begins with the secret of its keys. Then come the tables of due times, the totals of what passed, what
workers tell each other of load (`adaptive`) and of failures in zones, and the requests in flight. Pages that are never
touched cost nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import Final, NamedTuple

from balancer.sharing.books import SharedLimits
from balancer.sharing.counting import Counting, CountingTables
from balancer.sharing.flight_table import FlightTable, flight_table_bytes, vacate_flights
from balancer.sharing.guards import Beyond, Buffer, Guard
from balancer.sharing.peer_table import PEER_ROWS, PeerTable
from balancer.sharing.peers import Others
from balancer.sharing.rate_table import SET_BYTES, RateTable
from balancer.sharing.relay import RowRelay
from balancer.sharing.rows import vacate_rows
from balancer.sharing.spending import SPENDING_BYTES, Spending
from balancer.sharing.zone_peers import PLACES
from balancer.sharing.zone_table import ZONE_ROWS, ZoneTable

SECRET_BYTES: Final = 32


class RowRelays(NamedTuple):
    """Carries what workers tell each other of load (`adaptive`), and of failures in zones, between replicas."""

    loads: RowRelay
    zones: RowRelay


class AmongReplicas(NamedTuple):
    """What replicas share: limits, and what carries rows of workers between them. For the control process."""

    limits: SharedLimits
    relays: RowRelays


_TABLES_AT: Final = 64
# 262,144 entries with a due time in the future, 4 MiB.
_RATE_SETS: Final = 2**15
# Rates by the minute have a table of their own, because their bursts last sixty times as long.
_MINUTES_AT: Final = _TABLES_AT + _RATE_SETS * SET_BYTES
_SPENDING_AT: Final = _MINUTES_AT + _RATE_SETS * SET_BYTES
_PEERS_AT: Final = _SPENDING_AT + SPENDING_BYTES
# 32,768 clients with requests in flight.
_FLIGHT_SETS: Final = 2**12
_CLIENTS_REMEMBERED: Final = 256  # whose place was asked for; a hash costs more


def memory_bytes(seats: int) -> int:
    """The size of the memory for `seats` processes."""
    return _flights_at(seats) + flight_table_bytes(sets=_FLIGHT_SETS, seats=seats)


def begin_memory(buffer: Buffer, secret: bytes) -> None:
    """Prepares zeroed memory. `secret` has `SECRET_BYTES`, which nobody outside can guess."""
    if len(secret) != SECRET_BYTES:
        raise ValueError("a secret has 32 bytes")
    buffer[:SECRET_BYTES] = secret


def vacate_seat(buffer: Buffer, *, seats: int, seat: int) -> None:
    """Drops what the process with `seat` counted in flight and told its peers. The process must be gone."""
    vacate_flights(buffer, _flights_at(seats), seat)
    vacate_rows(buffer, PEER_ROWS, start=_PEERS_AT, seats=seats, seat=seat)
    vacate_rows(buffer, ZONE_ROWS, start=_zones_at(seats), seats=seats, seat=seat)


def counting_in(buffer: Buffer, *, seats: int, seat: int, guard: Guard, now: Callable[[], int]) -> Counting:
    """The counts of clients as the process with `seat` sees them. `now`: nanoseconds on a clock that all share."""
    tables = _tables_in(buffer, seats=seats, seat=seat, guard=guard)
    return Counting(tables, secret=bytes(buffer[:SECRET_BYTES]), now=now)


def limits_in(buffer: Buffer, *, seats: int, guard: Guard, now: Callable[[], int]) -> SharedLimits:
    """The limits that replicas share, as the control process sees them; `now` as for the counts of clients."""
    tables = _tables_in(buffer, seats=seats, seat=0, guard=guard)
    return SharedLimits(tables, tables.spending, now=now)


def _tables_in(buffer: Buffer, *, seats: int, seat: int, guard: Guard) -> CountingTables:
    return CountingTables(
        seconds=RateTable(buffer, start=_TABLES_AT, sets=_RATE_SETS, guard=guard),
        minutes=RateTable(buffer, start=_MINUTES_AT, sets=_RATE_SETS, guard=Beyond(guard, _RATE_SETS)),
        flights=FlightTable(
            buffer,
            start=_flights_at(seats),
            sets=_FLIGHT_SETS,
            seats=seats,
            seat=seat,
            guard=Beyond(guard, 2 * _RATE_SETS),
        ),
        spending=Spending(buffer, start=_SPENDING_AT, guard=Beyond(guard, 2 * _RATE_SETS + _FLIGHT_SETS)),
    )


def others_in(buffer: Buffer, *, seats: int, seat: int) -> Others:
    """What the other processes know of backends and zones, as the process with `seat` sees it."""
    secret = bytes(buffer[:SECRET_BYTES])

    @lru_cache(maxsize=_CLIENTS_REMEMBERED)
    def place_of(client: bytes) -> int:
        return blake2b(client, digest_size=1, key=secret).digest()[0] % PLACES

    return Others(
        PeerTable(buffer, start=_PEERS_AT, seats=seats, seat=seat, secret=secret).peers,
        ZoneTable(buffer, start=_zones_at(seats), seats=seats, seat=seat, secret=secret).peers,
        place_of,
    )


def relays_in(buffer: Buffer, *, seats: int, seat: int) -> RowRelays:
    """What carries rows to and from other replicas, for the control process, which has `seat`."""
    secret = bytes(buffer[:SECRET_BYTES])
    return RowRelays(
        PeerTable(buffer, start=_PEERS_AT, seats=seats, seat=seat, secret=secret).relay(),
        ZoneTable(buffer, start=_zones_at(seats), seats=seats, seat=seat, secret=secret).relay(),
    )


def _zones_at(seats: int) -> int:
    return _PEERS_AT + PEER_ROWS.table_bytes(seats)


def _flights_at(seats: int) -> int:
    return _zones_at(seats) + ZONE_ROWS.table_bytes(seats)
