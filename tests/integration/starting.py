"""Starts the `zonal` command: anew, or as a copy of a process that has imported the modules already.

A start takes 0.4 s of a CPU, nearly all of it for imports, and tests start hundreds of processes. A copy takes a tenth
and runs the same command. Whoever tests the start itself, or what memory a process takes, starts it anew.
"""

from __future__ import annotations

import atexit
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Protocol

import msgspec

from tests.integration.template import MESSAGE_BYTES, Copied, Ended, Order

COMMAND = (sys.executable, "-m", "ingress")

_ROOT = Path(__file__).parents[2]


class Process(Protocol):
    """What of `subprocess.Popen` is asked for."""

    @property
    def pid(self) -> int: ...
    def poll(self) -> int | None: ...
    def wait(self) -> int: ...
    def send_signal(self, sig: int) -> None: ...
    def kill(self) -> None: ...


def start(
    arguments: Sequence[str],
    *,
    stdout: IO[bytes],
    stderr: IO[bytes],
    environment: Mapping[str, str],
    anew: bool = False,
    through: Sequence[str] = (),
) -> Process:
    """Run `zonal` with these arguments, nothing on its standard input, and `environment` on top of this process' own.

    `anew` and `through` (words before the command, such as `nice`) make it a process of its own from the beginning,
    and so does a variable that Python reads when it begins.
    """
    variables = {**os.environ, **environment}
    if anew or through or any(name.startswith("PYTHON") for name in environment):
        return subprocess.Popen(
            (*through, *COMMAND, *arguments), stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, env=variables
        )
    return _template().copy(Order(tuple(arguments), variables, os.getcwd()), stdout, stderr)


class _Copy:
    """A process that another one has started for us."""

    def __init__(self, template: _Template, pid: int) -> None:
        self._template = template
        self.pid = pid

    def poll(self) -> int | None:
        return self._template.status(self.pid)

    def wait(self) -> int:
        return self._template.last_status(self.pid)

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


class _Template:
    """The process that makes copies, and what is known of those."""

    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                (sys.executable, "-m", "tests.integration.template", str(theirs.fileno())),
                stdin=subprocess.DEVNULL,
                cwd=_ROOT,
                pass_fds=[theirs.fileno()],
            )
        self._statuses: dict[int, int] = {}

    def copy(self, order: Order, stdout: IO[bytes], stderr: IO[bytes]) -> _Copy:
        with open(os.devnull, "rb") as stdin:
            files = [each.fileno() for each in (stdin, stdout, stderr)]
            socket.send_fds(self._socket, [msgspec.json.encode(order)], files)
        while isinstance(message := self._heard(), Ended):
            self._statuses[message.pid] = message.status
        self._statuses.pop(message.pid, None)  # of another process that had the number before
        return _Copy(self, message.pid)

    def status(self, pid: int) -> int | None:
        """The exit status of a copy, or None while it runs."""
        while pid not in self._statuses:
            try:
                self._hear_an_end(socket.MSG_DONTWAIT)
            except BlockingIOError:
                return None
        return self._statuses[pid]

    def last_status(self, pid: int) -> int:
        """Wait for the end of a copy."""
        while pid not in self._statuses:
            self._hear_an_end()
        return self._statuses[pid]

    def close(self) -> None:
        self._socket.close()
        self._process.wait()

    def _hear_an_end(self, flags: int = 0) -> None:
        message = self._heard(flags)
        assert isinstance(message, Ended)
        self._statuses[message.pid] = message.status

    def _heard(self, flags: int = 0) -> Copied | Ended:
        return msgspec.json.decode(self._socket.recv(MESSAGE_BYTES, flags), type=Copied | Ended)


@cache
def _template() -> _Template:
    """One for all tests of this process."""
    template = _Template()
    atexit.register(template.close)
    return template
