"""Keeps the counter tables of worker processes: which process has which table, and which table may be used again.

Two processes must never write the same table. No table is ever dropped, because its counts stay part of the sums. Does
not know what a table holds.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from typing import NamedTuple

from balancer.metrics.slots import TABLE_BYTES, Buffer


class Table(NamedTuple):
    """Memory that another process can map through its descriptor, which it inherits."""

    descriptor: int
    memory: mmap.mmap


class Tables:
    """As many tables as there ever were processes at the same time."""

    __slots__ = ("_all", "_free")

    def __init__(self) -> None:
        self._all: list[Table] = []
        self._free: list[Table] = []

    def take(self) -> Table:
        """A table without a writer: one left behind, or a new one. Raises OSError if no table can be made."""
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
        """Closes every table. Its memory stays while a process maps it or a scrape reads it."""
        for table in self._all:
            os.close(table.descriptor)
        self._all.clear()
        self._free.clear()
