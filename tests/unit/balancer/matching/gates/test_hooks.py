"""What a hook is asked, and what its verdicts mean for a request."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.hooks import (
    HookAsked,
    HookGate,
    HookScene,
    answer_of,
    merged,
    request_of,
    route_hooks,
)
from balancer.matching.gates.verdicts import PASSED, Asked, Deny, Go, Reply, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.hooks import HookPhase, HookRule
from tests.questions import question_of
from zonal_hooks.messages import Choice, Edits, Message, Request
from zonal_hooks.verdicts import PASSED as HOOK_PASSED
from zonal_hooks.verdicts import Denied, Failed, Passed, Replied
from zonal_hooks.verdicts import Verdict as HookVerdict

ASKED = Asked(question_of("http://shop.test/a?b=c").request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)


class Waits:
    """A call that waits until the test answers it."""

    def __init__(self) -> None:
        self._tell: Callable[[HookVerdict], None] | None = None
        self.is_cancelled = False

    def tell_to(self, tell: Callable[[HookVerdict], None]) -> None:
        self._tell = tell

    def tell(self, verdict: HookVerdict) -> None:
        assert self._tell is not None
        self._tell(verdict)

    def cancel(self) -> None:
        self.is_cancelled = True


class Calls:
    """Answers each call with the next of `verdicts`; None waits."""

    def __init__(self, *verdicts: HookVerdict | None) -> None:
        self.verdicts = list(verdicts)
        self.seen: list[tuple[str, Message]] = []
        self.waiting: Waits | None = None

    def call(self, phase: str, message: Message) -> HookVerdict | Waits:
        self.seen.append((phase, message))
        verdict = self.verdicts.pop(0)
        if verdict is None:
            self.waiting = Waits()
            return self.waiting
        return verdict


def asked_in(scene: HookScene) -> HookAsked:
    return HookAsked(ASKED.request, ASKED.origin, ASKED.secure, scene=scene)


def gate(calls: Calls, *phases: HookPhase) -> HookGate:
    return HookGate(HookRule("tenant", "d", phases or (HookPhase("request", 0.02),)), calls)


def never(_: Verdict) -> None:
    raise AssertionError("the gate answers at once")


def edits(name: bytes, value: bytes = b"1") -> Passed:
    return Passed(Edits(frozenset({name}), ((name, value),)))


@pytest.mark.parametrize(
    ("verdict", "said"),
    [
        (HOOK_PASSED, PASSED),
        (edits(b"x-a"), Go(((b"x-a", b"1"),), frozenset({b"x-a"}))),
        (Denied(401), Reply(401, kind=ErrorKind.HOOK_DENIED)),
        (Replied(302, ((b"Location", b"/"),), b""), Reply(302, ((b"Location", b"/"),), b"")),
        (Failed("raised"), Deny(ErrorKind.HOOK_FAILED)),
    ],
)
def test_a_verdict_is_that_of_a_gate(verdict: HookVerdict, said: Verdict) -> None:
    assert gate(Calls(verdict)).judge(ASKED, never) == said
    calls, heard = Calls(None), list[Verdict]()
    waiting = gate(calls).judge(ASKED, heard.append)
    assert not isinstance(waiting, Verdict)
    assert calls.waiting is not None
    calls.waiting.tell(verdict)
    calls.waiting.tell(verdict)
    assert heard == [said]


def test_a_hook_may_let_pass_where_it_fails() -> None:
    assert gate(Calls(Failed("raised")), HookPhase("request", 0.02, passes_on_error=True)).judge(ASKED, never) is PASSED


def test_a_call_ends_with_its_client() -> None:
    calls = Calls(None)
    waiting = gate(calls).judge(ASKED, never)
    assert not isinstance(waiting, Verdict)
    waiting.cancel()
    assert calls.waiting is not None
    assert calls.waiting.is_cancelled
    calls.waiting.tell(HOOK_PASSED)


def test_pick_follows_request_and_sees_its_edits() -> None:
    calls = Calls(edits(b"x-a"), Passed(choice=Choice(canary=True)))
    asked = asked_in(HookScene("ns/name"))
    both = gate(calls, HookPhase("request", 0.02), HookPhase("pick", 0.02), HookPhase("response", 0.02))
    assert both.judge(asked, never) == Go(((b"x-a", b"1"),), frozenset({b"x-a"}))
    assert [phase for phase, _ in calls.seen] == ["request", "pick"]
    assert calls.seen[1][1].headers.get("x-a") == "1"
    assert asked.scene.choice == Choice(canary=True)


def test_a_function_that_waits_follows_one_that_waits() -> None:
    calls, heard = Calls(None, None), list[Verdict]()
    both = gate(calls, HookPhase("request", 0.02), HookPhase("pick", 0.02))
    waiting = both.judge(ASKED, heard.append)
    assert not isinstance(waiting, Verdict)
    first = calls.waiting
    assert first is not None
    first.tell(edits(b"x-a"))
    second = calls.waiting
    assert second is not None
    assert second is not first
    assert calls.seen[1][1].headers.get("x-a") == "1"
    waiting.cancel()
    assert second.is_cancelled
    second.tell(HOOK_PASSED)
    assert heard == []


def test_a_later_hook_takes_the_place_of_what_an_earlier_one_added() -> None:
    scene = HookScene(said=Go(((b"X-A", b"gate"), (b"X-B", b"gate")), frozenset({b"x-b"})))
    scene.take(Go(((b"X-A", b"hook"),), frozenset({b"x-a"})))
    assert scene.said == Go(((b"X-B", b"gate"), (b"X-A", b"hook")), frozenset({b"x-a", b"x-b"}))
    assert scene.removed == {b"x-a"}, "of hooks only"


def test_who_answers_is_noted() -> None:
    asked = asked_in(HookScene())
    gate(Calls(Denied(403))).judge(asked, never)
    assert asked.scene.answered_by == "tenant"


def test_a_hook_with_a_response_only_judges_nothing() -> None:
    assert gate(Calls(), HookPhase("response", 0.02)).judge(ASKED, never) is PASSED


def test_a_request_is_what_earlier_gates_made_of_it() -> None:
    scene = HookScene("ns/name", Go(((b"X-User", b"me"),), frozenset({b"user-agent", b"x-user"})), body=b"x")
    asked = msgspec.structs.replace(
        asked_in(scene), request=question_of("http://shop.test/a?b=c", ("User-Agent: x", "X-User: root")).request
    )
    seen = request_of(asked, scene)
    assert isinstance(seen, Request)
    assert (seen.target, seen.client, seen.route, seen.body) == ("/a?b=c", "192.0.2.1", "ns/name", b"x")
    assert (seen.headers.all("x-user"), seen.headers.get("user-agent")) == (("me",), None)


def test_the_last_choice_counts() -> None:
    assert merged(Choice("off", True), Choice(canary=False, affinity_key="k")) == Choice("off", False, "k")
    assert answer_of(HOOK_PASSED) == Deny(ErrorKind.HOOK_FAILED)


def test_an_explanation_says_which_hook_is_asked() -> None:
    about = gate(Calls()).describe()
    assert "Hook tenant is asked." in about.facts[0]
    assert not about.is_foreseen


def test_hooks_of_a_route_are_told_apart() -> None:
    first = gate(Calls(), HookPhase("request", 0.02, takes_body=True))
    second = gate(Calls(), HookPhase("response", 0.02))
    made = route_hooks((first, second))
    assert (made.gates, made.responses, made.takes_body) == ((first, second), (second,), True)
    assert not route_hooks((second,)).takes_body
