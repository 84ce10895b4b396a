"""Signals of a serving process: which end it, and which only leave a line. Each case is a process of its own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from balancer.runtime.signals import ENDING, UNHEEDED

pytestmark = pytest.mark.large

_LOOP = """\
import asyncio, logging, os, signal
from balancer.runtime.signals import tell_unheeded
logging.basicConfig(level="INFO", format="%(message)s")
async def main():
    tell_unheeded(asyncio.get_running_loop())
    os.kill(os.getpid(), {number})
    await asyncio.sleep(0)
asyncio.run(main())
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("number", UNHEEDED)
def test_a_signal_that_changes_nothing_leaves_one_line_with_the_reason(number: signal.Signals) -> None:
    ended = run(_LOOP.format(number=int(number)))
    assert ended.returncode == 0
    assert ended.stderr == f"{number.name} is ignored: {UNHEEDED[number]}\n"


@pytest.mark.parametrize("number", [*UNHEEDED, signal.SIGINT])
def test_a_process_may_ignore_them_without_a_word(number: signal.Signals) -> None:
    program = "import os, signal; from balancer.runtime.signals import ignore_unheeded as ignore; "
    ended = run(f"{program}ignore(signal.SIGINT); os.kill(os.getpid(), {number})")
    assert (ended.returncode, ended.stderr) == (0, "")


BEGUN = "import os; from balancer.runtime.signals import begin_serving; begin_serving(); "


@pytest.mark.parametrize("number", [*ENDING, *UNHEEDED])
def test_while_a_process_begins_all_that_end_it_do_the_same(number: signal.Signals) -> None:
    ended = run(f"{BEGUN}os.kill(os.getpid(), {number}); print('goes on')")
    assert (ended.returncode, ended.stdout) == (0, "" if number in ENDING else "goes on\n")


@pytest.mark.parametrize("number", ENDING)
def test_a_signal_ends_a_process_where_an_exception_would_be_lost(number: signal.Signals) -> None:
    callback = f"type('Late', (), {{'__del__': lambda self: os.kill(os.getpid(), {number})}})()"
    ended = run(f"{BEGUN}{callback}; print('goes on')")
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.parametrize("before", ["", "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); "])
def test_sigint_interrupts_even_if_whoever_started_the_process_ignores_it(before: str) -> None:
    ended = run(f"{before}{BEGUN}os.kill(os.getpid(), {signal.SIGINT}); print('goes on')")
    assert (ended.returncode, ended.stdout) == (-signal.SIGINT, "")
    assert ended.stderr.endswith("KeyboardInterrupt\n")


def test_a_crash_leaves_where_each_thread_was() -> None:
    ended = run(f"{BEGUN}os.kill(os.getpid(), {signal.SIGSEGV})")
    assert ended.returncode == -signal.SIGSEGV
    assert ended.stderr.startswith("Fatal Python error: Segmentation fault")
    assert 'File "<string>", line 1' in ended.stderr


def test_held_back_signals_come_when_they_are_let_through() -> None:
    program = "import os, signal; from balancer.runtime.signals import hold_back, let_through; hold_back(); "
    held = run(f"{program}os.kill(os.getpid(), signal.SIGHUP); print('held', flush=True); let_through()")
    assert (held.returncode, held.stdout) == (-signal.SIGHUP, "held\n")
