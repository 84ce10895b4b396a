"""A bucket allows its burst at once and its rate in the long run, whatever the pattern of asking."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.runtime.token_buckets import TokenBucket


def test_it_begins_full_and_refills_at_its_rate() -> None:
    bucket = TokenBucket(burst=2, per_second=0.5)
    for _ in range(2):
        assert bucket.wait_seconds(100.0) == 0.0
        bucket.take()
    assert bucket.wait_seconds(100.0) == 2.0
    assert bucket.wait_seconds(101.5) == 0.5
    assert bucket.wait_seconds(102.0) == 0.0


def test_a_token_that_is_owed_makes_the_next_wait_longer() -> None:
    bucket = TokenBucket(burst=1, per_second=1)
    waits = []
    for _ in range(3):
        waits.append(bucket.wait_seconds(5.0))
        bucket.take()
    assert waits == [0.0, 1.0, 2.0]


def test_many_tokens_are_taken_at_once_and_more_than_it_holds_are_owed() -> None:
    bucket = TokenBucket(burst=30.0, per_second=10.0)
    assert bucket.holds(5.0, 30.0)
    assert not bucket.holds(5.0, 31.0)
    bucket.take(50.0)
    assert not bucket.holds(6.9)
    assert bucket.holds(7.2)
    assert not bucket.holds(1000.0, 31.0)


def test_it_may_begin_with_fewer_tokens_than_it_holds() -> None:
    assert TokenBucket(burst=30.0, per_second=10.0, at_first=5.0).holds(5.0, 5.0)
    assert not TokenBucket(burst=30.0, per_second=10.0, at_first=5.0).holds(5.0, 6.0)


def test_it_is_full_again_after_a_while_and_never_fuller() -> None:
    bucket = TokenBucket(burst=1, per_second=1)
    assert bucket.is_full(0.0)
    bucket.take()
    assert not bucket.is_full(0.5)
    assert bucket.is_full(1000.0)
    bucket.take()
    assert bucket.wait_seconds(1000.0) == 1.0


def test_a_clock_that_steps_back_gives_nothing() -> None:
    bucket = TokenBucket(burst=1, per_second=1)
    assert bucket.holds(10.0)
    bucket.take()
    assert bucket.wait_seconds(0.0) == 1.0
    assert bucket.wait_seconds(10.5) == pytest.approx(0.5)


@given(st.lists(st.floats(0, 3), max_size=60))
def test_no_span_sees_more_than_the_burst_and_its_share(pauses: list[float]) -> None:
    bucket, now, taken = TokenBucket(burst=5, per_second=2), 0.0, []
    for pause in pauses:
        now += pause
        if bucket.holds(now):
            bucket.take()
            taken.append(now)
    for first, begin in enumerate(taken):
        for last, end in enumerate(taken[first:], start=first):
            assert last - first + 1 <= 5 + 2 * (end - begin) + 1e-6
