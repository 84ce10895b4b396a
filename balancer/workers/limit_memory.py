"""Makes the memory in which workers count requests together, and gives each process a seat in it.

Processes lock single bytes of the file with record locks (fcntl(2)), one for each set of a table. The kernel releases
them with the process, so a killed worker delays no other. A lock is held for microseconds. A worker that cannot
get one soon counts without it, because another process may have been stopped while it held the lock.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import time
from contextlib import suppress
from typing import Final, NamedTuple

from balancer.matching.limits.counting import SECRET_BYTES, Counting, begin_memory, memory_bytes, vacate_seat
from balancer.matching.limits.memory import Unguarded

# A thousand times as long as a lock is held; a holder that lost its processor usually has it back by then.
_PATIENCE_NS: Final = 3_000_000
# A place may have several workers that drain, beside the one that serves.
_SEATS_A_WORKER: Final = 4


class LimitSeat(NamedTuple):
    """The seat of one process: the descriptor of the memory, how many seats it has, and which one this is."""

    descriptor: int
    seats: int
    number: int


class LimitMemory:
    """The memory of all workers, as their parent has it."""

    __slots__ = ("_descriptor", "_free", "_memory", "seats")

    def __init__(self, workers: int) -> None:
        """Raises OSError if there is no memory."""
        self.seats = _SEATS_A_WORKER * (workers + 1)
        self._free = list(range(self.seats))
        self._descriptor = os.memfd_create("zonal-limits", os.MFD_CLOEXEC)
        try:
            size = memory_bytes(self.seats)
            os.ftruncate(self._descriptor, size)  # pages that are never touched cost nothing
            self._memory = mmap.mmap(self._descriptor, size)
        except BaseException:
            os.close(self._descriptor)
            raise
        begin_memory(self._memory, os.urandom(SECRET_BYTES))

    def take(self) -> LimitSeat:
        """A seat for a new process. Raises OSError if none is free."""
        if not self._free:
            raise OSError("too many workers are draining")
        return LimitSeat(self._descriptor, self.seats, self._free.pop())

    def give_back(self, seat: LimitSeat) -> None:
        """Its process has ended: what it counted in flight is dropped. After `close` nothing happens."""
        if self._memory.closed:
            return
        vacate_seat(self._memory, seat.number)
        self._free.append(seat.number)

    def close(self) -> None:
        """Closes the memory. Workers that still map it are not affected."""
        self._memory.close()
        os.close(self._descriptor)


def counting_of(seat: LimitSeat) -> Counting:
    """The counts of the replica, from the seat of this process, which has inherited the descriptor."""
    memory = mmap.mmap(seat.descriptor, memory_bytes(seat.seats))
    guard = RangeLocks(seat.descriptor)
    return Counting(memory, seats=seat.seats, seat=seat.number, guard=guard, now=time.monotonic_ns)


def counting_alone() -> Counting:
    """Counts that no other process shares."""
    memory = mmap.mmap(-1, memory_bytes(1))
    begin_memory(memory, os.urandom(SECRET_BYTES))
    return Counting(memory, seats=1, seat=0, guard=Unguarded(), now=time.monotonic_ns)


class RangeLocks:
    """A guard of record locks on a file that other processes have, too. One thread of a process uses it."""

    __slots__ = ("_descriptor",)

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def enter(self, place: int) -> None:
        """Locks the byte `place`, or gives up."""
        until = 0
        while True:
            try:
                fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
                return
            except OSError:  # another process has the lock, or the system has no more locks
                now = time.monotonic_ns()
                until = until or now + _PATIENCE_NS
                if now > until:
                    return
                os.sched_yield()

    def leave(self, place: int) -> None:
        """Unlocks it, also if it was not locked."""
        with suppress(OSError):
            fcntl.lockf(self._descriptor, fcntl.LOCK_UN, 1, place)
