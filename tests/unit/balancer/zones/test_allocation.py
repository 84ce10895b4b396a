"""The arithmetic of the EndpointSlice controller: what zones should have, and who gives to whom."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.zones import Zone
from balancer.zones.allocation import Allocation, allocations, moves
from tests.unit.balancer.zones.surroundings import ZONES, cases

CASES = cases("topology_auto_allocation.json")
CPU = {
    "3_equal_zones": {"a": 1_000, "b": 1_000, "c": 1_000},
    "2_equal_zones": {"a": 1_000, "b": 1_000},
    "2_zones_cpu_2_to_1": {"a": 2_000, "b": 1_000},
}
FEASIBILITY = [(cpu, row) for name, cpu in CPU.items() for row in CASES["derived"][f"feasibility_{name}"]]


def wanted(cpu_milli: dict[str, int], ready: int) -> dict[str, Allocation]:
    by_zone = {Zone(name): milli for name, milli in cpu_milli.items()}
    return {str(zone): each for zone, each in allocations(by_zone, ready).items()}


def test_the_minimum_of_each_zone() -> None:
    minima = [
        {zone: each.minimum for zone, each in wanted(cpu, row["readyEndpoints"]).items()} for cpu, row in FEASIBILITY
    ]
    pairs = [(minimum, row) for minimum, (_, row) in zip(minima, FEASIBILITY, strict=True)]
    assert [row for minimum, row in pairs if row["feasible"] and minimum != row["minimumByZone"]] == []
    assert [row for minimum, row in pairs if row["feasible"] != (sum(minimum.values()) <= row["readyEndpoints"])] == []
    assert len(FEASIBILITY) == 70


@pytest.mark.parametrize(
    "case", [case for case in CASES["set_nodes"] if case["expect"]["ratios"]], ids=lambda case: case["name"]
)
def test_shares_of_cpu_are_the_shares_of_endpoints(case: dict[str, Any]) -> None:
    ratios = case["expect"]["ratios"]
    for zone, each in wanted(case["expect"]["cpuMilliByZone"], 1_000).items():
        assert each.desired == pytest.approx(1_000 * ratios[zone])


def test_no_zone_is_to_have_less_than_its_minimum() -> None:
    assert wanted({"a": 9, "b": 1}, 5) == {"a": Allocation(4, 4.5), "b": Allocation(1, 1.0)}


@pytest.mark.parametrize("case", CASES["giving_and_receiving"], ids=lambda case: case["name"])
def test_who_gives_and_who_receives(case: dict[str, Any]) -> None:
    made = moves(case["desiredByZone"], case["allocatedHintsByZone"])
    assert Counter(giver for giver, _ in made) == case["expect"]["giving"]
    assert Counter(receiver for _, receiver in made) == case["expect"]["receiving"]


def test_among_equals_the_first_by_name_gives_and_receives() -> None:
    a, b, c, d = ZONES
    assert moves({d: 2.0, c: 2.0, b: 2.0, a: 2.0}, {d: 1, c: 3, b: 1, a: 3}) == [(a, b), (c, d)]


@pytest.mark.parametrize(
    ("desired", "made"), [(2.6, 0), (2.5, 1), (2.4, 1)], ids=["less than half", "half", "more than half"]
)
def test_a_zone_gives_what_it_has_at_least_half_an_endpoint_too_much_of(desired: float, made: int) -> None:
    a, b, *_ = ZONES
    assert len(moves({a: desired, b: 3.0}, {a: 3, b: 2})) == made


def test_nothing_moves_for_less_than_one_endpoint_on_either_side() -> None:
    a, b, *_ = ZONES
    assert moves({a: 2.4, b: 2.6}, {a: 3, b: 2}) == []


@given(
    st.dictionaries(st.sampled_from(ZONES), st.floats(1, 20), min_size=1),
    st.dictionaries(st.sampled_from(ZONES), st.integers(0, 20)),
)
def test_every_move_brings_both_zones_nearer_to_what_is_desired(
    desired: dict[Zone, float], have: dict[Zone, int]
) -> None:
    have = {zone: have.get(zone, 0) for zone in desired}
    for giver, receiver in moves(desired, have):
        assert have[giver] - desired[giver] >= 0.499
        assert desired[receiver] - have[receiver] >= 0.499
        have[giver] -= 1
        have[receiver] += 1
        assert have[giver] >= 1
