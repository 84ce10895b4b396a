"""A zone is strained when it is slower than it was without a load of its own making."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.zones.strain import Average, RemoteLatency, Strain

TOLL_RATIO, TOLL_SECONDS = 0.05, 0.0005


def strain_after(*latencies: float, answers: int = 50, spilling: bool = False, strain: Strain | None = None) -> Strain:
    """Ticks of 0.1 s, each with `answers` of the same latency."""
    strain = strain or Strain(toll_ratio=TOLL_RATIO, toll_seconds=TOLL_SECONDS)
    for seconds in latencies:
        strain.learn(
            answers, answers * seconds, elapsed=0.1, rate=answers * 10.0, spilling=spilling, remote=RemoteLatency()
        )
    return strain


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0.001, 10)), min_size=1))
def test_an_average_stays_within_what_came(answers: list[tuple[int, float]]) -> None:
    average = Average()
    for count, seconds in answers:
        average.take(count, count * seconds, memory=100)
        average.fade(0.1, over_seconds=1.0, floor=20)
    came = [seconds for count, seconds in answers if count]
    assert average.count <= 100
    if came:
        assert min(came) - 1e-9 <= average.seconds <= max(came) + 1e-9


def test_an_average_that_faded_is_moved_by_less() -> None:
    fresh, faded = Average(), Average()
    for average in (fresh, faded):
        average.take(100, 2.0, memory=100)
    faded.fade(10.0, over_seconds=1.0, floor=20)
    for average in (fresh, faded):
        average.take(20, 2.0, memory=100)
    assert faded.count == 40
    assert fresh.seconds < faded.seconds == pytest.approx(0.06)


def test_other_zones_are_unknown_before_enough_answers() -> None:
    remote = RemoteLatency()
    remote.learn(29, 0.58, elapsed=0.1, rate=100)
    assert remote.bearable_seconds(toll_ratio=TOLL_RATIO, toll_seconds=TOLL_SECONDS) == 0.0
    remote.learn(10, 0.2, elapsed=0.1, rate=100)
    assert remote.is_known
    assert remote.bearable_seconds(toll_ratio=TOLL_RATIO, toll_seconds=TOLL_SECONDS) == pytest.approx(0.0215)


def test_nothing_is_said_after_a_few_answers() -> None:
    strain = strain_after(0.02, answers=49)
    assert not strain.is_known
    assert strain.limit_seconds == strain.clamp_seconds == float("inf")


def test_the_limit_is_the_baseline_and_the_toll() -> None:
    strain = strain_after(*[0.02] * 50)
    assert strain.baseline == pytest.approx(0.02)
    assert strain.limit_seconds == pytest.approx(0.0215)
    assert strain.clamp_seconds == pytest.approx(0.08)


def test_a_service_that_becomes_quicker_has_a_new_baseline() -> None:
    strain = strain_after(*[0.02] * 50, *[0.01] * 400)
    assert strain.baseline == pytest.approx(0.01, rel=0.02)


def test_a_slower_time_makes_the_baseline_rise_slowly() -> None:
    strain = strain_after(*[0.02] * 50, *[0.04] * 600)
    assert 0.02 < strain.baseline < 0.0203
    assert strain.steady_seconds == pytest.approx(0.04)


def test_the_baseline_stands_while_requests_leave_the_zone() -> None:
    strain = strain_after(*[0.02] * 50)
    strain_after(*[0.022] * 600, spilling=True, strain=strain)
    assert strain.baseline == pytest.approx(0.02)


def test_a_baseline_from_a_few_answers_in_a_queue_is_no_higher_than_what_a_few_answers_of_other_zones_say() -> None:
    """40 answers have an error of 8 %, so what they say counts with 43 % more, and 100 with 14 %. 29 say nothing."""
    for count, baseline in ((29, 0.2), (40, 0.06 * (1.0 + 5.4 * 0.5 / 40**0.5)), (100, 0.06 * (1.0 + 2.7 * 0.05))):
        strain = strain_after(*[0.2] * 3, answers=20)
        remote = RemoteLatency()
        remote.take(count, count * 0.06, memory=800)
        strain.learn(1, 0.3, elapsed=0.1, rate=9.0, spilling=True, remote=remote)
        assert strain.baseline == pytest.approx(baseline), count


def test_what_was_no_strain_is_forgiven_in_part() -> None:
    strain = strain_after(*[0.02] * 50, *[0.04] * 50)
    strain.forgive()
    assert strain.baseline == pytest.approx(0.03, rel=0.01)


def test_a_zone_that_is_noisy_of_itself_gets_a_higher_limit() -> None:
    quiet = strain_after(*[0.02] * 200)
    noisy = strain_after(*([0.018] * 10 + [0.022] * 10) * 10)
    assert noisy.limit_seconds / noisy.baseline > quiet.limit_seconds / quiet.baseline + 0.02


def test_a_sudden_change_is_believed_soon() -> None:
    strain = strain_after(*[0.02] * 50, *[0.06] * 4)
    assert strain.peak_seconds == pytest.approx(0.06)
    assert strain.quick_seconds > 0.05
    assert strain.steady_seconds > 0.045


def test_only_a_change_that_chance_does_not_explain_makes_the_past_count_for_little() -> None:
    """60 answers have an error of 6.5 %: 13 % more is chance, and half as much again is not."""
    noisy = strain_after(*[0.02] * 20, 0.0231)
    assert noisy.at_most(errors=2.0) == pytest.approx(0.0202 * 1.035, rel=0.01)
    changed = strain_after(*[0.02] * 20, *[0.03] * 3)
    assert changed.at_most(errors=2.0) > 0.027, "the past alone would say 0.0225"
