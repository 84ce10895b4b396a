"""A key leads to one name, everywhere, and few keys move when names do."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from balancer.picking.ring import WALK_MAX, Ring, ring_of
from tests.properties import examples

KEYS = [b"key-%d" % number for number in range(2000)]


def names(count: int) -> tuple[str, ...]:
    return tuple(f"10.0.0.{number}:80" for number in range(1, count + 1))


def test_a_known_key_leads_to_a_known_name() -> None:
    """Replicas of different versions must agree, so a change of the arithmetic shows here."""
    ring = Ring(names(6))
    assert [ring.at(key) for key in (b"alice", b"bob", b"carol", b"dave")] == [
        "10.0.0.5:80",
        "10.0.0.5:80",
        "10.0.0.1:80",
        "10.0.0.5:80",
    ]


@given(st.lists(st.sampled_from(names(9)), min_size=1, unique=True).flatmap(st.permutations))
@examples(30)
def test_the_order_of_names_makes_no_difference(some: list[str]) -> None:
    one, other = Ring(tuple(some)), Ring(tuple(sorted(some)))
    assert all(one.at(key) == other.at(key) for key in KEYS[:50])


def test_every_name_has_about_its_share() -> None:
    ring = Ring(names(8))
    counts = Counter(ring.at(key) for key in KEYS)
    assert len(counts) == 8
    assert max(counts.values()) < 2 * min(counts.values())


def test_a_name_that_joins_takes_its_share_and_nothing_else_moves() -> None:
    before, after = Ring(names(9)), Ring(names(10))
    moved = [key for key in KEYS if before.at(key) != after.at(key)]
    assert {after.at(key) for key in moved} == {"10.0.0.10:80"}
    assert 0.05 < len(moved) / len(KEYS) < 0.2


def test_a_walk_names_each_once_and_begins_where_the_key_leads() -> None:
    ring = Ring(names(5))
    for key in KEYS[:50]:
        walk = list(ring.walk(key))
        assert walk[0] == ring.at(key)
        assert sorted(walk) == sorted(names(5))


def test_the_next_of_a_walk_is_where_the_key_leads_without_the_first() -> None:
    ring = Ring(names(5))
    for key in KEYS[:50]:
        first, second, *_ = ring.walk(key)
        assert Ring(tuple(name for name in names(5) if name != first)).at(key) == second


def test_a_walk_is_bounded() -> None:
    assert len(list(Ring(names(50)).walk(b"key"))) == WALK_MAX


def test_a_ring_of_nothing_leads_nowhere() -> None:
    assert Ring(()).at(b"key") is None
    assert list(Ring(()).walk(b"key")) == []


def test_the_ring_of_the_same_names_is_made_once() -> None:
    assert ring_of(names(3)) is ring_of(names(3))
