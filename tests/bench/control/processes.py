"""What the kernel says of processes: CPU, memory, children; and which cores they may use."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import msgspec

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024
_FIRST = -10


class Usage(msgspec.Struct, frozen=True):
    """CPU seconds so far: of the control process, and of its workers together."""

    control: float
    workers: float

    @property
    def total(self) -> float:
        return self.control + self.workers

    def since(self, before: Usage) -> Usage:
        return Usage(self.control - before.control, self.workers - before.workers)


def usage(pid: int) -> Usage:
    """What a process and its children have used."""
    return Usage(cpu_seconds(pid), sum(map(cpu_seconds, children(pid))))


def cpu_seconds(pid: int) -> float:
    """User and system time of all threads (proc(5): stat, fields 14 and 15)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_PER_SECOND


def waited_seconds(pid: int) -> float:
    """How long a process and its children, of each the main thread, could have run and had no core (schedstat)."""
    return sum(int(Path(f"/proc/{each}/schedstat").read_text().split()[1]) for each in (pid, *children(pid))) / 1e9


def children(pid: int) -> list[int]:
    return [
        int(child) for each in Path(f"/proc/{pid}/task").iterdir() for child in (each / "children").read_text().split()
    ]


def resident_mib(pid: int) -> float:
    """What of a process is in memory, shared pages in parts (proc(5): Pss)."""
    return _kilobytes(Path(f"/proc/{pid}/smaps_rollup"), "Pss") / 1024


def peak_mib(pid: int) -> float:
    """The most that was ever in memory (proc(5): VmHWM)."""
    return _kilobytes(Path(f"/proc/{pid}/status"), "VmHWM") / 1024


def _kilobytes(place: Path, name: str) -> int:
    found = re.search(rf"^{name}:\s+(\d+) kB$", place.read_text(), re.MULTILINE)
    if found is None:
        raise ValueError(f"{place} does not say {name}")
    return int(found[1])


@contextmanager
def on_cores(cores: Collection[int]) -> Iterator[None]:
    """What is started inside runs on these cores, and stays there; on a machine without them, anywhere."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, before.intersection(cores) or before)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def go_first() -> None:
    """This process goes before the others of its core, as far as privileges allow: what measures must not wait."""
    with suppress(PermissionError):
        os.nice(_FIRST)


def machine() -> str:
    """The processor and how many of its cores there are."""
    found = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    return f"{found[1] if found else platform.machine()}, {os.cpu_count()} cores"
