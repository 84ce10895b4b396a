"""One of several gates is enough: which one decides, what a refused client hears, and gates that wait."""

from __future__ import annotations

import pytest

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.any_of import AnyOfGate
from balancer.matching.gates.verdicts import About, Asked, Deny, Go, Reply, Resume, Verdict, Waiting
from balancer.model.entry_points import HTTP
from tests.questions import question_of

ASKED = Asked(question_of("http://shop.test/").request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)
FORBIDDEN = Deny(ErrorKind.SOURCE_DENIED)
CHALLENGE = Reply(401, ((b"WWW-Authenticate", b"Basic"),), kind=ErrorKind.UNAUTHORIZED)
SIGN_IN = Reply(302, ((b"Location", b"https://login.test/"),))
NOT_ALLOWED = Reply(403)
FAILED = Reply(500)
OVERLOADED = Deny(ErrorKind.OVERLOADED)


class Saying:
    """Says a verdict at once, or later."""

    def __init__(self, verdict: Verdict, *, waits: bool = False) -> None:
        self.verdict, self.waits = verdict, waits
        self.asked = self.cancelled = 0
        self.resume: Resume | None = None

    def describe(self) -> About:
        return About()

    def judge(self, asked: Asked, resume: Resume) -> Verdict | Waiting:
        self.asked += 1
        self.resume = resume
        return self if self.waits else self.verdict

    def cancel(self) -> None:
        self.cancelled += 1

    def tell(self) -> None:
        assert self.resume is not None
        self.resume(self.verdict)


def judged(*gates: Saying, withheld: tuple[str, ...] = ()) -> tuple[Verdict | Waiting, list[Verdict]]:
    resumed: list[Verdict] = []
    return AnyOfGate(gates, withheld).judge(ASKED, resumed.append), resumed


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ((Go(), CHALLENGE), Go()),
        ((FORBIDDEN, Go()), Go()),
        ((FORBIDDEN, CHALLENGE), CHALLENGE),
        ((CHALLENGE, FORBIDDEN), CHALLENGE),
        ((CHALLENGE, SIGN_IN), SIGN_IN),
        ((CHALLENGE, NOT_ALLOWED), CHALLENGE),
        ((FORBIDDEN, NOT_ALLOWED), NOT_ALLOWED),
        ((FORBIDDEN,), FORBIDDEN),
        ((FORBIDDEN, FAILED, Go()), FAILED),
        ((CHALLENGE, OVERLOADED, Go()), OVERLOADED),
        ((FORBIDDEN, Deny(ErrorKind.PATH_CLOSED), Go()), Deny(ErrorKind.PATH_CLOSED)),
    ],
)
def test_the_verdict(verdicts: tuple[Verdict, ...], expected: Verdict, waits: bool) -> None:
    gates = [Saying(verdict, waits=waits) for verdict in verdicts]
    found, resumed = judged(*gates)
    for gate in gates:
        if waits and gate.asked:
            gate.tell()
    assert (resumed if waits else [found]) == [expected]


def test_after_the_first_that_lets_in_no_other_is_asked() -> None:
    second = Saying(CHALLENGE)
    judged(Saying(Go()), second)
    assert second.asked == 0


def test_what_is_withheld_is_so_whichever_gate_lets_in() -> None:
    passing = Go(((b"X-User", b"alice"),), frozenset({b"x-user"}))
    found, _ = judged(Saying(FORBIDDEN), Saying(passing), withheld=("authorization",))
    assert found == Go(passing.added, frozenset({b"x-user", b"authorization"}))


def test_what_is_withheld_has_no_other_spelling() -> None:
    request = question_of("http://shop.test/", ["X_User: root", "X_Other: 1"]).request
    asked = Asked(request, Origin(peer="192.0.2.1", entry_point=HTTP), secure=False)
    found = AnyOfGate([Saying(Go())], ["x-user"]).judge(asked, lambda verdict: None)
    assert found == Go(removed=frozenset({b"x-user", b"x_user"}))


def test_a_client_that_leaves_is_forgotten() -> None:
    slow, next_one = Saying(FORBIDDEN, waits=True), Saying(Go())
    found, resumed = judged(slow, next_one)
    assert not isinstance(found, Verdict)
    found.cancel()
    assert slow.cancelled == 1
    slow.tell()
    assert (resumed, next_one.asked) == ([], 0)


def test_a_second_word_of_the_same_gate_is_not_heard() -> None:
    slow, slower = Saying(FORBIDDEN, waits=True), Saying(Go(), waits=True)
    _, resumed = judged(slow, slower)
    slow.tell()
    slower.tell()
    slower.tell()
    assert resumed == [Go()]
