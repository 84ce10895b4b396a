"""Statuses follow the models that workers serve, also while models come faster than they are taken."""

from __future__ import annotations

from ingress.writing.gateway.in_use import Judgement, JudgementsInUse


def test_a_judgement_waits_for_its_model() -> None:
    judgements, first = JudgementsInUse(), Judgement(generation=1)
    assert judgements.current(0) is None
    judgements.offer(first)
    assert judgements.current(0) is None
    assert judgements.waits()
    assert judgements.current(1) is first
    assert not judgements.waits()
    assert judgements.current(1) is first


def test_a_model_that_was_taken_is_not_overtaken_for_ever() -> None:
    judgements = JudgementsInUse()
    made = [Judgement(generation=number) for number in range(1, 10)]
    judgements.offer(made[0])
    found = []
    for number in range(1, 9):
        judgements.offer(made[number])
        found.append(judgements.current(number))  # the workers are always one behind
    assert found[0] is made[0]
    assert len(set(map(id, found))) > 3
    assert judgements.current(9) is made[8]
    assert not judgements.waits()


def test_of_several_that_are_in_use_the_newest_counts() -> None:
    judgements, newest = JudgementsInUse(), Judgement(generation=3)
    for each in (Judgement(generation=1), Judgement(generation=2), newest):
        judgements.offer(each)
    assert judgements.current(3) is newest
    assert not judgements.waits()


def test_a_judgement_of_the_same_model_is_in_use_at_once() -> None:
    judgements, later = JudgementsInUse(), Judgement(generation=1, seen_at=7)
    judgements.offer(Judgement(generation=1))
    assert judgements.current(1) is not None
    judgements.offer(later)
    assert judgements.current(1) is later


def test_all_are_served_when_none_waits_for_workers() -> None:
    judgements = JudgementsInUse()
    assert judgements.are_served(0)
    judgements.offer(Judgement(generation=2))
    assert not judgements.are_served(1)
    assert judgements.are_served(2)
