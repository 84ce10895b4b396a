"""Runs hooks of the operator for an explanation of a folder: in the process of the command, and never in a proxy.

A hook may wait as long as its timeout says. An isolated hook runs here as well, without its limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from balancer.explain.hook_runs import RunHookGate
from balancer.matching.gates.hooks import about_hook
from balancer.matching.gates.making import GateMaker, RefusingGate, make_gate
from balancer.matching.gates.verdicts import Gate
from balancer.model.gates import GateRule
from balancer.model.hooks import HookCode, HookRule
from ingress.following.hook_files import HookFiles
from ingress.settings.hooks import RegisteredHook
from zonal_hooks.loading import Hook, NotAHook, load_module, load_text
from zonal_hooks.messages import Message
from zonal_hooks.testing import called
from zonal_hooks.verdicts import Failed, Verdict


class RunCaller:
    """Calls one hook with the settings of one route, and waits for it."""

    __slots__ = ("_hook", "_settings", "problem")

    def __init__(self, hook: Hook, settings: Any) -> None:
        self._hook = hook
        self._settings = settings
        self.problem = ""

    def call(self, phase: str, message: Message) -> Verdict:
        """The verdict, at once."""
        verdict = called(self._hook.functions[phase], message, self._settings)
        self.problem = f"{verdict.outcome}: {verdict.why}" if isinstance(verdict, Failed) else ""
        return verdict


def hooks_in(places: Sequence[Path]) -> tuple[RegisteredHook, ...]:
    """The hooks in files and folders, and those of installed packages. Raises `HooksUnusable`."""
    return HookFiles(places).open().hooks


def running_gates(hooks: Sequence[RegisteredHook]) -> GateMaker:
    """What makes gates whose hooks are run. Raises `NotAHook` for one that cannot be loaded here."""
    loaded = {each.name: _loaded(each.code) for each in hooks}

    def make(rule: GateRule) -> Gate:
        return _gate(rule, loaded) if isinstance(rule, HookRule) else make_gate(rule)

    return make


def _gate(rule: HookRule, loaded: Mapping[str, Hook]) -> Gate:
    try:
        hook = loaded[rule.name]
        return RunHookGate(rule, RunCaller(hook, hook.settings(rule.settings)))
    except (KeyError, NotAHook):
        return RefusingGate(about_hook(rule))


def _loaded(code: HookCode) -> Hook:
    return load_module(code.key, code.module) if code.module else load_text(code.key, code.text, code.path)
