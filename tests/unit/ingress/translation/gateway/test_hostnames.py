"""Names that a listener and a route have in common."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.translation.gateway.hostnames import covers, nearness, normal, shared_name, shared_names, widening

_NAMES = st.builds(
    lambda labels, wild: ("*." if wild and labels else "") + ".".join(labels),
    st.lists(st.sampled_from(("a", "b", "shop", "test")), max_size=3),
    st.booleans(),
)


@pytest.mark.parametrize(
    ("one", "other", "shared"),
    [
        ("", "a.test", "a.test"),
        ("*.test", "a.b.test", "a.b.test"),
        ("*.test", "*.a.test", "*.a.test"),
        ("*.test", "test", None),
        ("*.a.test", "ba.test", None),
        ("a.test", "A.Test.", "a.test"),
        ("", "", ""),
    ],
)
def test_the_narrower_name_is_shared(one: str, other: str, shared: str | None) -> None:
    assert shared_name(one, other) == shared


@given(_NAMES, _NAMES)
def test_the_order_of_the_two_says_nothing(one: str, other: str) -> None:
    assert shared_name(one, other) == shared_name(other, one)


@given(_NAMES, _NAMES, _NAMES)
def test_what_is_covered_by_what_is_covered_is_covered(one: str, other: str, third: str) -> None:
    if covers(one, other) and covers(other, third):
        assert covers(one, third)


def test_a_route_without_names_has_that_of_the_listener() -> None:
    assert shared_names("A.test", ()) == ("a.test",)
    assert shared_names("*.test", ("b.test", "a.test", "test")) == ("a.test", "b.test")
    assert shared_names("a.test", ("b.test",)) == ()
    assert normal("A.") == "a"


def test_the_hostname_that_says_most_of_a_name_is_the_nearest() -> None:
    said = [("a.b.test",), ("*.b.test",), ("*.test", "c.test"), ()]
    found = [nearness(each, "a.b.test") for each in said]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(said)
    assert nearness(("*.test",), "*.b.test") < nearness(("*.b.test",), "*.b.test")
    assert nearness(("c.test",), "a.test") == 0


@given(st.lists(_NAMES, max_size=5), _NAMES)
def test_of_many_hostnames_the_longest_that_covers_a_name_is_the_nearest(said: list[str], name: str) -> None:
    naive = max((len(each.removeprefix("*")) for each in said if covers(each, name)), default=0)
    assert nearness(frozenset(said), name) == naive


@given(_NAMES, _NAMES)
def test_all_that_cover_a_name_are_found_from_the_nearest_on(one: str, other: str) -> None:
    found = list(widening(other))
    assert found[0] == other
    assert (one in found) == covers(one, other)
    assert all(covers(wide, narrow) for narrow, wide in itertools.pairwise(found))
