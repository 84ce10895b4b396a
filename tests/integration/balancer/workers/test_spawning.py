"""Child processes: what they inherit, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from balancer.runtime.signals import UNHEEDED
from balancer.workers.spawning import Process, can_have_workers, worker_command
from tests.fakes.sockets import until
from tests.integration.processes import children, state

SECONDS = 20.0


class Child:
    """A Python program, and the news of its end."""

    def __init__(self, program: str, *descriptors: int) -> None:
        self._ended = asyncio.Event()
        self.process = Process([sys.executable, "-c", program], descriptors=descriptors, on_end=self._ended.set)

    async def end(self) -> str:
        async with asyncio.timeout(SECONDS):
            await self._ended.wait()
        return self.process.end_told()


@pytest.mark.parametrize(
    ("program", "told"),
    [
        ("pass", "exit status 0"),
        ("raise SystemExit(3)", "exit status 3"),
        ("import os; os.kill(os.getpid(), 9)", "SIGKILL"),
        ("import os; os.kill(os.getpid(), 40)", "signal 40"),
    ],
)
async def test_its_end_is_told_in_words(program: str, told: str) -> None:
    assert await Child(program).end() == told


@pytest.mark.parametrize(
    ("program", "crashed"),
    [("import os; os.abort()", True), ("import os; os.kill(os.getpid(), 9)", False), ("raise SystemExit(11)", False)],
)
async def test_an_error_in_compiled_code_is_told_from_other_ends(program: str, crashed: bool) -> None:
    child = Child(program)
    assert not child.process.has_crashed
    await child.end()
    assert child.process.has_crashed == crashed


async def test_it_is_reaped_before_its_end_is_told() -> None:
    child = Child("import time; time.sleep(60)")
    assert child.process.end_told() == "runs"
    child.process.kill()
    assert await child.end() == "SIGKILL"
    with pytest.raises(ProcessLookupError):
        os.kill(child.process.pid, 0)  # a zombie would take it
    child.process.kill()  # of no effect


async def test_a_stopped_one_is_killed_too() -> None:
    child = Child("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)")
    child.process.kill()
    assert await child.end() == "SIGKILL"


async def test_it_gets_the_descriptors_it_is_to_have_and_no_others() -> None:
    ours, theirs = os.pipe()
    secret, other = os.pipe()
    os.set_inheritable(secret, True)
    program = f"import os; os.write({theirs}, ' '.join(sorted(os.listdir('/proc/self/fd'), key=int)).encode())"
    child = Child(program, theirs)
    assert await child.end() == "exit status 0"
    os.close(theirs)
    # Beside the standard ones and what was passed there is the folder that it reads.
    assert len(seen := os.read(ours, 1000).decode().split()) == 5
    assert set(seen) > {"0", "1", "2", str(theirs)}
    for descriptor in (ours, secret, other):
        os.close(descriptor)


async def test_signals_of_the_terminal_do_not_reach_it() -> None:
    child = Child("import os, sys; raise SystemExit(os.getpgid(0) != os.getpid())")
    assert await child.end() == "exit status 0"


@pytest.mark.parametrize("number", [*UNHEEDED, signal.SIGQUIT])
async def test_no_signal_ends_it_before_it_can_have_its_handlers(number: signal.Signals) -> None:
    tells = f"import os, signal; os.kill(os.getpid(), {number}); "
    lets_through = "from balancer.runtime.signals import let_through; let_through()"
    assert await Child(tells).end() == "exit status 0"
    assert await Child(f"{tells}signal.signal({number}, signal.SIG_IGN); {lets_through}").end() == "exit status 0"
    assert await Child(tells + lets_through).end() == number.name


@pytest.fixture
def one_processor() -> Iterator[None]:
    """We, and whoever we start, share one."""
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(processors)})
    yield
    os.sched_setaffinity(0, processors)


@pytest.mark.usefixtures("one_processor")
async def test_it_is_known_how_long_it_waited_for_a_processor() -> None:
    busy = [Child("while True: pass").process for _ in range(3)]

    async def others_starve() -> None:
        before = [process.starved_seconds() for process in busy[1:]]
        await until(lambda: all(p.starved_seconds() > b + 0.2 for p, b in zip(busy[1:], before, strict=True)))

    try:
        await others_starve()
        os.kill(busy[0].pid, signal.SIGSTOP)
        await until(lambda: state(busy[0].pid) == "T")
        before = busy[0].starved_seconds()
        assert before > 0.0
        await others_starve()
        assert busy[0].starved_seconds() == before, "who is stopped waits for something else"
    finally:
        for process in busy:
            process.kill()
        await until(lambda: all(process.end_told() == "SIGKILL" for process in busy))


async def test_where_it_is_not_known_it_waited_for_nothing() -> None:
    child = Child("pass")
    await child.end()
    assert child.process.starved_seconds() == 0.0


async def test_no_descriptor_is_left_of_it() -> None:
    before = len(os.listdir("/proc/self/fd"))
    await asyncio.gather(*(Child("pass").end() for _ in range(4)))
    assert len(os.listdir("/proc/self/fd")) == before


async def test_one_that_cannot_be_watched_is_not_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise MemoryError

    before = len(os.listdir("/proc/self/fd")), children(os.getpid())
    monkeypatch.setattr(asyncio.get_running_loop(), "add_reader", fail)
    with pytest.raises(MemoryError):
        Child("import time; time.sleep(60)")
    assert (len(os.listdir("/proc/self/fd")), children(os.getpid())) == before


async def test_a_program_that_is_not_there_is_an_error_of_the_system() -> None:
    with pytest.raises(FileNotFoundError):
        Process(["/nowhere/program"], descriptors=(), on_end=lambda: None)


def test_a_worker_is_a_module_of_the_same_python_with_one_argument() -> None:
    assert worker_command(b"{}") == [sys.executable, "-m", "balancer.workers.process", "{}"]


def test_without_what_it_takes_there_are_no_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    assert can_have_workers()

    def refused(_: int) -> int:
        raise PermissionError

    monkeypatch.setattr(os, "pidfd_open", refused)
    assert not can_have_workers()
    monkeypatch.delattr(os, "pidfd_open")
    assert not can_have_workers()


def test_a_worker_takes_no_file_of_the_working_directory_for_a_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "signal.py").write_text("raise SystemExit('mistaken')")
    monkeypatch.chdir(tmp_path)
    ended = subprocess.run(worker_command(b"no start"), check=False, capture_output=True, text=True)
    assert "mistaken" not in ended.stderr
    assert "msgspec.DecodeError" in ended.stderr, "it got as far as its argument"


@pytest.mark.parametrize("is_gone", [False, True])
def test_where_we_look_for_modules_a_worker_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_gone: bool
) -> None:
    monkeypatch.chdir(tmp_path)
    if is_gone:
        tmp_path.rmdir()
    assert "-P" in worker_command(b"{}")
    monkeypatch.syspath_prepend("" if is_gone else tmp_path)
    assert ("-P" in worker_command(b"{}")) is is_gone
