"""Makes the memory in which workers tell each other what `adaptive` sees, and opens it in a worker.

Without this memory each worker learns alone, so no failure here stops anything.
"""

from __future__ import annotations

import logging
import mmap
import os
from typing import Final

from balancer.workers.limit_memory import LimitSeat
from balancer.zones.peer_table import PeerTable, table_bytes, vacate
from balancer.zones.peers import PeersOf, alone

_LOG = logging.getLogger(__name__)

NO_MEMORY: Final = -1
"""The descriptor of memory that could not be had."""


class PeerMemory:
    """The memory of all workers, as their parent has it. Its seats are those of the limits."""

    __slots__ = ("_memory", "_seats", "descriptor")

    def __init__(self, seats: int) -> None:
        """`descriptor` is `NO_MEMORY` if there is no memory."""
        self.descriptor, self._seats = NO_MEMORY, seats
        self._memory: mmap.mmap | None = None
        try:
            self.descriptor = os.memfd_create("zonal-peers", os.MFD_CLOEXEC)
            os.ftruncate(self.descriptor, table_bytes(seats))
            self._memory = mmap.mmap(self.descriptor, table_bytes(seats))
        except OSError as error:
            _LOG.warning("every worker learns alone for adaptive, without shared memory: %s", error.strerror)
            self.close()

    def give_back(self, seat: LimitSeat) -> None:
        """The process of `seat` has ended, and another one may get the seat. After `close` nothing happens."""
        if self._memory is not None:
            vacate(self._memory, seats=self._seats, seat=seat.number)

    def close(self) -> None:
        """Closes the memory. Workers that still map it are not affected."""
        if self._memory is not None:
            self._memory.close()
            self._memory = None
        if self.descriptor != NO_MEMORY:
            os.close(self.descriptor)
            self.descriptor = NO_MEMORY


def peers_of(descriptor: int, seat: LimitSeat) -> PeersOf:
    """The peers of this process's controllers, from its seat; nobody if the memory cannot be had."""
    if descriptor == NO_MEMORY:
        return alone
    try:
        memory = mmap.mmap(descriptor, table_bytes(seat.seats))
        return PeerTable(memory, seats=seat.seats, seat=seat.number).peers
    except (OSError, ValueError) as error:
        _LOG.warning("this worker learns alone for adaptive, without shared memory: %s", error)
        return alone
