"""Workers hear of each other when failures begin and what follows, and newcomers hear what is known."""

from __future__ import annotations

from balancer.picking.ejections import EjectionStep
from balancer.picking.failing import FailingRow, FailingRows
from balancer.workers.siblings import Siblings

KEY, PLACE = "shop/cart:80", "10.0.0.1:80"


class Worker:
    def __init__(self) -> None:
        self.failing = FailingRows()
        self.heard: list[FailingRow] = []

    def hear(self, rows: tuple[FailingRow, ...]) -> None:
        self.heard += rows


def row(failures: int, at: float | None = None, *, answers: bool = False) -> FailingRow:
    return FailingRow(KEY, PLACE, failures, answers, None if at is None else EjectionStep(at, at + 10.0))


def three() -> tuple[Siblings, Worker, Worker, Worker]:
    workers = Worker(), Worker(), Worker()
    return Siblings(lambda: workers), *workers


def test_others_hear_when_failures_begin_and_when_the_state_changes() -> None:
    siblings, one, other, third = three()
    for each in (row(1), row(2), row(5), row(5, 1.0), row(0, 1.0, answers=True), row(1, 1.0), row(2, 2.0)):
        siblings.told(one, [each])
    assert other.heard == third.heard == [row(1), row(5, 1.0), row(1, 1.0), row(2, 2.0)]
    assert one.heard == []
    assert one.failing.rows[KEY, PLACE] == row(2, 2.0), "replicas are told everything"


def test_nobody_hears_twice_what_another_one_has_taken_over() -> None:
    siblings, one, other, third = three()
    siblings.told(one, [row(5, 1.0)])
    siblings.told(other, [row(0, 1.0, answers=True)])
    assert third.heard == [row(5, 1.0)]
    assert one.heard == []


def test_a_newcomer_hears_what_fails_now() -> None:
    siblings, one, other, third = three()
    siblings.told(one, [row(5, 1.0)])
    siblings.told(other, [FailingRow(KEY, "10.0.0.2:80", 0, answers=True)])
    third.heard.clear()
    siblings.joined(third)
    assert third.heard == [row(5, 1.0)]
    siblings.told(one, [row(0)])
    third.heard.clear()
    siblings.joined(third)
    assert third.heard == []
