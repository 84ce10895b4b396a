"""A handshake that costs much is told once, with the name that its client sent."""

from __future__ import annotations

from balancer.connections.handshake_costs import DEAR_SECONDS, HandshakeCost


def test_calls_add_up_and_are_told_once() -> None:
    told: list[str | None] = []
    cost = HandshakeCost(told.append)
    cost.add(DEAR_SECONDS, "a.test")
    assert told == []
    cost.add(0.001, "b.test")
    cost.add(1.0, "c.test")
    assert told == ["b.test"]


def test_one_call_may_be_enough() -> None:
    told: list[str | None] = []
    HandshakeCost(told.append).add(1.0, None)
    assert told == [None]
