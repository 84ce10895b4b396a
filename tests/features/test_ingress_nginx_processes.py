"""The cases that share a start behave in front of a real process with a worker process as in this process."""

from __future__ import annotations

import pytest

from tests.features.ingress_nginx.cases import all_cases, start_of
from tests.features.ingress_nginx.differences import DIFFERENT
from tests.features.ingress_nginx.playing import play_all
from tests.features.ingress_nginx.process_stage import staged_process

_FEWEST = 2  # a start of a process takes seconds


@pytest.mark.slow
def test_cases_that_share_a_start_pass_in_front_of_a_process() -> None:
    starts = [start_of(case) for case in all_cases()]
    chosen = [case for case in all_cases() if starts.count(start_of(case)) >= _FEWEST and case.id not in DIFFERENT]
    problems = play_all(chosen, staged_process)
    assert {case_id: found for case_id, found in problems.items() if found} == {}
