"""Loads the hooks of the operator that run in the worker, and calls them.

A hook here is trusted as the program is: what it does to the process cannot be undone. What can be seen is how long it
holds the event loop, and the log names it.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from time import perf_counter
from typing import Any, Final

from balancer.connections.isolated_hooks import IsolatedHooks
from balancer.matching.gates.hooks import HookCall, HookCaller
from balancer.metrics.recorder import Recorder
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.absences import NEVER_ABSENT, Absences, AttendedWait
from zonal_hooks.calling import Running, Watch, begin
from zonal_hooks.loading import Function, Hook, NotAHook, forget, load_module, load_text
from zonal_hooks.messages import Message
from zonal_hooks.verdicts import Failed, Verdict

_LOG = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 0.1
_TOLD_EVERY_SECONDS: Final = 10.0
_GENERATIONS_KEPT: Final = 2  # the texts of the publication before, whose requests may still be under way


class LoopWatch(Watch):
    """Tells which hook holds the event loop: after each long step, and while one does not end.

    `look` is called by a thread of its own, because nothing else runs then.
    """

    __slots__ = ("_seen", "_told_at", "_told_step")

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0
        self._told_step = 0
        self._told_at: dict[str, float] = {}

    def look(self) -> None:
        """Tells a step that was under way at the last look, too."""
        name, step = self.holder, self.step
        if name and step == self._seen != self._told_step:
            self._told_step = step
            _LOG.warning("hook %s holds the event loop of this worker and does not give it back", name)
        self._seen = step

    def tell(self, name: str, seconds: float) -> None:
        """Tells a long step, now and then."""
        now = perf_counter()
        if now - self._told_at.get(name, -_TOLD_EVERY_SECONDS) >= _TOLD_EVERY_SECONDS:
            self._told_at[name] = now
            _LOG.warning("hook %s held the event loop of this worker for %.1f ms", name, seconds * 1000)


class HookCounts:
    """Counts the calls of hooks, and tells failures in the log, now and then.

    `count` counts one that did not fail, by its name and its seconds.
    """

    __slots__ = ("_recorder", "_told_at", "count")

    def __init__(self, recorder: Recorder) -> None:
        self.count = recorder.hook_call
        self._recorder = recorder
        self._told_at: dict[tuple[str, str], float] = {}

    def ended(self, name: str, seconds: float, verdict: Verdict) -> None:
        """One call of a hook has ended."""
        self.count(name, seconds)
        if isinstance(verdict, Failed):
            self._recorder.hook_error(name, verdict.outcome)
            now = perf_counter()
            if now - self._told_at.get((name, verdict.outcome), -_TOLD_EVERY_SECONDS) >= _TOLD_EVERY_SECONDS:
                self._told_at[name, verdict.outcome] = now
                _LOG.warning("hook %s has no answer (%s): %s", name, verdict.outcome, verdict.why)


class LocalCall:
    """A call that waits in this process."""

    __slots__ = ("_counts", "_function", "_left", "_message", "_running")

    def __init__(
        self, function: Function, message: Message, running: Running, counts: HookCounts, absences: Absences
    ) -> None:
        self._function = function
        self._message = message
        self._running = running
        self._counts = counts
        self._left = AttendedWait(function.declared.timeout, running.started, absences).left

    def tell_to(self, tell: Callable[[Verdict], None]) -> None:
        self._running.wait(self._function.declared.timeout, self._message, partial(self._heard, tell), self._left)

    def cancel(self) -> None:
        self._running.cancel()

    def _heard(self, tell: Callable[[Verdict], None], verdict: Verdict) -> None:
        self._counts.ended(self._function.hook, perf_counter() - self._running.started, verdict)
        tell(verdict)


class LocalCaller:
    """Calls one hook in this process, with the settings of one route."""

    __slots__ = ("_absences", "_count", "_counts", "_functions", "_settings", "_watch")

    def __init__(
        self, hook: Hook, settings: Any, watch: Watch, counts: HookCounts, absences: Absences = NEVER_ABSENT
    ) -> None:
        self._absences = absences
        self._functions = hook.functions
        self._settings = settings
        self._watch = watch
        self._counts = counts
        self._count = counts.count

    def call(self, phase: str, message: Message) -> Verdict | HookCall:
        function, watch = self._functions[phase], self._watch
        told = begin(function, message, self._settings, watch)
        if type(told) is Running:
            return LocalCall(function, message, told, self._counts, self._absences)
        if type(told) is Failed:
            self._counts.ended(function.hook, watch.seconds, told)
        else:
            self._count(function.hook, watch.seconds)
        return told


class LocalHooks:
    """The hooks that run in this worker."""

    __slots__ = ("_absences", "_counts", "_ended", "_loaded", "_old", "_thread", "watch")

    def __init__(self, counts: HookCounts, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        self._absences = absences
        self._counts = counts
        self.watch = LoopWatch()
        self._loaded: dict[tuple[str, str], Hook] = {}
        self._old: list[list[Hook]] = []
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    def load(self, codes: Iterable[HookCode]) -> None:
        """Loads the hooks of the next publication. Raises `NotAHook`: then nothing has changed."""
        wanted = {(code.key, code.digest): code for code in codes if not code.isolated}
        loaded = {key: self._loaded.get(key) or _loaded(code) for key, code in wanted.items()}
        gone = [hook for key, hook in self._loaded.items() if key not in loaded]
        self._loaded = loaded
        if gone:
            self._old.append(gone)
        while len(self._old) > _GENERATIONS_KEPT:
            for hook in self._old.pop(0):
                if (hook.name, hook.digest) not in loaded:
                    forget(hook)
        if loaded and self._thread is None:
            self._thread = threading.Thread(target=self._look, name="hook-watch", daemon=True)
            self._thread.start()

    def caller(self, rule: HookRule) -> HookCaller | None:
        """What calls the hook of a route; None if it is not loaded or the settings do not fit."""
        hook = self._loaded.get((rule.name, rule.digest))
        if hook is None:
            return None
        try:
            settings = hook.settings(rule.settings)
        except NotAHook:
            return None
        return LocalCaller(hook, settings, self.watch, self._counts, self._absences)

    def stop(self) -> None:
        """Ends the thread that looks."""
        self._ended.set()

    def _look(self) -> None:
        while not self._ended.wait(_LOOK_SECONDS):
            self.watch.look()


class HookCallers:
    """All hooks of a worker: those that run in it, and those that run in a process of their own."""

    __slots__ = ("_isolated", "_local")

    def __init__(self, recorder: Recorder, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        counts = HookCounts(recorder)
        self._local = LocalHooks(counts, absences)
        self._isolated = IsolatedHooks(counts.ended, absences=absences)

    def load(self, codes: Sequence[HookCode]) -> None:
        """Takes the hooks of the next publication. Raises `NotAHook`: then nothing has changed."""
        self._local.load(codes)
        self._isolated.load(codes)

    def caller(self, rule: HookRule) -> HookCaller | None:
        """What calls the hook of a route; None if it cannot be called."""
        return (self._isolated if rule.isolated else self._local).caller(rule)

    def stop(self) -> None:
        """Ends everything that runs for hooks."""
        self._local.stop()
        self._isolated.stop()


def _loaded(code: HookCode) -> Hook:
    return load_module(code.key, code.module) if code.module else load_text(code.key, code.text, code.path)
