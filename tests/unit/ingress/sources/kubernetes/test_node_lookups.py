"""Node lookups: one question a node, few questions at once, and no answer asked for twice in a row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.sources.kubernetes.node_lookups import MISS_SECONDS, Lookup, NodeLookups
from tests.properties import examples

A, B = ("shop", "a"), ("shop", "b")


def test_an_unknown_node_is_asked_for_once_however_many_endpoints_name_it() -> None:
    lookups = NodeLookups()
    for number in range(50):
        lookups.name(("shop", f"slice-{number}"), {"node-1"}, now=0)
    assert lookups.take(0) == Lookup(names=("node-1",))
    lookups.found(["node-1"], now=0)
    lookups.name(B, {"node-1"}, now=1)
    assert lookups.take(1) is None
    assert lookups.wake_at(1) is None


def test_known_nodes_are_not_asked_for() -> None:
    lookups = NodeLookups()
    lookups.listed({"node-1"}, now=0)
    lookups.name(A, {"node-1"}, now=1)
    assert lookups.take(1) is None


def test_a_miss_is_remembered_for_its_time_and_asked_again_after_it() -> None:
    lookups = NodeLookups()
    lookups.name(A, {"node-1"}, now=0)
    assert lookups.take(0) == Lookup(names=("node-1",))
    lookups.missed(["node-1"], now=0)
    lookups.name(B, {"node-1"}, now=1)
    assert lookups.take(MISS_SECONDS - 1) is None
    assert lookups.wake_at(MISS_SECONDS - 1) == MISS_SECONDS
    assert lookups.take(MISS_SECONDS) == Lookup(names=("node-1",))


def test_a_node_that_nobody_names_any_more_is_not_asked_for() -> None:
    lookups = NodeLookups()
    lookups.name(A, {"node-1"}, now=0)
    lookups.missed(["node-1"], now=0)
    lookups.name(A, (), now=1)
    assert lookups.wake_at(1) is None
    assert lookups.take(MISS_SECONDS + 1) is None


def test_many_unknown_nodes_are_one_list() -> None:
    lookups = NodeLookups()
    lookups.name(A, {f"node-{number}" for number in range(1000)}, now=0)
    assert lookups.take(0) == Lookup(everything=True)
    lookups.listed({f"node-{number}" for number in range(900)}, now=0)
    assert lookups.take(1) is None
    assert lookups.take(MISS_SECONDS) == Lookup(everything=True)


def test_a_name_that_comes_back_into_use_is_asked_for_again_when_it_is_old() -> None:
    lookups = NodeLookups()
    lookups.listed({"node-1"}, now=0)
    lookups.name(A, {"node-1"}, now=1)
    lookups.name(A, (), now=2)
    lookups.name(A, {"node-1"}, now=3)
    assert lookups.take(3) is None
    lookups.name(A, (), now=4)
    lookups.name(A, {"node-1"}, now=1000)
    assert lookups.take(1000) == Lookup(names=("node-1",))


@examples(100)
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sets(st.integers(0, 30))), max_size=60))
def test_questions_never_come_faster_than_their_rate(steps: list[tuple[str, set[int]]]) -> None:
    lookups, asked = NodeLookups(), 0
    for number, (name, nodes) in enumerate(steps):
        now = number * 0.1
        lookups.name(("shop", name), {f"node-{node}" for node in nodes}, now=now)
        lookup = lookups.take(now)
        if lookup is not None:
            asked += max(1, len(lookup.names))
            lookups.missed([f"node-{node}" for node in range(31)] if lookup.everything else lookup.names, now=now)
        assert asked <= 10 + now * 5 + 1e-6
