"""Members take turns or the less busy of two is taken; who was tried or is full is passed over."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import LoadBalancing
from balancer.picking.choosing import Chooser
from balancer.picking.members import Member, Pick
from balancer.picking.outcomes import Outcome
from balancer.picking.rotation import Rotation
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason
from tests import builders as build


class Choosing:
    """A chooser over so many members, called by the last digits of their addresses."""

    def __init__(self, load_balancing: LoadBalancing, *, count: int = 3, limit: int = 0) -> None:
        self.members = {endpoint.address[-1]: Member(endpoint) for endpoint in build.endpoints("a" * count)}
        picks = [
            Pick(member=member, endpoint=member.endpoint, to_zone="zone-a", locality=Locality.LOCAL, reason=Reason.OFF)
            for member in self.members.values()
        ]
        self.rotation = Rotation(picks)
        self.chooser = Chooser(
            load_balancing, limit=limit, members=self.members, random_below=random.Random(1).randrange
        )

    def next(self, tried: str = "", now: float = 0.0) -> str:
        members: Collection[Member] = [self.members[number] for number in tried]
        pick = self.chooser.choose(self.rotation, tried=members, now=now)
        return pick.endpoint.address[-1] if pick is not None else ""

    def shares(self, count: int) -> Counter[str]:
        return Counter(self.next() for _ in range(count))


every_way = pytest.mark.parametrize("load_balancing", LoadBalancing)


@pytest.mark.parametrize(
    ("load_balancing", "limit", "expected"),
    [
        (LoadBalancing.ROUND_ROBIN, 0, True),
        (LoadBalancing.ROUND_ROBIN, 1, False),
        (LoadBalancing.LEAST_REQUEST, 0, False),
        (LoadBalancing.EWMA, 0, False),
    ],
)
def test_members_take_turns_while_nobody_is_preferred(
    load_balancing: LoadBalancing, limit: int, expected: bool
) -> None:
    assert Choosing(load_balancing, limit=limit).chooser.takes_turns is expected


def test_in_turn() -> None:
    choosing = Choosing(LoadBalancing.ROUND_ROBIN)
    assert "".join(choosing.next() for _ in range(6)) == "123123"


@every_way
def test_who_was_tried_is_not_chosen(load_balancing: LoadBalancing) -> None:
    choosing = Choosing(load_balancing)
    assert {choosing.next(tried="13") for _ in range(20)} == {"2"}
    assert choosing.next(tried="123") == ""


@every_way
def test_who_is_full_is_not_chosen(load_balancing: LoadBalancing) -> None:
    choosing = Choosing(load_balancing, limit=2)
    choosing.members["1"].in_flight = choosing.members["3"].in_flight = 2
    assert {choosing.next() for _ in range(20)} == {"2"}
    choosing.members["2"].in_flight = 2
    assert choosing.next() == ""


@every_way
def test_nobody_is_chosen_of_none(load_balancing: LoadBalancing) -> None:
    assert Choosing(load_balancing, count=0).next() == ""


@pytest.mark.parametrize("load_balancing", [LoadBalancing.LEAST_REQUEST, LoadBalancing.EWMA])
def test_the_busier_of_two_is_not_chosen(load_balancing: LoadBalancing) -> None:
    choosing = Choosing(load_balancing)
    choosing.members["2"].in_flight = 5
    assert choosing.shares(100).keys() == {"1", "3"}


def test_newcomers_start_at_the_average_latency() -> None:
    choosing = Choosing(LoadBalancing.EWMA)
    for number, seconds in (("1", 0.1), ("2", 5.0)):
        choosing.chooser.observe(choosing.members[number], Outcome.ANSWERED, seconds=seconds, now=0.0)
    shares = choosing.shares(600)
    assert "2" not in shares
    assert shares["1"] > shares["3"] > 0
    latency = choosing.members["3"].latency
    assert latency is not None and latency.at(0.0) == pytest.approx(2.55)


@pytest.mark.parametrize(
    ("load_balancing", "outcome", "expected"),
    [
        (LoadBalancing.EWMA, Outcome.ANSWERED, True),
        (LoadBalancing.EWMA, Outcome.ANSWERED_5XX, False),
        (LoadBalancing.EWMA, Outcome.UNREACHED, False),
        (LoadBalancing.EWMA, Outcome.UNKNOWN, False),
        (LoadBalancing.LEAST_REQUEST, Outcome.ANSWERED, False),
    ],
)
def test_only_answers_say_how_quick_a_newcomer_is(
    load_balancing: LoadBalancing, outcome: Outcome, expected: bool
) -> None:
    choosing = Choosing(load_balancing)
    member = choosing.members["1"]
    choosing.chooser.observe(member, outcome, seconds=0.5, now=0.0)
    assert (member.latency is not None) is expected


@given(st.sampled_from(LoadBalancing), st.integers(0, 5), st.integers(0, 2), st.sets(st.sampled_from("12345")))
def test_somebody_is_chosen_whenever_somebody_is_free(
    load_balancing: LoadBalancing, count: int, limit: int, tried: set[str]
) -> None:
    choosing = Choosing(load_balancing, count=count, limit=limit)
    present = {number for number in tried if number in choosing.members}
    for number, member in choosing.members.items():
        member.in_flight = int(number) % 3
    free = {
        number
        for number, member in choosing.members.items()
        if number not in present and not 0 < limit <= member.in_flight
    }
    chosen = choosing.next(tried="".join(sorted(present)))
    assert chosen in free if free else chosen == ""
