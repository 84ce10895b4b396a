"""Scaled times keep the rules between them: times are multiplied, rates divided, and numbers stay."""

from __future__ import annotations

from ingress.times import ScalableTimes


class Rules(ScalableTimes, frozen=True, kw_only=True):
    pause_seconds: float = 4.0
    per_second: float = 10.0
    at_once: int = 3


def test_times_are_multiplied_rates_divided_and_numbers_stay() -> None:
    assert Rules(pause_seconds=8.0).scaled(0.5) == Rules(pause_seconds=4.0, per_second=20.0, at_once=3)
    assert Rules().scaled(1.0) == Rules()
