"""What `/metrics` says of the processes of a replica: their CPU, memory and descriptors."""

from __future__ import annotations

from typing import Final

from balancer.metrics.kinds import counter, gauge

WORKER_CPU: Final = counter(
    "zonal_worker_cpu_seconds_total",
    ("worker",),
    help="CPU time, user and system, of the current process of worker N. Absent with `--workers 0`.",
)
WORKER_MEMORY: Final = gauge(
    "zonal_worker_resident_memory_bytes",
    ("worker",),
    help="Resident memory of the worker process.",
)
WORKER_OPEN_FDS: Final = gauge(
    "zonal_worker_open_fds",
    ("worker",),
    help="Open file descriptors of the worker process.",
)
WORKER_START: Final = gauge(
    "zonal_worker_start_time_seconds",
    ("worker",),
    help="Unix time when the worker process started.",
)
PROCESS_CPU: Final = counter("process_cpu_seconds_total", help="CPU time, user and system, of the parent process.")
PROCESS_MEMORY: Final = gauge("process_resident_memory_bytes", help="Resident memory of the parent process.")
PROCESS_VIRTUAL_MEMORY: Final = gauge("process_virtual_memory_bytes", help="Virtual memory of the parent process.")
PROCESS_OPEN_FDS: Final = gauge("process_open_fds", help="Open file descriptors of the parent process.")
PROCESS_MAX_FDS: Final = gauge("process_max_fds", help="Number of file descriptors that the parent process may open.")
PROCESS_START: Final = gauge("process_start_time_seconds", help="Unix time when the parent process started.")

WORKER_METRICS: Final = (WORKER_CPU, WORKER_MEMORY, WORKER_OPEN_FDS, WORKER_START)
PARENT_METRICS: Final = (
    PROCESS_CPU,
    PROCESS_MEMORY,
    PROCESS_VIRTUAL_MEMORY,
    PROCESS_OPEN_FDS,
    PROCESS_MAX_FDS,
    PROCESS_START,
)
