"""Threads for processes of isolated hooks: the work of a home is done in order, and no home waits for another."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from balancer.connections.hook_threads import HookThreads

PATIENCE_SECONDS = 30

pytestmark = pytest.mark.large


def test_work_of_a_home_is_done_in_order() -> None:
    threads, begins = HookThreads(), threading.Event()
    done: list[int] = []

    def work(number: int) -> None:
        begins.wait()
        done.append(number)

    last = [threads.submit("shop", partial(work, number)) for number in range(20)][-1]
    begins.set()
    last.result(PATIENCE_SECONDS)
    assert done == list(range(20))
    threads.stop()


def test_a_home_whose_work_does_not_end_has_one_thread_and_others_do_not_wait() -> None:
    threads, ends = HookThreads(2), threading.Event()
    held = [threads.submit("greedy", ends.wait) for _ in range(100)]
    modest = [threads.submit(f"modest-{number}", threading.get_ident) for number in range(100)]
    assert len({each.result(PATIENCE_SECONDS) for each in modest}) == 1
    assert not any(each.done() for each in held)
    ends.set()
    assert [each.result(PATIENCE_SECONDS) for each in held] == [True] * 100
    threads.stop()


def test_beyond_the_bound_a_home_waits_for_a_thread() -> None:
    threads, ends = HookThreads(1), threading.Event()
    held, waiting = threads.submit("first", ends.wait), threads.submit("second", lambda: "done")
    assert not waiting.done()
    ends.set()
    assert (held.result(PATIENCE_SECONDS), waiting.result(PATIENCE_SECONDS)) == (True, "done")
    threads.stop()


def test_what_waits_at_the_end_is_done() -> None:
    threads, ends = HookThreads(), threading.Event()
    threads.submit("shop", ends.wait)
    waiting = threads.submit("shop", lambda: "done")
    threads.stop()
    ends.set()
    assert waiting.result(PATIENCE_SECONDS) == "done"


def test_an_error_is_told_and_the_work_behind_it_is_done() -> None:
    threads = HookThreads()

    def fail() -> None:
        raise OSError("no processes left")

    failing, behind = threads.submit("shop", fail), threads.submit("shop", lambda: "done")
    assert isinstance(failing.exception(PATIENCE_SECONDS), OSError)
    assert behind.result(PATIENCE_SECONDS) == "done"
    threads.stop()


def test_work_that_is_cancelled_before_it_begins_is_not_done() -> None:
    threads, ends = HookThreads(), threading.Event()
    done: list[str] = []
    threads.submit("shop", ends.wait)
    cancelled = threads.submit("shop", lambda: done.append("cancelled"))
    behind = threads.submit("shop", lambda: done.append("behind"))
    assert cancelled.cancel()
    ends.set()
    behind.result(PATIENCE_SECONDS)
    assert done == ["behind"]
    threads.stop()
