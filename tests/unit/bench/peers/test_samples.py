"""Medians, and ratios inside a round."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.bench.peers.samples import Figures, Load, Measure, Sample, figures
from tests.properties import examples


def sample(contender: str, number: int, cpu: float, *, case: str = "get") -> Sample:
    return Sample(case=case, contender=contender, round=number, figures={Measure.CPU.value: cpu})


def test_cpu_time_is_shared_out_among_the_requests_that_were_answered() -> None:
    found = figures(Load(requests=1000, seconds=2.0, failed=250), cpu_seconds=0.05, memory_mib=9.0)
    assert found[Measure.CPU.value] == pytest.approx(50.0)
    assert found[Measure.RATE.value] == pytest.approx(500.0)
    assert found[Measure.FAILED.value] == pytest.approx(0.2)


def test_what_a_generator_does_not_say_is_no_figure() -> None:
    found = figures(Load(requests=0, seconds=2.0), cpu_seconds=0.05, memory_mib=9.0)
    assert found == {Measure.MEMORY.value: 9.0, Measure.FAILED.value: 0.0}


def test_a_figure_is_the_median_of_the_rounds() -> None:
    found = Figures([sample("nginx", number, cpu) for number, cpu in enumerate((20.0, 90.0, 22.0))])
    assert found.value("get", "nginx", Measure.CPU) == 22.0
    assert found.worst("get", "nginx", Measure.CPU) == 90.0


def test_a_ratio_is_the_median_of_the_ratios_of_each_round() -> None:
    samples = [sample("nginx", 0, 20.0), sample("zonal", 0, 40.0)]
    samples += [sample("nginx", 1, 40.0), sample("zonal", 1, 80.0)]
    samples += [sample("nginx", 2, 20.0), sample("zonal", 2, 90.0)]
    assert Figures(samples).ratio("get", "zonal", "nginx", measure=Measure.CPU) == pytest.approx(2.0)


def test_a_round_that_one_of_the_two_has_not_is_left_out() -> None:
    samples = [sample("nginx", 0, 20.0), sample("zonal", 0, 30.0), sample("zonal", 1, 90.0)]
    assert Figures(samples).ratio("get", "zonal", "nginx", measure=Measure.CPU) == pytest.approx(1.5)


def test_what_nobody_measured_is_none() -> None:
    found = Figures([sample("nginx", 0, 20.0)])
    assert found.value("tls", "nginx", Measure.CPU) is None
    assert found.worst("get", "zonal", Measure.CPU) is None
    assert found.ratio("get", "zonal", "nginx", measure=Measure.CPU) is None


def test_contenders_of_a_case_are_in_the_order_of_their_first_sample() -> None:
    found = Figures([sample("zonal", 0, 1.0), sample("nginx", 0, 1.0), sample("envoy", 0, 1.0, case="tls")])
    assert found.contenders("get") == ["zonal", "nginx"]


@examples(30)
@given(st.lists(st.floats(1, 1e6), min_size=1, max_size=7), st.floats(0.1, 10))
def test_a_machine_that_slows_both_changes_no_ratio(slowness: list[float], factor: float) -> None:
    samples = [sample("nginx", number, slow) for number, slow in enumerate(slowness)]
    samples += [sample("zonal", number, slow * factor) for number, slow in enumerate(slowness)]
    assert Figures(samples).ratio("get", "zonal", "nginx", measure=Measure.CPU) == pytest.approx(factor)
