"""One request at its gates: order, waiting, cancelling, and being resumed once."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from balancer.errors import ErrorKind
from balancer.http.edits import FieldSetter, ResponseEditor
from balancer.http.origin import Origin
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.gates.verdicts import About, Asked, Deny, Gate, Go, NewPath, Reply, Resume, Verdict, Waiting
from balancer.model.entry_points import HTTP
from balancer.proxy.gating import Gating
from tests.questions import question_of

ASKED = Asked(question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)
DENIED = Deny(ErrorKind.SOURCE_DENIED)


class Saying:
    """A gate that says `verdict` at once."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        self.asked = 0

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Verdict:
        self.asked += 1
        return self.verdict


class Slow:
    """A gate that waits until the test resumes it."""

    def __init__(self) -> None:
        self.resume: Resume | None = None
        self.cancelled = 0

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Waiting:
        self.resume = resume
        return self

    def cancel(self) -> None:
        self.cancelled += 1

    def say(self, verdict: Verdict) -> None:
        assert self.resume is not None
        self.resume(verdict)


class Owner:
    """Notes what is told of one request."""

    def __init__(self, *gates: Gate) -> None:
        self.told: list[Go | ErrorKind | NewPath | Reply] = []
        self.waited: list[Gating] = []
        self.broken = 0
        self.spans: list[SpanContext] = []
        self.editors: tuple[ResponseEditor, ...] = ()
        self.held: list[Callable[[], None]] = []
        self.gating = Gating(self, gates, ASKED)
        self.gating.begin()

    def gates_passed(self, go: Go) -> None:
        self.told.append(go)

    def gate_denied(self, kind: ErrorKind) -> None:
        self.told.append(kind)

    def gate_replied(self, reply: Reply) -> None:
        self.told.append(reply)

    def gate_led(self, to: NewPath, go: Go) -> None:
        self.told += [to, go]

    def hold(self, release: Callable[[], None]) -> None:
        self.held.append(release)

    def edit_response(self, editors: tuple[ResponseEditor, ...]) -> None:
        self.editors += editors

    def record_span(self, span: SpanContext) -> None:
        self.spans.append(span)

    def await_gate(self, gating: Gating) -> None:
        self.waited.append(gating)

    def break_off(self) -> None:
        self.broken += 1


def go(name: bytes) -> Go:
    return Go(added=((name, b"1"),), removed=frozenset((name.lower(),)))


def test_a_gate_may_answer_at_once_or_later() -> None:
    reply, slow, last = Reply(302), Slow(), Saying(Go())
    owner = Owner(Saying(reply), last)
    assert (owner.told, last.asked) == ([reply], 0)
    owner = Owner(slow, last)
    slow.say(reply)
    assert (owner.told, last.asked) == ([reply], 0)


def test_the_editors_of_all_gates_change_the_response() -> None:
    first, second = FieldSetter(((b"A", b"1"),)), FieldSetter(((b"B", b"2"),))
    owner = Owner(Saying(Go(editors=(first,))), Saying(Go(editors=(second,))))
    assert owner.told == [Go(editors=(first, second))]


def test_a_request_that_is_matched_anew_takes_what_gates_have_said_with_it() -> None:
    last = Saying(Go())
    owner = Owner(Saying(go(b"A")), Saying(NewPath(b"/b", 1)), last)
    assert (owner.told, last.asked) == ([NewPath(b"/b", 1), go(b"A")], 0)


def test_gates_are_asked_in_order_until_one_refuses() -> None:
    first, second, third = Saying(Go()), Saying(DENIED), Saying(Go())
    assert Owner(first, second, third).told == [ErrorKind.SOURCE_DENIED]
    assert (first.asked, second.asked, third.asked) == (1, 1, 0)


