"""Runs test files in several processes: `python -m tests.processes COUNT FOLDER… -- [pytest options]`.

Each process takes the next file when it has ended one, so a file's tests share what they set up, and the processes end
at about the same time. Each file is collected once, by the process that runs it: with pytest-xdist every process
collects all files, and all results go through one more process (docs/adr/0047-tests-in-processes.md).
"""

from __future__ import annotations

import fcntl
import gc
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest

Group = tuple[str, ...]
"""Test files that one process runs, one after the other."""

RULES = "tests/unit"
"""The folder whose own files are the rules about sources. They all read the same ones, so they count as one file."""

_TICKET = struct.Struct("i")
_POLL_SECONDS = 0.05
_TOLD_SECONDS = 30.0
_COUNTED = re.compile(r"(\d+) (passed|failed|skipped|deselected|xfailed|xpassed|error|warning)s?")
_LAST = re.compile(r" in \d+\.\d+s\b")
_TAKES = "--takes"
_HASHES = "PYTHONHASHSEED"
_USUAL = ("-q", "-o", "console_output_style=classic", "-p", "no:cacheprovider", "-p", "no:xdist")


def groups_in(folders: Iterable[str]) -> list[Group]:
    """What is taken at once, folder by folder, by path. The rules come first, because no group takes longer."""
    found: dict[str, list[str]] = {RULES: []}
    for folder in folders:
        for path in sorted(Path(folder).rglob("test_*.py")) if Path(folder).is_dir() else [Path(folder)]:
            name = path.as_posix()
            found.setdefault(RULES if path.parent.as_posix() == RULES else name, []).append(name)
    return [tuple(names) for names in found.values() if names]


class _Later(pytest.Module):
    """A test file whose tests are collected when its turn comes."""

    is_due = False

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        return super().collect() if self.is_due else []


class Taking:
    """A plugin of pytest: takes groups from a queue, whose tickets are numbers of groups in a pipe."""

    def __init__(self, groups: Sequence[Group], queue: int) -> None:
        self._groups = groups
        self._queue = queue
        self._parent = os.getppid()
        self._files: dict[Path, _Later] = {}
        os.set_inheritable(queue, False)  # what tests start must not have it

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module:
        file: _Later = _Later.from_parent(parent, path=module_path)
        self._files[module_path] = file
        return file

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        total = 0
        while ticket := os.read(self._queue, _TICKET.size):  # a read of a pipe gets whole tickets, and no other reader
            if os.getppid() != self._parent:
                raise session.Interrupted("nobody waits for the result any more")
            items = self._collected(session, self._groups[_TICKET.unpack(ticket)[0]])
            total += len(items)
            session.testscollected = total
            for item, following in zip(items, [*items, None][1:], strict=True):
                session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        return True

    def _collected(self, session: pytest.Session, group: Group) -> list[pytest.Item]:
        """The tests of a group. Modules stay, so later searches for garbage leave them out.

        Garbage of the tests before is found first, so that what they forgot to close is told.
        """
        gc.collect()
        gc.disable()
        items: list[pytest.Item] = []
        for name in group:
            file = self._files[Path(name).absolute()]
            file.is_due = True
            items += session.genitems(file)
        session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
        session.items = items
        gc.enable()
        gc.freeze()
        return items


def run(count: int, folders: Sequence[str], options: Sequence[str]) -> int:
    """Runs the tests, and prints what each process says when it has ended. Returns the exit status.

    Python hashes alike in every run, as properties have the same examples, unless the environment says otherwise.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal: the processes get it, too, and `conftest` heeds it
    queue, tickets = os.pipe()
    os.write(tickets, b"".join(map(_TICKET.pack, range(len(groups_in(folders))))))
    os.close(tickets)
    command = (sys.executable, "-m", "tests.processes", _TAKES, str(queue), *folders, "--", *options)
    environment = {_HASHES: "0"} | os.environ
    counted, statuses = Counter[str](), list[int]()
    began = told = time.monotonic()
    with tempfile.TemporaryDirectory() as place:
        running = {}
        for number in range(count):
            said = Path(place, str(number))
            with said.open("wb") as output:
                started = subprocess.Popen(
                    command, stdout=output, stderr=subprocess.STDOUT, pass_fds=[queue], env=environment
                )
                running[started] = said
        while running:
            for process in [each for each in running if each.poll() is not None]:
                text = running.pop(process).read_text(errors="replace")
                print(text, flush=True)
                counted += counts_in(text)
                statuses.append(process.returncode)
            time.sleep(_POLL_SECONDS)
            if time.monotonic() - told > _TOLD_SECONDS:
                told = time.monotonic()
                print(f"{told - began:.0f} s: {_left(queue)} files are left", file=sys.stderr, flush=True)
    os.close(queue)
    print(", ".join(f"{number} {what}" for what, number in counted.items()), f"in {time.monotonic() - began:.1f} s")
    return status_of(statuses)


def counts_in(text: str) -> Counter[str]:
    """What the last line of pytest counts, after which Python may complain."""
    last = next(filter(_LAST.search, reversed(text.splitlines())), "")
    return Counter({what: int(number) for number, what in _COUNTED.findall(last)})


def status_of(statuses: Sequence[int]) -> int:
    """The exit status of all processes together: that of the first one that failed."""
    nothing = int(pytest.ExitCode.NO_TESTS_COLLECTED)  # there was no group left
    failed = (each for each in statuses if each not in (0, nothing))
    return next(failed, 0 if 0 in statuses else nothing)


def _left(queue: int) -> int:
    (waiting,) = struct.unpack("i", fcntl.ioctl(queue, termios.FIONREAD, bytes(4)))
    return int(waiting // _TICKET.size)


def _main(arguments: Sequence[str]) -> int:
    own, options = arguments[: arguments.index("--")], arguments[arguments.index("--") + 1 :]
    if own[0] != _TAKES:
        return run(int(own[0]), own[1:], options)
    queue, *folders = own[1:]
    return int(pytest.main([*_USUAL, *options, *folders], plugins=[Taking(groups_in(folders), int(queue))]))


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
