"""Limits with the counts of a store: what it is asked, and what holds while it is away."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.matching.gates.limiting import RateGate
from balancer.matching.gates.making import GateTools, make_gate
from balancer.matching.gates.stored_limiting import StoredRateGate
from balancer.matching.gates.verdicts import PASSED, Asked, Reply, Verdict
from balancer.model.entry_points import HTTP
from balancer.model.limits import LimitScope, Rate, RateLimit
from balancer.sharing.rates import Schedule
from tests.questions import question_of

RULE = RateLimit("shop/web", (Rate(1, 1, 0), Rate(10, 60, 5)), exempt=("10.0.0.0/8",), scope=LimitScope.FLEET)
DENIED = Reply(503, kind=ErrorKind.RATE_LIMITED)


class Store:
    """Keeps what it is asked until the test answers; says at once that it is away if it is."""

    def __init__(self, *, is_away: bool = False) -> None:
        self.is_away = is_away
        self.asked: list[tuple[Sequence[bytes], Sequence[Schedule]]] = []
        self.tell: Callable[[bool | None], None] = lambda _: None

    def ask(
        self, tenant: str, keys: Sequence[bytes], schedules: Sequence[Schedule], tell: Callable[[bool | None], None]
    ) -> Store | None:
        self.asked.append((keys, schedules))
        self.tell = tell
        return None if self.is_away else self

    def cancel(self) -> None:
        """Nobody asks any more."""


def asked(client: str = "192.0.2.1") -> Asked:
    return Asked(question_of("http://shop.test/").request, Origin(peer=client, entry_point=HTTP), secure=False)


def test_the_answer_of_the_store_is_the_verdict() -> None:
    store, told = Store(), list[Verdict]()
    gate = StoredRateGate(RULE, None, store)
    for answer, verdict in ((True, PASSED), (False, DENIED)):
        assert gate.judge(asked(), told.append) is store
        store.tell(answer)
        assert told.pop() == verdict


def test_each_client_and_each_rate_has_a_key_that_lies_in_one_place() -> None:
    store = Store()
    for client in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        StoredRateGate(RULE, None, store).judge(asked(client), lambda _: None)
    first, again, other = (keys for keys, _ in store.asked)
    assert first == again != other
    assert [key.rpartition(b":")[2] for key in first] == [b"0", b"1"]
    assert first[0].partition(b"}")[0] == first[1].partition(b"}")[0], (
        "servers of a cluster divide keys by what braces hold"
    )
    assert store.asked[0][1] == (Schedule(10**9, 0), Schedule(6 * 10**9, 30 * 10**9))


def test_without_an_answer_the_replica_judges_and_without_counters_it_refuses() -> None:
    away, told = Store(is_away=True), list[Verdict]()
    assert StoredRateGate(RULE, None, away).judge(asked(), told.append) == DENIED
    late = Store()
    StoredRateGate(RULE, None, late).judge(asked(), told.append)
    late.tell(None)
    assert told == [DENIED]


def test_who_is_exempt_is_not_asked_about() -> None:
    store = Store()
    assert StoredRateGate(RULE, None, store).judge(asked("10.1.2.3"), lambda _: None) is PASSED
    assert store.asked == []


def test_only_limits_of_the_fleet_are_counted_in_the_store() -> None:
    tools = GateTools(limit_store=Store())
    assert isinstance(make_gate(RULE, tools), StoredRateGate)
    assert isinstance(make_gate(RateLimit("shop/web", RULE.rates), tools), RateGate)
    assert isinstance(make_gate(RULE), RateGate)
    (fact,) = make_gate(RULE, tools).describe().facts
    assert "counted in the store of limits" in fact
