"""Threads of a worker in which processes of isolated hooks are started and ended. Does not know how that is done.

To start one takes milliseconds, and the end of one is waited for. A home of processes has one thread at a time, so one
whose process does not end keeps no other home waiting.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import Final, TypeVar

_THREADS_MOST: Final = 32  # of a worker; there are as many as homes at work at one time, and mostly one

_Result = TypeVar("_Result")


class HookThreads:
    """Does the work of each home in order, and that of several homes at once. The first work starts a thread."""

    __slots__ = ("_executor", "_lock", "_waiting")

    def __init__(self, most: int = _THREADS_MOST) -> None:
        """So many homes have a thread at one time. Others wait."""
        self._executor = ThreadPoolExecutor(most, thread_name_prefix="hook-host")
        self._lock = Lock()
        self._waiting: dict[str, deque[Callable[[], None]]] = {}  # by home, of those that have a thread

    def submit(self, home: str, work: Callable[[], _Result]) -> Future[_Result]:
        """Does `work` when all other work of `home` is done. Not to be called after `stop`."""
        done: Future[_Result] = Future()
        job = partial(_do, done, work)
        with self._lock:
            waiting = self._waiting.get(home)
            if waiting is None:
                waiting = deque((job,))
                self._executor.submit(self._work, home, waiting)
                self._waiting[home] = waiting
            else:
                waiting.append(job)
        return done

    def stop(self) -> None:
        """Returns at once. The work that waits is done."""
        self._executor.shutdown(wait=False)

    def _work(self, home: str, waiting: deque[Callable[[], None]]) -> None:
        """Runs in a thread."""
        while True:
            with self._lock:
                if not waiting:
                    del self._waiting[home]
                    return
                job = waiting.popleft()
            job()


def _do(done: Future[_Result], work: Callable[[], _Result]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = work()
    except BaseException as error:  # whoever asks for the result is told
        done.set_exception(error)
    else:
        done.set_result(result)
