"""Processes of the bench: started on given cores, read, watched through `/proc`, and ended.

Responsible for leaving none behind. Knows nothing of what they are.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.bench.peers.proc import ProcessStat, read_pss_kib, read_stat, tree

_PROC = Path("/proc")
_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_END_SECONDS = 5.0
_READ_BYTES = 1 << 16


class Process:
    """A program in a session of its own. What it writes is read and kept as far as it may explain a failure."""

    def __init__(
        self, command: Sequence[str], *, cores: Sequence[int], environment: Mapping[str, str] | None = None
    ) -> None:
        with _on(cores):
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        self._first = b""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def exit_status(self) -> int | None:
        return self._process.poll()

    @property
    def said(self) -> str:
        """The first it wrote; whole only when it has ended."""
        return self._first.decode(errors="replace").strip()

    def ticks(self) -> dict[int, int]:
        """Pid to clock ticks used so far, of the whole tree."""
        return {stat.pid: stat.ticks for stat in self._tree()}

    def memory_mib(self) -> float:
        """The proportional share of memory of the whole tree: what is shared with others counts in part."""
        return sum(read_pss_kib(_text(_PROC / str(stat.pid) / "smaps_rollup")) for stat in self._tree()) / 1024

    def end(self) -> None:
        """Ask, then insist. The end of standard input is a question too."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        for number in (signal.SIGTERM, signal.SIGKILL):
            if self._process.poll() is None:
                os.killpg(self._process.pid, number)
            try:
                self._process.wait(_END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
        self._reader.join(_END_SECONDS)
        if self._process.stdout is not None and not self._reader.is_alive():
            self._process.stdout.close()

    def _tree(self) -> list[ProcessStat]:
        texts = (_text(path / "stat") for path in _PROC.iterdir() if path.name.isdigit())
        return tree([read_stat(text) for text in texts if text], self._process.pid)

    def _read(self) -> None:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while piece := os.read(descriptor, _READ_BYTES):
            if len(self._first) < _READ_BYTES:
                self._first += piece


def seconds(ticks: int) -> float:
    """Clock ticks of the kernel in seconds."""
    return ticks / _TICKS_PER_SECOND


def output(command: Sequence[str], *, cores: Sequence[int], timeout_seconds: float) -> str:
    """Run a program to its end and return what it wrote, errors too. Raises `Failed`."""
    try:
        with _on(cores):
            done = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=timeout_seconds,
                check=False,
            )
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{Path(command[0]).name} did not end in {timeout_seconds:g} s") from error
    text = done.stdout.decode(errors="replace").strip()
    if done.returncode:
        raise Failed(f"{Path(command[0]).name}: {text[-300:]}")
    return text


class Failed(Exception):
    """A program did not do its work; the message is for people."""


@contextmanager
def _on(cores: Sequence[int]) -> Iterator[None]:
    """A child inherits where the thread that starts it may run: it never runs elsewhere, not even its first threads."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _text(path: Path) -> str:
    """Empty for a process that has ended meanwhile."""
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
