"""In a surge the share follows at once from what a zone gets done, and then waits for what that brings."""

from __future__ import annotations

import pytest

from balancer.sharing.peers import Seen
from balancer.zones.flow import ZoneFlow
from balancer.zones.surges import Surge, share_in_surge


def flow_of(picks: float, done: float) -> ZoneFlow:
    """A zone that gets and gets done so much a second."""
    flow = ZoneFlow()
    for _ in range(100):
        flow.learn(Seen(picks=picks * 0.1, done=done * 0.1), 0.1)
    return flow


@pytest.mark.parametrize(("young", "share"), [(True, 1 - 0.8 * 0.5), (False, 1 - 0.95 * 0.5)])
def test_what_leaves_lets_the_queue_shrink(young: bool, share: float) -> None:
    assert share_in_surge(0.0, flow_of(1000, 500), too_slow_seconds=0.0, young=young) == pytest.approx(share)


@pytest.mark.parametrize("part", [20.0, 5.0])
def test_what_came_in_the_same_window_counts_while_requests_of_others_become_known(part: float) -> None:
    flow = flow_of(100, 90)
    for _ in range(10):
        flow.learn(Seen(picks=100 * part * 0.1, done=80 * part * 0.1), 0.1)
    assert flow.has_changed
    assert share_in_surge(0.1, flow, too_slow_seconds=0.0, young=False) == pytest.approx(1 - 0.95 * 0.8, abs=0.03)


def test_a_queue_is_emptied_in_about_a_second() -> None:
    flow = flow_of(1000, 500)
    flow.note_queue(grows=True, is_full=True)
    assert share_in_surge(0.0, flow, too_slow_seconds=0.2, young=True) == pytest.approx(1 - 0.6 * 0.5)


def test_the_next_jump_waits_for_half_a_window_and_for_a_latency_that_does_not_fall() -> None:
    surge, flow = Surge(), flow_of(1000, 500)
    assert surge.is_young(0.0, 1.0)
    assert surge.may_jump(0.0, 1.0, flow, worsens=False)
    assert surge.is_young(0.5, 5.9)
    assert not surge.is_young(0.5, 6.0)
    assert not surge.may_jump(0.5, 1.05, flow, worsens=True)
    assert not surge.may_jump(0.5, 1.2, flow, worsens=False)
    assert surge.may_jump(0.5, 1.2, flow, worsens=True)
