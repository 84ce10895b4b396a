"""What an isolated process may not do."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.unit.sources import ROOT
from zonal_hooks.limits import program

pytestmark = pytest.mark.large

CONFINED = """
import os, socket
from zonal_hooks.limits import Limits, confine
left = confine(Limits(cpu_seconds=1))
assert not left, left
"""


def ended(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", CONFINED + code], cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("os.fork()", "PermissionError"),
        ("os.execv('/bin/true', ['true'])", "PermissionError"),
        ("os.posix_spawn('/bin/true', ['true'], {})", "Error"),
        ("socket.socket()", "PermissionError"),
        ("os.kill(os.getppid(), 0)", "PermissionError"),
        ("import resource; resource.prlimit(os.getppid(), resource.RLIMIT_CPU)", "PermissionError"),
        ("os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)", "PermissionError"),
        ("bytearray(1 << 30)", "MemoryError"),
        ("[os.dup(0) for _ in range(100)]", "Too many open files"),
        ("open('/tmp/zonal-hooks-limit', 'wb').write(b'x' * (1 << 22))", "File too large"),
    ],
)
def test_a_confined_process_is_refused(code: str, error: str) -> None:
    done = ended(code)
    assert done.returncode != 0
    assert error in done.stderr


REFUSING = "from zonal_hooks.limits import refuse_tracing; refuse_tracing()"


@pytest.mark.parametrize("other", [REFUSING, CONFINED], ids=["worker", "confined"])
@pytest.mark.parametrize("name", ["mem", "environ", "fd/0"])
def test_a_confined_process_reaches_nothing_of_a_worker_and_of_another_one(name: str, other: str) -> None:
    other += "\nprint(flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", other], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        done = ended(f"open('/proc/{process.pid}/{name}', 'r+b')")
        process.stdin.close()
    assert "PermissionError" in done.stderr


def test_a_confined_process_may_set_its_own_limits() -> None:
    code = "import resource; resource.prlimit(0, resource.RLIMIT_NOFILE, (9, 9)); print('well')"
    assert ended(code).stdout == "well\n"


def test_a_confined_process_may_think_and_read() -> None:
    assert ended("import json; open(json.__file__).read(); print('well')").stdout == "well\n"


def test_a_confined_process_uses_little_cpu() -> None:
    assert ended("while True: pass").returncode == -24  # SIGXCPU


def test_a_machine_whose_calls_are_not_known_is_told() -> None:
    assert program("riscv64") is None
    for machine in ("x86_64", "aarch64"):
        filter_ = program(machine)
        assert filter_ is not None
        assert len(filter_) % 8 == 0
