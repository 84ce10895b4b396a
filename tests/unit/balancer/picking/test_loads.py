"""Averages follow what is slow at once, and of two the less busy one is taken."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.picking.loads import DECAY_SECONDS, Latency, Load, better_of_two


def test_a_load_starts_with_nothing_in_flight() -> None:
    assert Load().in_flight == 0


def test_a_slower_answer_counts_at_once_and_a_quicker_one_by_and_by() -> None:
    latency = Latency(seconds=0.1, now=0.0)
    latency.observe(2.0, 0.0)
    assert latency.at(0.0) == 2.0
    latency.observe(0.1, 1.0)
    assert 1.5 < latency.at(1.0) < 2.0


def test_without_answers_it_fades() -> None:
    latency = Latency(seconds=1.0, now=0.0)
    assert latency.at(DECAY_SECONDS) == pytest.approx(0.368, abs=0.001)


@given(st.lists(st.tuples(st.floats(0, 100), st.floats(0, 50)), min_size=1))
def test_it_never_leaves_the_range_of_what_was_observed(observations: list[tuple[float, float]]) -> None:
    latency, now = Latency(seconds=observations[0][0], now=0.0), 0.0
    for seconds, passing in observations:
        now += passing
        latency.observe(seconds, now)
        assert seconds <= latency.at(now) + 1e-9
        assert latency.at(now) <= max(each for each, _ in observations) + 1e-9


def test_of_none_there_is_none_and_of_one_the_one() -> None:
    assert better_of_two((), cost=float, random_below=random.randrange) is None
    assert better_of_two((7,), cost=float, random_below=random.randrange) == 7


@given(st.integers(2, 9), st.randoms(use_true_random=False))
def test_the_dearest_of_all_is_never_taken(count: int, chance: random.Random) -> None:
    picks = {better_of_two(range(count), cost=float, random_below=chance.randrange) for _ in range(30)}
    assert count - 1 not in picks


def test_equals_are_taken_equally_often() -> None:
    chance = random.Random(1)
    counts = Counter(better_of_two("abcd", cost=lambda _: 1.0, random_below=chance.randrange) for _ in range(4000))
    assert all(count == pytest.approx(1000, rel=0.15) for count in counts.values())
    assert len(counts) == 4
