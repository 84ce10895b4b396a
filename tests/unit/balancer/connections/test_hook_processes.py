"""The process of isolated hooks: what it gets of us, and its end."""

from __future__ import annotations

import os
import socket
import subprocess
from concurrent.futures import Future
from pathlib import Path

import pytest

from balancer.connections.hook_processes import reap, started
from zonal_hooks.work_notes import note_file


def test_the_process_has_its_socket_and_nothing_of_our_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZONAL_SECRET", "x")
    ours, theirs = socket.socketpair()
    with ours:
        note = note_file()
        process = started(theirs, note)
        launch: Future[subprocess.Popen[bytes]] = Future()
        launch.set_result(process)
        try:
            assert theirs.fileno() == -1, "closed here"
            with pytest.raises(OSError, match="Bad file descriptor"):
                os.fstat(note)
            assert os.getpgid(process.pid) == process.pid, "no signal of our terminal reaches it"
            own = os.getpriority(os.PRIO_PROCESS, 0)
            assert os.getpriority(os.PRIO_PROCESS, process.pid) == min(own + 5, 19), "workers go first"
            known = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            assert {each.partition(b"=")[0] for each in known if each} <= {b"PYTHONPATH", b"PYTHONSAFEPATH", b"PATH"}
        finally:
            reap(launch)
    assert process.returncode is not None


def test_a_process_that_could_not_be_started_needs_no_end() -> None:
    launch: Future[subprocess.Popen[bytes]] = Future()
    launch.set_exception(OSError("no processes left"))
    reap(launch)
