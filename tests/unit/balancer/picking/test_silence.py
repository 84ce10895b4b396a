"""Silent endpoints: by comparison only, at once, within the bound of ejections, and back with the first connection."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Ejection
from balancer.picking.ejections import Cause, Ejected
from balancer.picking.endpoint_health import Change
from balancer.picking.health import BackendHealth
from balancer.picking.members import Member
from balancer.picking.silence import (
    ASKING_MOST_SECONDS,
    LEAST_SECONDS,
    UNKNOWN_SECONDS,
    ZONE_LEAST_SECONDS,
    ZONE_SECONDS,
    BackendSilence,
)
from balancer.runtime.absences import NEVER_ABSENT, Absences
from tests import builders

QUICK = 0.001


class Site:
    """Members of a backend, one for each letter of `zones`, and what is known about their connects."""

    def __init__(
        self,
        zones: str = "abc",
        rules: Ejection | None = None,
        *,
        is_known: bool = True,
        absences: Absences = NEVER_ABSENT,
    ) -> None:
        self.members = [
            Member(builders.endpoint(f"10.0.0.{number}", zone=f"zone-{letter}" if letter != "-" else None))
            for number, letter in enumerate(zones)
        ]
        self.health = BackendHealth(rules or Ejection(), [member.health for member in self.members])
        self.silence = BackendSilence(self.health, self.members, absences)
        if is_known:
            self.connects(self.members[0], at=0.0)

    def connects(self, member: Member, *, at: float, seconds: float = QUICK) -> list[tuple[Member, Change]]:
        self.silence.began(member, at - seconds)
        self.silence.ended(member, at - seconds)
        return list(self.silence.connected(member, seconds, at))

    @property
    def silent(self) -> list[Member]:
        return [member for member in self.members if member.is_silent]


def test_a_connect_pending_for_long_while_another_endpoint_answers_ejects_at_once() -> None:
    site = Site()
    first, second, _ = site.members
    site.silence.began(second, 10.0)
    assert site.silence.heard(first, 10.0 + LEAST_SECONDS - 0.01) == ()
    assert site.silence.judge(10.0 + LEAST_SECONDS) == ((second, Change.FELL_SILENT),)
    assert not second.health.is_well
    assert site.silence.judge(20.0) == (), "told once"


def test_what_the_own_loop_missed_is_not_their_silence() -> None:
    absences = Absences()
    site = Site(absences=absences)
    first, second, _ = site.members
    absences.beat(10.0, 0.0)
    site.silence.began(second, 10.0)
    assert site.silence.heard(first, 12.0) == (), "what the second has said is read next"
    absences.beat(12.0, 0.0)
    absences.beat(12.1, 0.0)
    assert site.silence.heard(first, 12.1) == ()
    absences.beat(12.2, 0.0)
    assert site.silence.heard(first, 12.2) == ((second, Change.FELL_SILENT),)


def test_if_nobody_answers_nobody_is_silent() -> None:
    site = Site()
    for member in site.members:
        site.silence.began(member, 10.0)
    assert site.silence.judge(100.0) == ()


def test_its_own_answer_speaks_for_an_endpoint() -> None:
    site = Site()
    first, second, _ = site.members
    site.silence.began(second, 10.0)
    site.silence.heard(first, 10.1)
    site.silence.heard(second, 10.2)
    assert site.silence.judge(11.0) == (), "one packet was lost, no endpoint"
    assert site.silence.heard(second, 11.1) == (), "an endpoint is never compared with itself"


def test_a_connection_brings_a_silent_endpoint_back() -> None:
    site = Site()
    first, second, _ = site.members
    site.silence.began(second, 10.0)
    site.silence.heard(first, 10.3)
    assert site.silent == [second]
    assert site.connects(second, at=11.0) == [(second, Change.HEARD)]
    assert second.health.is_well
    assert site.connects(second, at=12.0) == []


def test_a_connection_does_not_bring_back_what_failed_for_another_reason() -> None:
    site = Site()
    _, second, _ = site.members
    assert site.health.eject(second.health, 10.0, Ejected(Cause.IN_A_ROW))
    assert site.connects(second, at=11.0) == []
    assert not second.health.is_well


def test_ejections_are_bounded_and_may_be_switched_off() -> None:
    site = Site("abcd")
    first, *others = site.members
    for member in others:
        site.silence.began(member, 10.0)
    site.silence.heard(first, 11.0)
    assert site.health.ejected() == 2, "half of four"
    assert len(site.silent) == 3, "requests leave all that are silent"
    for rules in (Ejection(consecutive_errors=0), Ejection(max_percent=0)):
        site = Site("ab", rules)
        site.silence.began(site.members[1], 10.0)
        assert site.silence.heard(site.members[0], 11.0) == ()
        assert site.health.ejected() == 0


def test_requests_leave_a_silent_endpoint_that_has_left_the_backend() -> None:
    """It cannot be ejected any more. A request that it owes an answer would wait for its whole time."""
    site = Site()
    first, second, _ = site.members
    site.health.follow(Ejection(), [member.health for member in site.members if member is not second], checked=False)
    site.silence.began(second, 10.0)
    assert site.silence.heard(first, 12.0) == ()
    assert second.is_silent


def test_in_a_zone_with_a_silent_endpoint_less_is_enough() -> None:
    site = Site("aabbbb")
    first, _, silent, neighbour, *_ = site.members
    site.silence.began(silent, 10.0)
    site.silence.began(neighbour, 10.19)
    told = site.silence.heard(first, 10.25)
    assert told == ((silent, Change.FELL_SILENT), (neighbour, Change.FELL_SILENT))
    assert site.silence.patience(neighbour, 10.26) == ZONE_LEAST_SECONDS
    assert site.silence.patience(first, 10.26) == LEAST_SECONDS
    assert site.silence.patience(neighbour, 10.25 + ZONE_SECONDS) == LEAST_SECONDS


def test_an_answer_from_a_zone_speaks_for_the_zone() -> None:
    site = Site("aabb")
    first, _, silent, neighbour = site.members
    site.silence.began(silent, 10.0)
    site.silence.heard(first, 10.25)
    site.silence.heard(neighbour, 10.3)
    assert site.silence.patience(neighbour, 10.31) == LEAST_SECONDS


def test_endpoints_without_a_zone_have_no_neighbours() -> None:
    site = Site("a--")
    first, silent, other = site.members
    site.silence.began(silent, 10.0)
    site.silence.heard(first, 10.25)
    assert site.silence.patience(other, 10.26) == LEAST_SECONDS


@pytest.mark.parametrize(
    ("usual", "patience"), [(0.001, 0.25), (0.1, 0.4), (0.3, 1.0), (0.45, 1.0), (0.6, 1.2), (3.0, 6.0)]
)
def test_patience_is_relative_to_what_connects_usually_take(usual: float, patience: float) -> None:
    site = Site(is_known=False)
    assert site.silence.patience(site.members[0], 0.0) == UNKNOWN_SECONDS
    site.connects(site.members[0], at=5.0, seconds=usual)
    assert site.silence.patience(site.members[1], 5.0) == pytest.approx(patience)


@pytest.mark.parametrize(("usual", "patience"), [(0.001, 0.25), (0.08, 0.32), (0.3, 0.4), (0.6, 0.6), (3.0, 3.0)])
def test_a_connection_that_only_asks_needs_one_round_trip(usual: float, patience: float) -> None:
    site = Site(is_known=False)
    assert site.silence.patience(site.members[0], 0.0, asks=True) == ASKING_MOST_SECONDS
    site.connects(site.members[0], at=5.0, seconds=usual)
    assert site.silence.patience(site.members[1], 5.0, asks=True) == pytest.approx(patience)


def test_what_asks_teaches_nothing_about_connects_of_requests() -> None:
    site = Site(is_known=False)
    site.silence.began(site.members[0], 1.0, asks=True)
    site.silence.ended(site.members[0], 1.0, asks=True)
    site.silence.reached(site.members[0], 1.001)
    assert site.silence.patience(site.members[0], 2.0) == UNKNOWN_SECONDS


def test_answers_that_are_only_noted_count_for_whoever_gave_them_and_against_the_others() -> None:
    site = Site("abcd")
    first, second, third, _ = site.members
    site.silence.began(second, 10.0)
    site.silence.began(third, 10.0)
    third.health.heard_at = 10.2
    assert site.silence.judge(10.3) == ((second, Change.FELL_SILENT),)
    first.health.heard_at = 10.4
    assert site.silence.judge(10.2 + LEAST_SECONDS - 0.01) == ()
    assert site.silence.judge(10.2 + LEAST_SECONDS + 0.01) == ((third, Change.FELL_SILENT),), (
        "it said nothing from then on"
    )


def test_of_thousands_of_members_a_look_at_all_costs_little() -> None:
    """While nobody answers and many requests look, the same few members are asked for what they have heard."""
    site, looks = Site("ab" * 500), list[int]()

    class Counted(list[Member]):
        def __iter__(self) -> Iterator[Member]:
            looks.append(1)
            return super().__iter__()

    site.silence.follow(Counted(site.members))
    site.silence.began(site.members[1], 10.0)
    for number in range(1000):
        assert site.silence.judge(20.0 + number * 1e-3) == ()
    assert len(looks) <= 60
    site.silence.heard(site.members[2], 21.0)
    assert site.silent == [site.members[1]]


def test_members_that_come_later_are_heard_as_well() -> None:
    site = Site("ab")
    _, second = site.members
    new = Member(builders.endpoint("10.0.0.9", zone="zone-c"))
    site.health.follow(Ejection(), [each.health for each in (*site.members, new)], checked=False)
    site.silence.follow([*site.members, new])
    site.silence.began(second, 10.0)
    new.health.heard_at = 10.2
    assert site.silence.judge(10.3) == ((second, Change.FELL_SILENT),)


def test_a_neighbour_that_answers_speaks_for_its_zone() -> None:
    site = Site("aabb")
    first, _, silent, neighbour = site.members
    site.silence.began(silent, 10.0)
    neighbour.health.heard_at = 10.1
    site.silence.heard(first, 10.3)
    assert site.silent == [silent]
    assert site.silence.patience(neighbour, 10.31) == LEAST_SECONDS


def test_one_slow_connect_among_many_changes_little() -> None:
    site = Site()
    for number in range(5):
        site.connects(site.members[0], at=float(number))
    site.connects(site.members[0], at=6.0, seconds=1.0)
    assert site.silence.patience(site.members[0], 6.0) < UNKNOWN_SECONDS


def test_the_oldest_connect_is_known() -> None:
    site = Site()
    member = site.members[0]
    site.silence.began(member, 1.0)
    site.silence.began(member, 2.0)
    assert site.silence.is_oldest(member, 1.0)
    assert not site.silence.is_oldest(member, 2.0)
    site.silence.ended(member, 1.0)
    assert site.silence.is_oldest(member, 2.0)


@given(
    st.lists(
        st.tuples(st.sampled_from(["begins", "connects", "fails", "heard"]), st.integers(0, 5), st.floats(0.0, 2.0)),
        max_size=60,
    )
)
def test_whatever_happens_the_bound_holds_and_whoever_is_ejected_is_silent(
    steps: list[tuple[str, int, float]],
) -> None:
    site, now = Site("aabbcc"), 1.0
    pending: dict[Member, list[float]] = {member: [] for member in site.members}
    for what, number, seconds in steps:
        now += seconds
        member = site.members[number]
        if what == "begins":
            site.silence.began(member, now)
            pending[member].append(now)
        elif what == "heard":
            site.silence.heard(member, now)
        elif pending[member]:
            began = pending[member].pop(0)
            site.silence.ended(member, began)
            if what == "connects":
                site.silence.connected(member, now - began, now)
                assert not member.is_silent
        site.silence.judge(now)
        assert site.health.ejected() <= 3
        ejected = {member for member in site.members if member.health.ejected_until is not None}
        assert ejected <= set(site.silent)
