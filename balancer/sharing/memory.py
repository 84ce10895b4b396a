"""Makes the memory that the processes of one replica share, and gives each process a seat in it."""

from __future__ import annotations

import mmap
import os
import time
from contextlib import suppress
from typing import Final, NamedTuple

from balancer.sharing.counting import Counting
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import (
    SECRET_BYTES,
    AmongReplicas,
    begin_memory,
    counting_in,
    limits_in,
    memory_bytes,
    others_in,
    relays_in,
    vacate_seat,
)
from balancer.sharing.locks import RangeLocks
from balancer.sharing.peers import Others

# A place may have several workers that drain, beside the one that serves.
_SEATS_A_WORKER: Final = 4
_ALONE_SEATS: Final = 2


class Seat(NamedTuple):
    """The seat of one process: the descriptor of the memory, how many seats it has, and which one this is."""

    descriptor: int
    seats: int
    number: int


class SharedMemory:
    """The memory of all workers, as their parent has it."""

    __slots__ = ("_descriptor", "_free", "_memory", "_seats")

    def __init__(self, workers: int, *, secret: bytes | None = None) -> None:
        """`secret` of `SECRET_BYTES` makes the keys of clients; None: a random one. Raises OSError without memory."""
        self._seats = _SEATS_A_WORKER * (workers + 1) + 1
        self._free = list(range(self._seats - 1))  # the last one is that of the parent
        self._descriptor = os.memfd_create("zonal-shared", os.MFD_CLOEXEC)
        try:
            size = memory_bytes(self._seats)
            os.ftruncate(self._descriptor, size)
            self._memory = mmap.mmap(self._descriptor, size)
        except BaseException:
            os.close(self._descriptor)
            raise
        begin_memory(self._memory, secret if secret is not None else os.urandom(SECRET_BYTES))

    def take(self) -> Seat:
        """A seat for a new process. Raises OSError if none is free."""
        if not self._free:
            raise OSError("too many workers are draining")
        return Seat(self._descriptor, self._seats, self._free.pop())

    def give_back(self, seat: Seat) -> None:
        """Drops what a process wrote that has ended, and frees its seat. After `close` nothing happens."""
        if self._memory.closed:
            return
        vacate_seat(self._memory, seats=self._seats, seat=seat.number)
        self._free.append(seat.number)

    def among_replicas(self) -> AmongReplicas:
        """What replicas share."""
        guard = RangeLocks(self._descriptor)
        return AmongReplicas(
            limits_in(self._memory, seats=self._seats, guard=guard, now=time.monotonic_ns),
            relays_in(self._memory, seats=self._seats, seat=self._seats - 1),
        )

    def close(self) -> None:
        """Closes the memory, unless rows of it are in use still. Workers that map it are not affected."""
        with suppress(BufferError):
            self._memory.close()
        os.close(self._descriptor)


class Joined(NamedTuple):
    """The memory of the replica as the process of one seat uses it."""

    counting: Counting
    others: Others


def join(seat: Seat) -> Joined:
    """The shared memory from `seat`, whose descriptor this process has inherited. Raises OSError or ValueError."""
    memory = mmap.mmap(seat.descriptor, memory_bytes(seat.seats))
    guard = RangeLocks(seat.descriptor)
    return Joined(
        counting_in(memory, seats=seat.seats, seat=seat.number, guard=guard, now=time.monotonic_ns),
        others_in(memory, seats=seat.seats, seat=seat.number),
    )


class Alone(NamedTuple):
    """The memory of one process that serves and is the control process as well, with a seat for each of both."""

    counting: Counting
    others: Others
    among_replicas: AmongReplicas


def alone(*, secret: bytes | None = None) -> Alone:
    """Memory that no other process shares; `secret` is that of `SharedMemory`."""
    memory = mmap.mmap(-1, memory_bytes(_ALONE_SEATS))
    begin_memory(memory, secret if secret is not None else os.urandom(SECRET_BYTES))
    guard, now = Unguarded(), time.monotonic_ns
    return Alone(
        counting_in(memory, seats=_ALONE_SEATS, seat=0, guard=guard, now=now),
        others_in(memory, seats=_ALONE_SEATS, seat=0),
        AmongReplicas(
            limits_in(memory, seats=_ALONE_SEATS, guard=guard, now=now),
            relays_in(memory, seats=_ALONE_SEATS, seat=1),
        ),
    )
