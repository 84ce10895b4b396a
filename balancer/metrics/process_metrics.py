"""What `/metrics` says of the processes of a replica: their CPU, memory and descriptors."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import Definition, MetricKind

WORKER_CPU: Final = Definition(
    name="zonal_worker_cpu_seconds_total",
    kind=MetricKind.COUNTER,
    labels=("worker",),
    help="CPU time, user and system, of the current process of worker N. Absent with `--workers 0`.",
)
WORKER_MEMORY: Final = Definition(
    name="zonal_worker_resident_memory_bytes",
    kind=MetricKind.GAUGE,
    labels=("worker",),
    help="Resident memory of the worker process.",
)
WORKER_OPEN_FDS: Final = Definition(
    name="zonal_worker_open_fds",
    kind=MetricKind.GAUGE,
    labels=("worker",),
    help="Open file descriptors of the worker process.",
)
WORKER_START: Final = Definition(
    name="zonal_worker_start_time_seconds",
    kind=MetricKind.GAUGE,
    labels=("worker",),
    help="Unix time when the worker process started.",
)
PROCESS_CPU: Final = Definition(
    name="process_cpu_seconds_total",
    kind=MetricKind.COUNTER,
    labels=(),
    help="CPU time, user and system, of the parent process.",
)
PROCESS_MEMORY: Final = Definition(
    name="process_resident_memory_bytes",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Resident memory of the parent process.",
)
PROCESS_VIRTUAL_MEMORY: Final = Definition(
    name="process_virtual_memory_bytes",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Virtual memory of the parent process.",
)
PROCESS_OPEN_FDS: Final = Definition(
    name="process_open_fds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Open file descriptors of the parent process.",
)
PROCESS_MAX_FDS: Final = Definition(
    name="process_max_fds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Number of file descriptors that the parent process may open.",
)
PROCESS_START: Final = Definition(
    name="process_start_time_seconds",
    kind=MetricKind.GAUGE,
    labels=(),
    help="Unix time when the parent process started.",
)
