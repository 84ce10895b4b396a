"""The counter tables of worker processes: which is whose, and which may be used again.

Two processes must never write the same table, and no table is ever forgotten: what is counted in it goes on counting.
It must not know what a table holds.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

from balancer.metrics.slots import TABLE_BYTES, Buffer


class Table(NamedTuple):
    """Memory that another process can map by its descriptor, which it inherits."""

    descriptor: int
    memory: mmap.mmap


class Tables:
    """As many tables as there were ever processes at the same time."""

    __slots__ = ("_all", "_free")

    def __init__(self) -> None:
        self._all: list[Table] = []
        self._free: list[Table] = []

    def take(self) -> Table:
        """A table that no process writes: one left behind, or a new one. Raises OSError where there is no more."""
        if self._free:
            return self._free.pop()
        descriptor = os.memfd_create("zonal-counters", os.MFD_CLOEXEC)
        try:
            os.ftruncate(descriptor, TABLE_BYTES)  # pages that are never touched cost nothing
            table = Table(descriptor, mmap.mmap(descriptor, TABLE_BYTES))
        except BaseException:
            os.close(descriptor)
            raise
        self._all.append(table)
        return table

    def give_back(self, table: Table) -> None:
        """Its process has ended."""
        self._free.append(table)

    def buffers(self) -> Sequence[Buffer]:
        """All tables, in use or left behind."""
        return [table.memory for table in self._all]

    def close(self) -> None:
        """Give up every table; its memory stays for whoever still maps it, or adds it up at this moment."""
        for table in self._all:
            os.close(table.descriptor)
        self._all.clear()
        self._free.clear()
