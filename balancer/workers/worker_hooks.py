"""The hooks of a worker. What runs them is imported with the first hook, because most workers have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from balancer.matching.gates.hooks import HookCaller
from balancer.metrics.recorder import Recorder
from balancer.model.hooks import HookCode, HookRule
from balancer.runtime.absences import NEVER_ABSENT, Absences

if TYPE_CHECKING:
    from balancer.workers.hook_callers import HookCallers


class WorkerHooks:
    """The hooks of the publication in use, and of the one before."""

    __slots__ = ("_absences", "_callers", "_recorder")

    def __init__(self, recorder: Recorder, absences: Absences = NEVER_ABSENT) -> None:
        """`absences` are those of the loop."""
        self._recorder = recorder
        self._absences = absences
        self._callers: HookCallers | None = None

    def load(self, codes: Sequence[HookCode]) -> None:
        """Takes the hooks of the next publication. Raises `NotAHook`: then nothing has changed."""
        if self._callers is None and codes:
            from balancer.workers.hook_callers import HookCallers

            self._callers = HookCallers(self._recorder, self._absences)
        if self._callers is not None:
            self._callers.load(codes)

    def caller(self, rule: HookRule) -> HookCaller | None:
        """What calls the hook of a route; None if it cannot be called."""
        return None if self._callers is None else self._callers.caller(rule)

    def stop(self) -> None:
        """Ends everything that runs for hooks."""
        if self._callers is not None:
            self._callers.stop()
