"""What the kernel says of processes under `/proc`: the text of its files as values.

Responsible for the arithmetic only, so that it is tested without processes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec


class ProcessStat(msgspec.Struct, frozen=True):
    """`ticks` are of user and system time, of the process and of its children that have ended and been waited for."""

    pid: int
    parent: int
    ticks: int


def read_stat(text: str) -> ProcessStat:
    """A `/proc/PID/stat` (proc(5)). The name, in brackets, may hold anything, brackets too."""
    pid, _, _ = text.partition(" ")
    fields = text.rpartition(")")[2].split()
    return ProcessStat(int(pid), int(fields[1]), sum(map(int, fields[11:15])))


def tree(stats: Iterable[ProcessStat], root: int) -> list[ProcessStat]:
    """`root` and what descends from it."""
    children: dict[int, list[ProcessStat]] = {}
    found: list[ProcessStat] = []
    for stat in stats:
        children.setdefault(stat.parent, []).append(stat)
        if stat.pid == root:
            found.append(stat)
    for member in found:
        found += children.get(member.pid, [])
    return found


def used_ticks(before: Mapping[int, int], after: Mapping[int, int]) -> int:
    """What a tree used between two looks, each pid to ticks.

    A process that has ended is in the ticks of its parent, whole: what it had used before is taken off again.
    """
    return sum(after.values()) - sum(before.values())


def read_pss_kib(text: str) -> int:
    """The proportional share of memory in a `/proc/PID/smaps_rollup`, 0 where it says nothing."""
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1])
    return 0
