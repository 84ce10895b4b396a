"""Bounds among namespaces: shares are fair, and what is held stays held while it is asked for."""

from __future__ import annotations

import math
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.sharing import fair_shares, fairly_first, fairly_held

MOST = 12
NAMESPACES = st.sampled_from("abcde")
ASKED = st.lists(st.tuples(NAMESPACES, st.tuples(NAMESPACES, st.sampled_from("0123456789"))), max_size=80)


@given(st.dictionaries(NAMESPACES, st.integers(0, 30)), st.integers(0, 40))
def test_shares_are_as_equal_as_what_is_asked_for(wanted: dict[str, int], total: int) -> None:
    shares = fair_shares(wanted, total)
    assert sum(shares.values()) == min(total, sum(wanted.values()))
    for name, share in shares.items():
        assert share == wanted[name] or share >= max(shares.values()) - 1


@given(st.lists(st.tuples(NAMESPACES, st.integers())), st.integers(0, 20))
def test_what_is_shown_are_the_first_ones_of_each_namespace(items: list[tuple[str, int]], most: int) -> None:
    shown = fairly_first(items, most, lambda item: item[0])
    wanted = Counter(namespace for namespace, _ in items)
    assert Counter(namespace for namespace, _ in shown) == +Counter(fair_shares(wanted, most))
    for namespace in wanted:
        own = [item for item in items if item[0] == namespace]
        assert [item for item in shown if item[0] == namespace] == own[: fair_shares(wanted, most)[namespace]]
    rest = iter(items)
    assert all(item in rest for item in shown), "in their order"


@given(ASKED)
def test_every_namespace_holds_its_first_object_and_its_share(asked: list[tuple[str, tuple[str, str]]]) -> None:
    held = fairly_held(asked, before=(), most=MOST)
    for namespace in {namespace for namespace, _ in asked}:
        own = list(dict.fromkeys(key for asking, key in asked if asking == namespace))
        share = MOST // len({namespace for namespace, _ in asked})
        assert held >= set(own[: max(1, share)])


@given(st.lists(ASKED, max_size=6))
def test_nothing_that_is_held_and_still_asked_for_is_given_up(rounds: list[list[tuple[str, tuple[str, str]]]]) -> None:
    held: frozenset[tuple[str, str]] = frozenset()
    for asked in rounds:
        before, held = held, fairly_held(asked, before=held, most=MOST)
        named = {key for _, key in asked}
        assert before & named <= held <= named


@given(st.lists(st.dictionaries(NAMESPACES, st.integers(0, 30)), max_size=8))
def test_the_whole_stays_bounded_whoever_comes_and_goes(rounds: list[dict[str, int]]) -> None:
    held: frozenset[tuple[str, str]] = frozenset()
    for wanted in rounds:
        asked = [(name, (name, str(number))) for name, count in wanted.items() for number in range(count)]
        held = fairly_held(asked, before=held, most=MOST)
        counts = sorted((sum(owner == name for owner, _ in held) for name in "abcde"), reverse=True)
        assert all(count <= math.ceil(MOST / place) for place, count in enumerate(counts, 1))


def test_an_object_that_two_namespaces_name_is_held_if_one_of_them_has_a_share() -> None:
    greedy = [("aaa", ("aaa", str(number))) for number in range(100)]
    held = fairly_held([*greedy, ("aaa", ("shop", "x")), ("shop", ("shop", "x"))], before=(), most=MOST)
    assert ("shop", "x") in held
