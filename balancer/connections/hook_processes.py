"""Starts and ends the process that runs isolated hooks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Final

import zonal_hooks

_NICE: Final = 5  # beside busy hooks on every processor, a worker gets three quarters of one


def started(theirs: socket.socket, note: int) -> subprocess.Popen[bytes]:
    """Starts a process that serves this socket, gives way to us, and gets nothing of our environment.

    `note` is the descriptor of the file in which it says at which call it works. Both are closed here.
    """
    root = str(Path(zonal_hooks.__file__).parents[1])
    with theirs, os.fdopen(note, "rb"):
        process = subprocess.Popen(
            (sys.executable, "-m", "zonal_hooks.host", str(theirs.fileno()), str(note)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(), note),
            env={"PYTHONPATH": root, "PYTHONSAFEPATH": "1", "PATH": os.defpath},
            process_group=0,
        )
    with suppress(OSError):  # it may have ended
        os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, 0) + _NICE)
    return process


def reap(launch: Future[subprocess.Popen[bytes]]) -> None:
    """Ends the process that `launch` has started, if it has started one. Blocks until both are over."""
    if launch.exception() is None:
        launch.result().kill()
        launch.result().wait()
