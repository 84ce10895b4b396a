"""New ports get bound ports that nobody uses, or has used lately."""

from __future__ import annotations

import math

from ingress.sources.events import BoundPort
from ingress.translation.gateway.own_ports import ExposedPort, Exposure
from ingress.translation.gateway.register import Register
from ingress.writing.gateway.planning import LEAST_REST_SECONDS, REST_SECONDS, Departures, planned

TARGETS = range(20000, 20004)


def exposure(name: str, *ports: int) -> Exposure:
    return Exposure(("infra", name), tuple(ExposedPort(port, "http") for port in ports))


def register(*ports: BoundPort) -> Register:
    return Register({}, {((each.namespace, each.name), each.port): each for each in ports})


def bound(name: str, port: int, target: int) -> BoundPort:
    return BoundPort("infra", name, port, target, "http")


def plan(
    *exposures: Exposure,
    known: Register | None = None,
    before: tuple[BoundPort, ...] = (),
    resting: tuple[int, ...] = (),
    rested: tuple[int, ...] = (),
    former: tuple[BoundPort, ...] = (),
) -> tuple[BoundPort, ...]:
    unfit = {*resting, *(each.target for each in former)}
    return planned(exposures, known or Register(), before, TARGETS, unfit=unfit, rested=rested, former=former)


def test_each_new_port_gets_a_number_of_its_own() -> None:
    found = plan(exposure("a", 80, 443), exposure("b", 80))
    assert len({each.target for each in found}) == 3
    assert {(each.name, each.port) for each in found} == {("a", 80), ("a", 443), ("b", 80)}


def test_what_is_registered_is_not_planned_and_its_number_not_given_away() -> None:
    found = plan(exposure("a", 80), exposure("b", 80, 81, 82), known=register(bound("a", 80, 20001)))
    assert {each.name for each in found} == {"b"}
    assert {each.target for each in found} == {20000, 20002, 20003}


def test_a_plan_stays_as_it_was_until_its_number_is_taken() -> None:
    before = (bound("a", 80, 20003),)
    assert plan(exposure("a", 80), before=before) == before
    (moved,) = plan(exposure("a", 80), before=before, known=register(bound("z", 80, 20003)))
    assert moved.target != 20003
    assert plan(before=before) == ()


def test_there_are_no_more_than_are_bound_and_the_oldest_come_first() -> None:
    found = plan(exposure("old", 1, 2, 3), exposure("new", 1, 2, 3))
    assert len(found) == len(TARGETS)
    assert sum(each.name == "old" for each in found) == 3


def test_a_number_that_rests_is_not_used() -> None:
    assert {each.target for each in plan(exposure("a", 1, 2), resting=(20000, 20001))} == {20002, 20003}


def test_numbers_that_have_rested_longest_are_used_where_no_other_is_left() -> None:
    resting = (20000, 20001, 20002)
    assert {each.target for each in plan(exposure("a", 1), resting=resting, rested=(20001, 20000))} == {20003}
    found = plan(exposure("a", 1, 2, 3, 4), resting=resting, rested=(20001, 20000))
    assert {each.target for each in found} == {20003, 20001, 20000}
    assert plan(exposure("a", 1, 2, 3, 4), before=found, resting=resting, rested=(20001, 20000)) == found


def test_a_port_that_comes_back_gets_its_number_although_that_rests() -> None:
    former = (bound("a", 80, 20002), bound("b", 80, 20003))
    back = plan(exposure("a", 80), exposure("new", 80), former=former)
    assert back[0] == bound("a", 80, 20002)
    assert back[1].target in {20000, 20001}
    assert plan(exposure("a", 80), before=back[:1], former=former) == back[:1]
    (other,) = plan(exposure("a", 80), former=former, known=register(bound("z", 80, 20002)))
    assert other.target not in {20002, 20003}
    raw = (BoundPort("infra", "a", 80, 20002, "tcp"),)
    assert plan(exposure("a", 80), former=raw)[0].target != 20002, "its clients speak something else"


def test_a_number_that_is_in_use_again_is_no_rested_one() -> None:
    known = register(bound("z", 80, 20001))
    assert plan(exposure("a", 1), known=known, resting=tuple(TARGETS), rested=(20001,)) == ()


def test_a_number_may_be_used_in_need_after_a_minute() -> None:
    departures, first, second = Departures(), bound("a", 80, 20000), bound("b", 80, 20001)
    departures.note(register(first, second), 0.0)
    departures.note(register(second), 1.0)
    departures.note(register(), 2.0)
    assert departures.rested(LEAST_REST_SECONDS + 0.5) == ()
    assert departures.next_at(31.9, 30.0) == 32.0
    assert departures.next_at(33.0, 30.0) == 1.0 + LEAST_REST_SECONDS
    assert departures.rested(LEAST_REST_SECONDS + 1.5) == (20000,)
    assert departures.rested(LEAST_REST_SECONDS + 2.0) == (20000, 20001)


def test_a_number_rests_after_it_has_left_and_is_served_for_a_while() -> None:
    departures, gone = Departures(), bound("a", 80, 20000)
    departures.note(register(gone), 0.0)
    assert departures.resting() == frozenset()
    departures.note(register(), 100.0)
    assert departures.leaving(101.0, 30.0) == (gone,)
    assert departures.next_at(101.0, 30.0) == 130.0
    assert departures.leaving(130.0, 30.0) == ()
    assert departures.resting() == {20000}
    assert departures.former() == (gone,)
    departures.note(register(), 100.0 + REST_SECONDS)
    assert departures.resting() == frozenset()
    assert departures.next_at(1000.0, 30.0) == math.inf


def test_a_number_that_comes_back_rests_no_more() -> None:
    departures, item = Departures(), bound("a", 80, 20000)
    departures.note(register(item), 0.0)
    departures.note(register(), 1.0)
    departures.note(register(item), 2.0)
    assert departures.resting() == frozenset()
