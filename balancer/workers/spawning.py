"""Starts processes by exec with the descriptors that they need, watches them by descriptor, and reaps them.

Never forks without exec, because this process has an event loop, threads and locks that a copy would inherit in a
broken state. All processes are started by one thread: on Linux a priority belongs to a thread, and a process begins
with the priority of the thread that starts it. So this process can step back behind its children. Does not know what
the processes do.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Final

from balancer.runtime import priority
from balancer.runtime.signals import CRASHES, hold_back
from balancer.runtime.starving import starved_seconds

_STDERR: Final = 2

_starting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starting", initializer=hold_back)


def step_back() -> None:
    """Lets all processes that are started here go before this thread, and before the threads that it starts later.

    Then a worker that has requests need not wait until a translation or a scrape on the same processor is done.
    """
    _starting.submit(int).result()  # its thread has to exist before
    priority.step_back()


class Process:
    """A child process. The running loop notices its end, and reaps it before it reports the end."""

    __slots__ = ("_loop", "_on_end", "_popen", "_watched")

    def __init__(self, command: Sequence[str], *, descriptors: Sequence[int], on_end: Callable[[], None]) -> None:
        """Runs `command`, a program with its arguments. It inherits `descriptors` and standard error.

        Raises OSError, or what the loop raises; then there is no process.
        """
        self._loop = asyncio.get_running_loop()
        self._on_end = on_end
        self._popen = _starting.submit(
            subprocess.Popen,
            command,
            stdin=subprocess.DEVNULL,
            stdout=_STDERR,  # our standard output has one writer; what is printed by mistake stays visible
            pass_fds=descriptors,
            process_group=0,  # so that only the parent gets Ctrl-C of a terminal
        ).result()
        with ExitStack() as undoing:
            undoing.callback(self._popen.wait)
            undoing.callback(self._popen.kill)
            self._watched = os.pidfd_open(self._popen.pid)
            undoing.callback(os.close, self._watched)
            self._loop.add_reader(self._watched, self._ended)
            undoing.pop_all()

    @property
    def pid(self) -> int:
        """The process id. After the process has ended it may be unused or reused."""
        return self._popen.pid

    def end_told(self) -> str:
        """How it ended, in words."""
        status = self._popen.returncode
        if status is None:
            return "runs"
        if status >= 0:
            return f"exit status {status}"
        with suppress(ValueError):
            return signal.Signals(-status).name
        return f"signal {-status}"

    @property
    def was_killed(self) -> bool:
        """Whether SIGKILL ended it, which no program sends to itself."""
        return self._popen.returncode == -signal.SIGKILL

    @property
    def has_crashed(self) -> bool:
        """Whether an error in compiled code ended it."""
        return self._popen.returncode is not None and -self._popen.returncode in CRASHES

    def starved_seconds(self) -> float:
        """How long its first thread was runnable without a processor, in all; 0 if unknown."""
        return starved_seconds(str(self.pid))

    def kill(self) -> None:
        """Kills it now, even if it is stopped. Its end is reported as any other."""
        self._popen.kill()

    def _ended(self) -> None:
        if self._popen.poll() is None:
            return
        self._loop.remove_reader(self._watched)
        os.close(self._watched)
        self._on_end()


def worker_command(start: bytes) -> list[str]:
    """The command line of a worker process. `start` is the JSON of its `WorkerStart`.

    It imports from the working directory only if this process does, because a file there may have the name of a
    standard module.
    """
    places = [] if _looks_here() else ["-P"]
    return [sys.executable, *places, "-m", "balancer.workers.process", start.decode()]


def _looks_here() -> bool:
    with suppress(OSError):  # the directory may be gone
        return not {"", os.getcwd()}.isdisjoint(sys.path)
    return False


def can_have_workers() -> bool:
    """Whether this platform has what worker processes need (Linux 5.3, and a sandbox that permits it)."""
    if not (hasattr(os, "memfd_create") and hasattr(os, "pidfd_open")):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
        os.close(os.memfd_create("zonal-probe"))
    except OSError:
        return False
    return True
