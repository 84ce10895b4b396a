"""Threads that check passwords: the verdict comes in the event loop, and after a stop none comes."""

from __future__ import annotations

import asyncio
import threading

import pytest

from balancer.proxy.hash_threads import HashThreads

OF_BAR = "$2y$04$/EWqyNTrBrd7g2GUFH8rPuMZAL4D7jSROO4GYAnabkcJ0X0WJ6WQ2"


@pytest.mark.parametrize(("password", "expected"), [(b"bar", True), (b"baz", False)])
async def test_a_verdict_comes_in_the_event_loop_and_never_at_once(password: bytes, expected: bool) -> None:
    threads = HashThreads(1)
    heard: asyncio.Future[tuple[bool | None, threading.Thread]] = asyncio.get_running_loop().create_future()
    threads.run(OF_BAR, password, lambda verdict: heard.set_result((verdict, threading.current_thread())))
    assert not heard.done()
    assert await heard == (expected, threading.current_thread())
    threads.stop()


async def test_several_checks_end_each() -> None:
    threads = HashThreads(2)
    heard: asyncio.Queue[bool | None] = asyncio.Queue()
    for _ in range(5):
        threads.run(OF_BAR, b"bar", heard.put_nowait)
    assert [await heard.get() for _ in range(5)] == [True] * 5
    threads.stop()


async def test_after_a_stop_nobody_is_told() -> None:
    threads = HashThreads(1)
    heard: list[bool | None] = []
    threads.run(OF_BAR, b"bar", heard.append)
    threads.stop()
    threads.run(OF_BAR, b"bar", heard.append)
    await asyncio.sleep(0)
    assert heard == []
