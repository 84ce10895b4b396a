"""Threads of a worker in which passwords are checked, because a check takes milliseconds to a second of CPU.

Does not know whose passwords these are, nor which comes next: `balancer/matching/password_checks.py` decides.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

from balancer.matching.password_checks import Told

_LOG = logging.getLogger(__name__)

# Some schemes are computed in Python. So long, and no longer, the event loop waits for such a thread each time.
_SWITCH_SECONDS = 0.0005


class HashThreads:
    """Made inside a running loop. The first check starts the threads."""

    __slots__ = ("_at_once", "_executor", "_is_stopped", "_loop")

    def __init__(self, at_once: int) -> None:
        """At most `at_once` threads run. Further checks wait for a free thread."""
        self._loop = asyncio.get_running_loop()
        self._at_once = at_once
        self._executor: ThreadPoolExecutor | None = None
        self._is_stopped = False

    def run(self, stored: str, password: bytes, told: Told) -> None:
        """Checks `password` against `stored` in a thread, and calls `told` in the event loop."""
        if self._is_stopped:
            return
        if self._executor is None:
            sys.setswitchinterval(min(sys.getswitchinterval(), _SWITCH_SECONDS))
            self._executor = ThreadPoolExecutor(self._at_once, thread_name_prefix="hashing")
        future = self._executor.submit(_check, stored, password)
        future.add_done_callback(lambda done: self._hand_over(done, told))

    def stop(self) -> None:
        """Drops checks that have not begun. `told` is not called any more."""
        self._is_stopped = True
        if self._executor is not None:
            self._executor.shutdown(wait=False, cancel_futures=True)

    def _hand_over(self, done: Future[bool], told: Told) -> None:
        """Runs in the thread, or where `stop` was called."""
        with suppress(RuntimeError):  # the loop has closed
            self._loop.call_soon_threadsafe(self._tell, done, told)

    def _tell(self, done: Future[bool], told: Told) -> None:
        if self._is_stopped or done.cancelled():
            return
        if (error := done.exception()) is not None:
            _LOG.error("a password could not be checked: %s", type(error).__name__)
        told(None if error is not None else done.result())


def _check(stored: str, password: bytes) -> bool:
    from balancer.matching.hashing import is_password  # a worker without passwords starts sooner

    return is_password(stored, password)
