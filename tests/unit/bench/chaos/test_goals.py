"""A good outcome meets every goal, and each thing that goes wrong misses one."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.chaos.course import Descriptors
from tests.bench.chaos.goals import judged
from tests.unit.bench.chaos.outcomes import GOOD, held, played, served


def missed(**changes: Any) -> list[str]:
    return [verdict.goal for verdict in judged(GOOD._replace(**changes)) if not verdict.is_met]


def test_a_good_outcome_meets_every_goal() -> None:
    assert missed() == []


@pytest.mark.parametrize(
    ("changes", "goal"),
    [
        ({"reports": ["asan.7: ERROR"]}, "reports of AddressSanitizer"),
        ({"workers_after": [11, 13]}, "workers lost or replaced"),
        ({"workers_after": [11]}, "workers lost or replaced"),
        ({"restarts": 1}, "workers lost or replaced"),
        ({"trouble": ["Traceback"]}, "tracebacks and errors in the log"),
        ({"beside": [served("late")]}, "failures of the modest tenant over HTTP/2"),
        ({"wrong_posts": 1}, "its bodies that were wrong or sent twice"),
        ({"held": [held("parent", 50, 80, 80, 89)]}, "resident set of the parent: last quarter"),
        ({"rubbish_bytes": 1}, "bytes at an honest endpoint that are no request"),
        ({"connections_left": {"client_idle": 1}}, "connections left when all is quiet"),
        ({"descriptors_after": Descriptors(33, 20)}, "descriptors of the parent, quiet"),
        ({"descriptors_after": Descriptors(30, 23)}, "descriptors of a worker, quiet"),
        ({"exit_status": -9}, "exit status"),
        ({"processes_left": 1}, "processes left behind"),
    ],
)
def test_each_thing_that_goes_wrong_misses_its_goal(changes: dict[str, Any], goal: str) -> None:
    assert missed(**changes) == [goal]


def test_an_actor_without_a_turn_and_one_with_a_fault_are_missed() -> None:
    idle, faulty = played("idle", "client"), played("faulty", "client")
    idle.turns = 0
    faulty.faults.append("faulty: KeyError()")
    assert missed(played=[idle, faulty]) == ["actors who took a turn", "faults of actors"]


def test_a_worker_that_came_later_is_judged_as_a_lost_one_and_not_by_its_memory() -> None:
    late = held("worker, the 3.", 10, 90)
    assert missed(held=[*GOOD.held, late]) == []
