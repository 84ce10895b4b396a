"""Who fights about a status is left alone for longer each time, and forgotten in peace."""

from __future__ import annotations

from ingress.writing.gateway.contests import Contests

KEY = ("HTTPRoute", "infra", "route")


def test_some_rewrites_are_no_contest() -> None:
    contests = Contests()
    for at in (0.0, 40.0, 80.0, 120.0):
        contests.rewrote(KEY, at)
    assert contests.waits_until(KEY) == 0.0
    assert contests.contested(120.0) == ()


def test_the_pause_doubles_up_to_five_minutes() -> None:
    contests, now, pauses = Contests(), 0.0, []
    for _ in range(10):
        contests.rewrote(KEY, now)
        pauses.append(max(0.0, contests.waits_until(KEY) - now))
        now = max(now + 1.0, contests.waits_until(KEY))
    assert pauses == [0.0, 0.0, 10.0, 20.0, 40.0, 80.0, 160.0, 300.0, 300.0, 300.0]
    assert contests.contested(now) == (KEY,)


def test_peace_ends_a_contest() -> None:
    contests = Contests()
    for at in (0.0, 1.0, 2.0):
        contests.rewrote(KEY, at)
    assert contests.contested(30.0) == (KEY,)
    assert contests.contested(63.0) == ()
    assert contests.waits_until(KEY) == 0.0
