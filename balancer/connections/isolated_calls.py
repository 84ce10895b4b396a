"""One call of an isolated hook: who waits for it, how long, and what its process is asked."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import perf_counter

from zonal_hooks.talking import Call
from zonal_hooks.verdicts import Verdict

CallEnded = Callable[[str, float, Verdict], None]
"""Told the name of a hook, the seconds of a call, and its verdict."""


class IsolatedCall:
    """One call under way. It is what is waited for.

    `began` is the time of the loop at which it was made, and `seconds` the timeout of the hook.
    """

    __slots__ = ("_alarm", "_ended", "_name", "_started", "_tell", "asked", "began", "is_over", "seconds", "tenant")

    def __init__(self, name: str, seconds: float, asked: Call, began: float, ended: CallEnded) -> None:
        self._name = name
        self.seconds = seconds
        self.asked = asked
        self.tenant = tenant_of(asked)
        self.began = began
        self._tell: Callable[[Verdict], None] = _untold
        self._ended = ended
        self._started = perf_counter()
        self._alarm: asyncio.TimerHandle | None = None
        self.is_over = False

    def tell_to(self, tell: Callable[[Verdict], None]) -> None:
        self._tell = tell

    def expire_with(self, alarm: asyncio.TimerHandle) -> None:
        """`alarm` takes the place of the last one, and is cancelled when the call is over."""
        if self._alarm is not None:
            self._alarm.cancel()
        self._alarm = alarm

    def cancel(self) -> None:
        self.is_over = True
        if self._alarm is not None:
            self._alarm.cancel()

    def end(self, verdict: Verdict) -> None:
        """Tells the verdict, unless the call is over."""
        if self.is_over:
            return
        self.cancel()
        self._ended(self._name, perf_counter() - self._started, verdict)
        self._tell(verdict)


def tenant_of(call: Call) -> str:
    """The namespace for which a call is made."""
    return call.route.partition("/")[0]


def _untold(_: Verdict) -> None:
    """Nobody waits for the verdict."""
