"""Reads from the kernel how long a thread was ready to run and had no processor (proc(5), schedstat)."""

from __future__ import annotations

from contextlib import suppress


def starved_seconds(thread: str = "thread-self") -> float:
    """How long `thread`, a folder of /proc, has waited for a processor in all; 0 if unknown.

    Who is stopped, or waits for something else, does not starve. Where a group of processes may use no more of its
    processors for now (a limit of a pod), its threads starve.
    """
    with suppress(OSError, ValueError), open(f"/proc/{thread}/schedstat", "rb", buffering=0) as file:
        _, waited, _ = file.read().split()
        return int(waited) / 1e9
    return 0.0
