"""Hooks that an explanation runs: what they change, choose and answer, in sentences."""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.explain.hook_runs import RunHookGate, run_hooks
from balancer.http.origin import Origin
from balancer.matching.gates.hooks import about_hook
from balancer.matching.gates.making import RefusingGate
from balancer.matching.gates.verdicts import Asked, Deny, Reply
from balancer.model.entry_points import HTTP
from balancer.model.hooks import HookPhase, HookRule
from tests.questions import question_of
from zonal_hooks.messages import NO_CHOICE, Choice, Edits, Message
from zonal_hooks.verdicts import Denied, Failed, Passed, Verdict

ASKED = Asked(question_of("http://shop.test/a?b=c").request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)


class Says:
    """Gives one verdict, and keeps what it was asked."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.problem = verdict.why if isinstance(verdict, Failed) else ""
        self.seen: list[Message] = []

    def call(self, phase: str, message: Message) -> Verdict:
        self.seen.append(message)
        return self.verdict


def gate(name: str, verdict: Verdict, *, passes_on_error: bool = False) -> tuple[RunHookGate, Says]:
    says = Says(verdict)
    phases = (HookPhase("request", 0.02, passes_on_error=passes_on_error),)
    return RunHookGate(HookRule(name, "digest", phases), says), says


def test_a_later_hook_sees_what_an_earlier_one_did() -> None:
    edits = Edits(frozenset({b"x-a", b"x-b"}), ((b"X-A", b"1"),))
    first, _ = gate("first", Passed(edits, Choice(zone_policy="off")))
    second, asked = gate("second", Passed())
    found = run_hooks((first, second), ASKED, "shop/web")
    assert (found.answer, found.choice) == (None, Choice(zone_policy="off"))
    assert dict(asked.seen[0].raw)[b"x-a"] == b"1"
    assert found.steps == [
        "Hook first is run here.",
        "Hook first gives the endpoint X-A: 1.",
        "Hook first takes the field x-b away.",
        "Hook second is run here.",
        "A hook chooses the zone policy off.",
    ]


def test_an_answer_ends_the_hooks_and_a_failure_says_why() -> None:
    denies, _ = gate("denies", Denied(403))
    later, asked = gate("later", Passed())
    found = run_hooks((denies, later), ASKED, "shop/web")
    assert (found.answer, found.choice, asked.seen) == (Reply(403, kind=ErrorKind.HOOK_DENIED), NO_CHOICE, [])
    fails, _ = gate("fails", Failed("raised", "KeyError: tenant"))
    found = run_hooks((fails,), ASKED, "shop/web")
    assert found.answer == Deny(ErrorKind.HOOK_FAILED)
    assert found.steps[-1] == "Hook fails fails: KeyError: tenant."
    passes, _ = gate("passes", Failed("raised", "no"), passes_on_error=True)
    assert run_hooks((passes,), ASKED, "shop/web").answer is None


def test_a_hook_that_nobody_runs_is_named() -> None:
    about = about_hook(HookRule("tenant", "digest", ()))
    found = run_hooks((RefusingGate(about),), ASKED, "shop/web")
    assert (found.answer, found.steps) == (None, list(about.facts))
