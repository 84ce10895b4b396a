"""Counts the CPUs that this process may use: those of its affinity mask, and the quota of its container.

Reads the kernel's files. Does not know what the number is for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

_ROOT = Path("/")


def usable_cpus(root: Path = _ROOT) -> int:
    """CPUs of the affinity mask, or the quota of the cgroup in whole CPUs (rounded up) where that is less; at least 1.

    `root` is where `proc` and `sys` are. Source: Documentation/admin-guide/cgroup-v2.rst (cpu.max) and
    Documentation/scheduler/sched-bwc.rst (cpu.cfs_quota_us) of Linux.
    """
    quotas = [quota for place in _cgroups(root) if (quota := _quota(place)) is not None]
    return max(1, min([_affinity(), *map(math.ceil, quotas)]))


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _cgroups(root: Path) -> Iterator[Path]:
    """The folders of the own cgroup and its parents, each of which may set a limit, in both versions.

    A container sees only the mounted part of a path, so missing folders are not an error.
    """
    mounted = root / "sys" / "fs" / "cgroup"
    for line in _lines(root / "proc" / "self" / "cgroup"):
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        inner = PurePosixPath(path.lstrip("/"))
        if number == "0" and not controllers:
            yield from _around(mounted, inner)
        elif "cpu" in controllers.split(","):
            yield from _around(mounted / "cpu", inner)


def _around(mounted: Path, inner: PurePosixPath) -> Iterable[Path]:
    return (mounted / each for each in (inner, *inner.parents))


def _quota(place: Path) -> float | None:
    """CPUs' worth of time that a cgroup may use; None without a limit."""
    for words in (
        [word for line in _lines(place / "cpu.max") for word in line.split()],
        [*_lines(place / "cpu.cfs_quota_us"), *_lines(place / "cpu.cfs_period_us")],
    ):
        match words:
            case [quota, period] if quota.isdigit() and period.isdigit() and int(period):
                return int(quota) / int(period)
    return None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").splitlines()
    except (OSError, ValueError):
        return []
