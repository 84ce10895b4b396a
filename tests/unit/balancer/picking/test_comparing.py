"""One endpoint beside the others: much worse, by more than chance, and not by one client's word."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.picking.comparing import ERRORS, Comparison, Score, errors_apart, row_least

counts = st.integers(0, 500)


def compared(own: Score, others: Score, rest: Score | None = None) -> Comparison:
    return Comparison(own, own if rest is None else rest, others)


@pytest.mark.parametrize(
    ("own", "others", "expected"),
    [
        (Score(10, 10), Score(0, 10), True),
        (Score(4, 4), Score(0, 1000), False),  # too few answers
        (Score(5, 5), Score(0, 1000), True),
        (Score(1000, 1000), Score(0, 4), False),  # nothing to compare with
        (Score(40, 100), Score(0, 100), True),
        (Score(9, 100), Score(0, 10_000), False),  # worse, but not far worse
        (Score(3, 20), Score(1, 100), False),  # chance explains it
        (Score(100, 100), Score(100, 100), False),
        (Score(100, 100), Score(40, 100), True),
    ],
)
def test_who_is_far_worse(own: Score, others: Score, expected: bool) -> None:
    assert compared(own, others).is_far_worse(10) is expected


def test_other_clients_must_meet_failures_too() -> None:
    assert not compared(Score(90, 100), Score(0, 100), rest=Score(0, 10)).is_far_worse(10)
    assert compared(Score(90, 100), Score(0, 100), rest=Score(5, 10)).is_far_worse(10)


def test_without_answers_nothing_is_known() -> None:
    nothing = Score(0.0, 0.0)
    assert nothing.share == 0.0
    assert not compared(nothing, nothing).is_known
    assert errors_apart(nothing, nothing) == 0.0


def test_for_many_answers_it_is_the_usual_quotient() -> None:
    one, other = Score(5200, 10_000), Score(5000, 10_000)
    usual = 0.02 / math.sqrt(0.51 * 0.49 * 2 / 10_000)
    assert errors_apart(one, other) == pytest.approx(usual, rel=0.01)


@given(counts, counts, counts, counts)
def test_it_is_symmetric_never_negative_and_zero_for_equal_shares(bad: int, good: int, more: int, well: int) -> None:
    one, other = Score(bad, bad + good), Score(more, more + well)
    assert errors_apart(one, other) == pytest.approx(errors_apart(other, one))
    assert errors_apart(one, other) >= 0.0
    assert errors_apart(one, one) == pytest.approx(0.0, abs=1e-5)
    if bad + good == more + well and bad == more:
        assert errors_apart(one, other) < ERRORS


@pytest.mark.parametrize(
    ("others", "least"),
    [
        (Score(0, 0), 1),
        (Score(0, 100), 1),
        (Score(1, 200), 2.6),
        (Score(5, 100), 4.5),
        (Score(40, 100), 14.3),
        (Score(400, 1000), 15),
        (Score(2, 3), 10),  # of which little is known
        (Score(1000, 1000), 2770),
    ],
)
def test_a_row_must_be_longer_where_others_fail_as_well(others: Score, least: float) -> None:
    assert row_least(others) == pytest.approx(least, rel=0.01)
