"""Runs the hooks of a route about a request that nobody sends, for who asks for that, and says what they do. No I/O.

A caller that answers at once runs their code. Without one, hooks are named and not run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from balancer.matching.gates.hooks import HookAsked, HookCaller, HookGate, HookScene
from balancer.matching.gates.verdicts import Asked, Deny, Gate, Go, Reply
from balancer.model.hooks import HookRule
from zonal_hooks.messages import NO_CHOICE, Choice


class PromptCaller(HookCaller, Protocol):
    """Calls one hook and waits for it here. `problem` says why the last call failed, empty if it did not."""

    problem: str


class RunHookGate(HookGate):
    """The gate of a hook that an explanation runs."""

    __slots__ = ("prompt",)

    def __init__(self, rule: HookRule, caller: PromptCaller) -> None:
        super().__init__(rule, caller)
        self.prompt = caller


class HookRuns(NamedTuple):
    """What hooks say of a request: `answer` None lets it go on, as `choice` says. `steps` are sentences."""

    answer: Deny | Reply | None
    choice: Choice
    steps: list[str]


def run_hooks(gates: Iterable[Gate], asked: Asked, route: str) -> HookRuns:
    """Asks hooks in their order, until one answers. `route` is the object whose rules hold."""
    scene, steps = HookScene(route), list[str]()
    known = asked.captures, asked.request_id, asked.added, asked.is_servable
    asked = HookAsked(asked.request, asked.origin, asked.secure, *known, scene=scene)
    for gate in gates:
        if not isinstance(gate, RunHookGate):
            steps += gate.describe().facts
            continue
        verdict = gate.judge(asked, _never)
        steps.append(f"Hook {gate.name} is run here.")
        if gate.prompt.problem:
            steps.append(f"Hook {gate.name} fails: {gate.prompt.problem}.")
        if isinstance(verdict, Deny | Reply):
            return HookRuns(verdict, NO_CHOICE, steps)
        if isinstance(verdict, Go):
            steps += _edit_steps(gate.name, verdict)
            scene.take(verdict)
    return HookRuns(None, scene.choice, [*steps, *_choice_steps(scene.choice)])


def _edit_steps(name: str, verdict: Go) -> Iterator[str]:
    added = {field.lower() for field, _ in verdict.added}
    for field, value in verdict.added:
        yield f"Hook {name} gives the endpoint {_text(field)}: {_text(value)}."
    for field in sorted(verdict.removed - added):
        yield f"Hook {name} takes the field {_text(field)} away."


def _choice_steps(choice: Choice) -> Iterator[str]:
    if choice.canary is not None:
        words = {True: "the first canary", False: "the main backend"}
        chosen = choice.canary if isinstance(choice.canary, str) else words[choice.canary]
        yield f"A hook chooses {chosen}."
    if choice.zone_policy is not None:
        yield f"A hook chooses the zone policy {choice.zone_policy}."
    if choice.affinity_key is not None:
        yield "A hook chooses the key of a hash, which leads to one endpoint."


def _text(value: bytes) -> str:
    return value.decode(errors="backslashreplace")


def _never(_: object) -> None:
    raise AssertionError("a hook that answers at once never waits")
