"""What the first sync of a proxy took, whatever its cluster holds.

Responsible for these figures alone. It must not know what is measured afterwards.
"""

from __future__ import annotations

from tests.bench.control.figures import Figure
from tests.bench.control.processes import children, peak_mib, resident_mib, usage
from tests.bench.control.stage import Running

_READY_SECONDS_MOST = 10.0
_WORKER_MIB_MOST = 200.0


def first_sync(running: Running, *, control_mib_most: float) -> list[Figure]:
    """The time until a proxy was ready, and what it keeps since then. `control_mib_most` is the bar of the control
    process.
    """
    pid = running.zonal.pid
    used = usage(pid)
    ready = Figure(
        name="first sync, from the start of the process to ready",
        value=running.ready_seconds,
        unit="s",
        bar=_READY_SECONDS_MOST,
        detail=f"CPU {used.control:.1f} s in the control process, {used.workers:.1f} s in workers",
    )
    memory = [_memory("memory of the control process after it", pid, control_mib_most)]
    if workers := children(pid):
        memory.append(_memory("memory of a worker", max(workers, key=resident_mib), _WORKER_MIB_MOST))
    return [ready, *memory]


def _memory(name: str, pid: int, most: float) -> Figure:
    return Figure(name=name, value=resident_mib(pid), unit="MiB", bar=most, detail=f"peak {peak_mib(pid):.0f} MiB")
