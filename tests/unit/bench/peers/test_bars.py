"""Whether a run meets the bars."""

from __future__ import annotations

import pytest

from tests.bench.peers.bars import BARS, Bar, bars, demand, judgement, verdict
from tests.bench.peers.cases import CASES, COMPILED, CONTENDERS
from tests.bench.peers.samples import Figures, Measure, Sample


def measured(measure: Measure = Measure.CPU, **values: float) -> Figures:
    return Figures(
        Sample(case="get", contender=name, round=0, figures={measure.value: value}) for name, value in values.items()
    )


@pytest.mark.parametrize(("zonal", "words"), [(39.9, "met"), (40.0, "met"), (50.0, "**missed** by 25%")])
def test_a_ratio_is_held_against_its_bar(zonal: float, words: str) -> None:
    found = verdict(Bar(case="get", limit=2.0), measured(nginx=20.0, zonal=zonal))
    assert found.is_met is (words == "met")
    assert judgement(found) == words


def test_what_nobody_measured_is_not_met() -> None:
    found = verdict(Bar(case="get", limit=2.0), measured(zonal=20.0))
    assert not found.is_met
    assert judgement(found) == "not measured"


def test_a_bar_without_a_peer_is_absolute() -> None:
    bar = Bar(case="get", limit=10.0, against="", measure=Measure.CONNECTION, unit="KiB")
    assert verdict(bar, measured(Measure.CONNECTION, zonal=9.0)).is_met
    assert judgement(verdict(bar, measured(Measure.CONNECTION, zonal=15.0))) == "**missed** by 50%"
    assert demand(bar) == "≤ 10 KiB"


def test_a_bar_may_ask_for_at_least() -> None:
    bar = Bar(case="get", limit=1.8, is_least=True, measure=Measure.RATE)
    assert verdict(bar, measured(Measure.RATE, nginx=100.0, zonal=190.0)).is_met
    assert judgement(verdict(bar, measured(Measure.RATE, nginx=100.0, zonal=90.0))) == "**missed** by 50%"
    assert demand(bar) == "≥ 1.8 times nginx (requests/s)"


def test_a_bar_of_the_compiled_build_says_so() -> None:
    bar = Bar(case="get", limit=1.25, contender=COMPILED)
    assert verdict(bar, measured(Measure.CPU, nginx=20.0, zonal=50.0, **{COMPILED: 24.0})).is_met
    assert demand(bar) == "≤ 1.25 times nginx, compiled"


def test_two_workers_are_judged_by_their_rate_only_where_there_are_cores_for_them() -> None:
    assert [bar.measure for bar in bars(2) if bar.case == "workers"] == [Measure.CPU]
    assert [bar.measure for bar in bars(4) if bar.case == "workers"] == [Measure.RATE]


def test_every_bar_is_of_a_case_in_which_both_take_part() -> None:
    contenders = {case.name: case.contenders for case in CASES}
    for bar in (*bars(2), *bars(8)):
        assert bar.contender in contenders[bar.case]
        assert not bar.against or bar.against in contenders[bar.case]


def test_every_case_has_a_bar_of_what_it_measures() -> None:
    judged = {(bar.case, bar.measure) for bar in bars(2)}
    assert {(case.name, case.measure) for case in CASES} == judged


def test_every_contender_is_known() -> None:
    assert {name for case in CASES for name in case.contenders} == set(CONTENDERS)
    assert len(BARS) == len(set(BARS))
