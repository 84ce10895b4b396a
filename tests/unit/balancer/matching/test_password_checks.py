"""Which password is checked next: turns, bounds, what is remembered, and who is told."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.password_checks import CheckLimits, CheckWaiter, PasswordChecks, Told

LIMITS = CheckLimits(at_once=1, waiting_for_asker=4, waiting_for_secret=8, waiting=16, remembered=2)


class Alarm:
    def __init__(self, call: Callable[[], None]) -> None:
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        self.cancelled = True


class Bench:
    """Checks whose threads and clock the test plays."""

    def __init__(self, limits: CheckLimits = LIMITS) -> None:
        self.running: list[tuple[str, bytes, Told]] = []
        self.alarms: list[Alarm] = []
        self.heard: list[tuple[bytes, bool | None]] = []
        self.checks = PasswordChecks(key=b"k" * 32, run=self._run, later=self._later, limits=limits)

    def _run(self, stored: str, password: bytes, told: Told) -> None:
        self.running.append((stored, password, told))

    def _later(self, seconds: float, call: Callable[[], None]) -> Alarm:
        self.alarms.append(Alarm(call))
        return self.alarms[-1]

    def ask(
        self, password: bytes, *, asker: object = "path", secret: str = "shop/pw", stored: str = "hash"
    ) -> bool | CheckWaiter | None:
        def told(verdict: bool | None) -> None:
            self.heard.append((password, verdict))

        return self.checks.check(stored, password, asker=asker, secret=secret, told=told)

    def finish(self, verdict: bool | None = False) -> bytes:
        """End the check that runs; the password that was checked."""
        _, password, told = self.running.pop(0)
        told(verdict)
        return password


def test_a_verdict_is_told_and_remembered() -> None:
    bench = Bench()
    assert isinstance(bench.ask(b"right"), CheckWaiter)
    assert bench.heard == []
    bench.finish(True)
    assert bench.heard == [(b"right", True)]
    assert bench.ask(b"right") is True
    bench.ask(b"wrong")
    bench.finish(False)
    assert bench.ask(b"wrong") is False
    assert bench.running == []
    assert all(alarm.cancelled for alarm in bench.alarms)


def test_another_stored_form_is_another_check() -> None:
    bench = Bench()
    bench.ask(b"right", stored="old")
    bench.finish(True)
    assert isinstance(bench.ask(b"right", stored="new"), CheckWaiter)


def test_where_the_stored_form_ends_and_the_password_begins_counts() -> None:
    bench = Bench()
    bench.ask(b"bc", stored="a")
    bench.finish(True)
    assert bench.ask(b"c", stored="ab") is not True


def test_wrong_passwords_never_displace_right_ones() -> None:
    bench = Bench()
    bench.ask(b"right")
    bench.finish(True)
    for number in range(5):
        bench.ask(b"wrong%d" % number)
        bench.finish(False)
    assert bench.ask(b"right") is True
    assert bench.ask(b"wrong4") is False
    assert isinstance(bench.ask(b"wrong0"), CheckWaiter), "only so many are remembered"


def test_the_same_password_is_checked_once_for_all_who_wait() -> None:
    bench = Bench()
    for _ in range(3):
        bench.ask(b"right")
    assert len(bench.running) == 1
    bench.finish(True)
    assert bench.heard == [(b"right", True)] * 3
    assert bench.running == []


def test_askers_take_turns() -> None:
    bench = Bench()
    for number in range(4):
        bench.ask(b"flood%d" % number, asker="flooded")
    bench.ask(b"mine", asker="quiet")
    assert [bench.finish() for _ in range(5)] == [b"flood0", b"flood1", b"mine", b"flood2", b"flood3"]


def test_a_tenant_with_many_paths_gets_no_more_turns_than_its_neighbour() -> None:
    bench = Bench()
    for number in range(5):
        bench.ask(b"flood%d" % number, asker=number, secret="greedy/pw")
    for number in range(2):
        bench.ask(b"mine%d" % number, asker="quiet", secret="modest/pw")
    order = [bench.finish() for _ in range(7)]
    assert order == [b"flood0", b"flood1", b"mine0", b"flood2", b"mine1", b"flood3", b"flood4"]


def test_a_tenant_leaves_one_thread_to_others() -> None:
    bench = Bench(msgspec.structs.replace(LIMITS, at_once=3))
    for number in range(4):
        bench.ask(b"flood%d" % number, secret="greedy/pw")
    assert [password for _, password, _ in bench.running] == [b"flood0", b"flood1"]
    bench.ask(b"mine", secret="modest/pw")
    assert [password for _, password, _ in bench.running] == [b"flood0", b"flood1", b"mine"]


@pytest.mark.parametrize("verdict", [True, False])
def test_what_is_remembered_of_one_tenant_does_not_displace_that_of_another(verdict: bool) -> None:
    bench = Bench(msgspec.structs.replace(LIMITS, remembered=4))
    bench.ask(b"mine", secret="modest/pw")
    bench.finish(verdict)
    for number in range(20):
        bench.ask(b"%d" % number, secret="greedy/pw")
        bench.finish(verdict)
    assert bench.ask(b"mine", secret="modest/pw") is verdict


def test_over_a_bound_nobody_waits() -> None:
    bench = Bench()
    for number in range(4):
        assert bench.ask(b"%d" % number, asker="a") is not None
    assert bench.ask(b"4", asker="a") is None, "the bound of one path"
    for number in range(4):
        assert bench.ask(b"%d" % number, asker="b", stored="b") is not None
    assert bench.ask(b"4", asker="c") is None, "the bound of one Secret"
    for number in range(4):
        assert bench.ask(b"%d" % number, asker="d", secret="tea/pw", stored="d") is not None
    assert bench.checks.waiting == 12
    assert bench.ask(b"4", asker="e", secret="tea/other") is None, "as many are free as the tenant holds"
    assert bench.ask(b"4", asker="e", secret="shop/other") is None, "the tenant holds half of all"
    assert bench.ask(b"4", asker="f", secret="third/pw") is not None


def test_who_leaves_is_not_told_and_makes_room() -> None:
    bench = Bench()
    bench.ask(b"first")
    waiter = bench.ask(b"second")
    assert isinstance(waiter, CheckWaiter)
    waiter.cancel()
    waiter.cancel()
    assert bench.checks.waiting == 1
    assert bench.finish() == b"first"
    assert bench.running == [], "nobody wants the second any more"
    assert bench.heard == [(b"first", False)]


def test_a_check_that_runs_ends_without_those_who_left() -> None:
    bench = Bench()
    waiter = bench.ask(b"right")
    assert isinstance(waiter, CheckWaiter)
    waiter.cancel()
    assert bench.checks.waiting == 0
    bench.finish(True)
    assert bench.heard == []
    assert bench.ask(b"right") is True


def test_who_waits_too_long_is_told_so_once() -> None:
    bench = Bench()
    bench.ask(b"slow")
    bench.alarms[0].call()
    assert bench.heard == [(b"slow", None)]
    bench.finish(True)
    assert bench.heard == [(b"slow", None)]


def test_a_check_that_fails_is_not_remembered() -> None:
    bench = Bench()
    bench.ask(b"right")
    bench.finish(None)
    assert bench.heard == [(b"right", None)]
    assert isinstance(bench.ask(b"right"), CheckWaiter)


def test_who_is_told_may_leave_another_one() -> None:
    bench = Bench()
    others: list[CheckWaiter] = []

    def cancels_others(_: bool | None) -> None:
        for other in others:
            other.cancel()

    bench.checks.check("hash", b"x", asker="a", secret="s", told=cancels_others)
    waiter = bench.ask(b"x")
    assert isinstance(waiter, CheckWaiter)
    others.append(waiter)
    bench.finish(True)
    assert bench.heard == []
    assert bench.checks.waiting == 0


STEPS = st.lists(
    st.tuples(st.sampled_from(["ask", "finish", "leave", "expire"]), st.integers(0, 9), st.sampled_from("abc")),
    max_size=60,
)


@given(STEPS)
def test_whatever_happens_everybody_is_told_once_and_the_bounds_hold(steps: list[tuple[str, int, str]]) -> None:
    bench = Bench(msgspec.structs.replace(LIMITS, at_once=2))
    waiting: list[CheckWaiter] = []
    asked = left = 0
    for what, number, asker in steps:
        if what == "ask":
            found = bench.ask(b"%d" % number, asker=asker, secret=f"{asker}/pw")
            if isinstance(found, CheckWaiter):
                waiting.append(found)
                asked += 1
        elif what == "finish" and bench.running:
            bench.finish(number % 2 == 0)
        elif what == "leave" and waiting:
            heard = len(bench.heard)
            before = bench.checks.waiting
            waiting.pop(number % len(waiting)).cancel()
            left += before - bench.checks.waiting
            assert len(bench.heard) == heard
        elif what == "expire" and bench.alarms:
            alarm = bench.alarms[number % len(bench.alarms)]
            if not alarm.cancelled:
                alarm.call()
        assert bench.checks.waiting <= LIMITS.waiting
        assert len(bench.running) <= 2
    while bench.running:
        bench.finish()
    assert bench.checks.waiting == 0
    assert len(bench.heard) == asked - left


@pytest.mark.parametrize("size", [0, 32, 64])
def test_any_key_will_do(size: int) -> None:
    checks = PasswordChecks(key=b"k" * size, run=lambda *_: None, later=lambda _, call: Alarm(call))
    assert isinstance(checks.check("h", b"p", asker=0, secret="s", told=lambda _: None), CheckWaiter)
