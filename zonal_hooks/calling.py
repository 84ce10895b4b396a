"""Calls a function of a hook in this process: at once where it can, in a task where it has to wait."""

from __future__ import annotations

import asyncio
import inspect
import sys
import types
from collections.abc import Callable, Generator
from contextlib import suppress
from time import perf_counter
from typing import Any, Final, final

from zonal_hooks.loading import Function
from zonal_hooks.messages import Message
from zonal_hooks.verdicts import Failed, InvalidAnswer, Verdict, failure_of, verdict_of

HELD_SECONDS: Final = 0.005
"""A step of a hook that holds the event loop for longer is told."""


class Watch:
    """What code of hooks does to the event loop: a note of each step, which costs no call.

    `holder` is the hook whose step runs, empty for none. `step` counts steps, and `seconds` is what the last one took.
    """

    __slots__ = ("holder", "seconds", "step")

    def __init__(self) -> None:
        self.holder = ""
        self.seconds = 0.0
        self.step = 0

    def end(self, seconds: float) -> None:
        """A step has ended, which took so long."""
        name, self.holder = self.holder, ""
        self.seconds = seconds
        if seconds > HELD_SECONDS:
            self.tell(name, seconds)

    def tell(self, name: str, seconds: float) -> None:
        """A step of the hook `name` held the loop for longer than `HELD_SECONDS`. Nobody wants to know."""


Tell = Callable[[Verdict], None]

Left = Callable[[float], float]
"""How many seconds of a wait are left, at a time of the loop; 0: it is over."""

_COROUTINE: Final = types.CoroutineType
_TIMEOUT: Final = Failed("timeout", "it had no answer in time")


@final
class Running:
    """A call that waits. `tell` is called once with its verdict, never before `begin` has returned this object.

    `started` is when the call began, by `time.perf_counter`.
    """

    __slots__ = ("_alarm", "_coroutine", "_left", "_task", "_tell", "started", "verdict")

    def __init__(
        self,
        hook: str,
        coroutine: types.CoroutineType[Any, Any, Any],
        message: Message,
        watch: Watch,
        started: float,
    ) -> None:
        self.started = started
        self.verdict: Verdict | None = None
        self._coroutine = coroutine
        self._tell: Tell | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._left: Left | None = None
        loop = asyncio.get_running_loop()
        steps = _Steps(_steps(hook, coroutine, message, watch))
        if sys.version_info >= (3, 12):
            self._task = asyncio.Task(steps.run(), loop=loop, eager_start=True)
        else:
            self._task = loop.create_task(steps.run())
        if self._task.done():
            self.verdict = self._task.result()

    def wait(self, seconds: float, message: Message, tell: Tell, left: Left | None = None) -> None:
        """Waits for at most `seconds`, then tells. `left` may give more time when they are over."""
        self._tell = tell
        self._left = left
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._expire, message)
        self._task.add_done_callback(self._done)

    def cancel(self) -> None:
        """Nobody wants the verdict any more."""
        self._tell = None
        if self._alarm is not None:
            self._alarm.cancel()
        self._task.cancel()
        if inspect.getcoroutinestate(self._coroutine) == inspect.CORO_CREATED:
            self._coroutine.close()  # the task will never begin it

    def _expire(self, message: Message) -> None:
        loop = asyncio.get_running_loop()
        if self._left is not None and (more := self._left(loop.time())):
            self._alarm = loop.call_later(more, self._expire, message)
            return
        tell = self._tell
        message.end()
        self.cancel()
        if tell is not None:
            tell(_TIMEOUT)

    def _done(self, task: asyncio.Task[Verdict]) -> None:
        tell, self._tell = self._tell, None
        if self._alarm is not None:
            self._alarm.cancel()
        verdict = Failed("raised", "it was cancelled") if task.cancelled() else task.result()
        if tell is not None:
            tell(verdict)


class _Steps:
    """Makes a coroutine of a generator of steps, which a task wants."""

    __slots__ = ("_steps",)

    def __init__(self, steps: Generator[Any, Any, Verdict]) -> None:
        self._steps = steps

    def __await__(self) -> Generator[Any, Any, Verdict]:
        return self._steps

    async def run(self) -> Verdict:
        return await self


def begin(function: Function, message: Message, settings: Any, watch: Watch) -> Verdict | Running:
    """Calls `function`. The verdict, or a call that waits: then `Running.wait` comes next.

    Never raises, whatever the function does short of ending the process.
    """
    watch.step += 1
    watch.holder = function.hook
    started = perf_counter()
    try:
        returned = function.call(message, settings) if function.takes_settings else function.call(message)
        if type(returned) is _COROUTINE:
            if not function.answers_at_once:
                watch.end(perf_counter() - started)  # its steps come later, and may never begin
                running = Running(function.hook, returned, message, watch, started)
                return running if running.verdict is None else running.verdict
            answers: list[Any] = []
            for _ in _returning(returned, answers):
                returned.close()
                raise InvalidAnswer("it waits for something that is no future")
            returned = answers[0]
        verdict: Verdict = verdict_of(returned, message)
    except BaseException as error:
        end(message)
        verdict = failure_of(error)
    seconds = perf_counter() - started
    if seconds > HELD_SECONDS:
        watch.end(seconds)
    else:  # what `end` does, without a call
        watch.holder = ""
        watch.seconds = seconds
    return verdict


def end(message: Message) -> None:
    """Ends what a hook may still do to a message."""
    message.take()


@types.coroutine
def _returning(coroutine: Any, returned: list[Any]) -> Generator[Any, Any, None]:
    """Runs a coroutine. In a generator it ends without a StopIteration, which costs more than to call it."""
    returned.append((yield from coroutine))


def _steps(
    hook: str, coroutine: types.CoroutineType[Any, Any, Any], message: Message, watch: Watch
) -> Generator[Any, Any, Verdict]:
    """Runs a coroutine step by step. Whatever it raises ends here, also what would end an event loop."""
    value: Any = None
    error: BaseException | None = None
    while True:
        watch.step += 1
        watch.holder = hook
        started = perf_counter()
        try:
            waited = coroutine.send(value) if error is None else coroutine.throw(error)
        except StopIteration as done:
            return _verdict(done.value, message)
        except BaseException as raised:
            end(message)
            return failure_of(raised)
        finally:
            watch.end(perf_counter() - started)
        value, error = None, None
        try:
            value = yield waited
        except GeneratorExit:
            with suppress(BaseException):  # it may refuse to end, which is its own affair
                coroutine.close()
            raise
        except BaseException as raised:
            error = raised


def _verdict(returned: Any, message: Message) -> Verdict:
    try:
        return verdict_of(returned, message)
    except BaseException as error:
        end(message)
        return failure_of(error)