def test_a_gate_hears_what_earlier_gates_add() -> None:
    class Hearing(Saying):
        def describe(self) -> About:
            return About()

        def judge(self, asked: Asked, resume: Resume) -> Verdict:
            heard.append(asked.added)
            return super().judge(asked, resume)

    heard: list[object] = []
    Owner(Hearing(go(b"A")), Hearing(Go()), Hearing(go(b"B")), Hearing(Go()))
    assert heard == [(), ((b"A", b"1"),), ((b"A", b"1"),), ((b"A", b"1"), (b"B", b"1"))]


def test_what_all_gates_change_is_told_together() -> None:
    assert Owner(Saying(go(b"X-A")), Saying(go(b"X-B"))).told == [
        Go(((b"X-A", b"1"), (b"X-B", b"1")), frozenset((b"x-a", b"x-b")))
    ]


def test_the_gates_after_one_that_waits_are_asked_when_it_has_spoken() -> None:
    slow, after = Slow(), Saying(go(b"X-B"))
    owner = Owner(Saying(go(b"X-A")), slow, after)
    assert owner.waited == [owner.gating]
    assert (owner.told, after.asked) == ([], 0)
    slow.say(Go())
    assert owner.told == [Go(((b"X-A", b"1"), (b"X-B", b"1")), frozenset((b"x-a", b"x-b")))]


def test_a_gate_that_waited_may_refuse() -> None:
    slow, after = Slow(), Saying(Go())
    owner = Owner(slow, after)
    slow.say(DENIED)
    assert (owner.told, after.asked) == ([ErrorKind.SOURCE_DENIED], 0)


@pytest.mark.parametrize("again", [Go(), DENIED])
def test_a_second_verdict_of_the_same_gate_counts_for_nothing(again: Verdict) -> None:
    slow = Slow()
    owner = Owner(slow)
    slow.say(Go())
    slow.say(again)
    assert owner.told == [Go()]


def test_a_second_verdict_is_not_that_of_the_gate_that_waits_now() -> None:
    first, second = Slow(), Slow()
    owner = Owner(first, second)
    first.say(Go())
    first.say(Go())
    assert owner.told == []
    second.say(DENIED)
    assert owner.told == [ErrorKind.SOURCE_DENIED]


def test_a_client_that_leaves_cancels_what_is_waited_for_once() -> None:
    slow, after = Slow(), Saying(Go())
    owner = Owner(slow, after)
    owner.gating.client_lost(ErrorKind.CLIENT_LEFT)
    owner.gating.client_lost(ErrorKind.CLIENT_LEFT)
    assert (owner.told, slow.cancelled) == ([ErrorKind.CLIENT_LEFT], 1)
    slow.say(Go())
    assert (owner.told, after.asked) == ([ErrorKind.CLIENT_LEFT], 0)


def test_a_gate_that_speaks_before_it_waits_is_a_mistake_that_is_seen() -> None:
    class Hasty(Slow):
        def describe(self) -> About:
            return About()

        def judge(self, asked: Asked, resume: Resume) -> Waiting:
            resume(Go())
            return self

    with pytest.raises(RuntimeError):
        Owner(Hasty())
    slow = Slow()
    owner = Owner(slow, Hasty())
    slow.say(Go())
    assert (owner.told, owner.broken) == ([], 1)


def test_a_span_is_told_even_if_a_later_gate_refuses() -> None:
    span = SpanContext("1" * 32, "2" * 16, "", sampled=True, operation="", origin=ASKED.origin)
    owner = Owner(Saying(Go(span=span)), Saying(DENIED))
    assert owner.spans == [span]
    assert owner.told == [ErrorKind.SOURCE_DENIED]


def test_editors_for_every_answer_count_even_if_a_later_gate_refuses() -> None:
    editor = FieldSetter(((b"X-A", b"1"),))
    owner = Owner(Saying(Go(always=(editor,))), Saying(Deny(ErrorKind.SOURCE_DENIED)))

    assert owner.editors == (editor,)
    assert owner.told == [ErrorKind.SOURCE_DENIED]
