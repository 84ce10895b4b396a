"""An event loop whose time jumps to the next timer: hours pass in a moment, and always in the same order."""

from __future__ import annotations

import asyncio
import selectors
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar
from unittest.mock import patch

_Result = TypeVar("_Result")


class VirtualLoop(asyncio.SelectorEventLoop):
    """Its time is `now`, in seconds from `BEGINNING` on, and passes only while nothing is ready."""

    BEGINNING = 1000.0

    def __init__(self) -> None:
        self.now = self.BEGINNING
        super().__init__(_Jumping(self._jump))

    def time(self) -> float:
        return self.now

    def _jump(self, seconds: float | None) -> None:
        assert seconds is not None, "nothing will ever happen"
        self.now += seconds


class _Jumping(selectors.SelectSelector):
    """Never waits: the time that it should wait has passed."""

    def __init__(self, jump: Callable[[float | None], None]) -> None:
        super().__init__()
        self._jump = jump

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if (ready := super().select(0)) or timeout == 0:
            return ready
        self._jump(timeout)
        return []


def run_virtually(main: Callable[[VirtualLoop], Coroutine[Any, Any, _Result]]) -> _Result:
    """Runs `main` on a loop of its own. `time.perf_counter` is the time of that loop meanwhile."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        with patch.object(time, "perf_counter", loop.time):
            return runner.run(main(loop))
