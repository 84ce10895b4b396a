"""Hints are read whatever stands there, and a mistake in them is told apart from none."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.endpoint_hints import EndpointHints, read_hints


def named(*names: str) -> list[dict[str, str]]:
    return [{"name": name} for name in names]


@pytest.mark.parametrize(
    ("document", "zones", "nodes"),
    [
        ({"forZones": named("zone-a")}, ("zone-a",), ()),
        ({"forZones": named("b", "a", "b")}, ("a", "b"), ()),
        ({"forNodes": named("node-1")}, (), ("node-1",)),
        ({"forZones": named("a"), "forNodes": named("n")}, ("a",), ("n",)),
        ({"forZones": named("a"), "forNodes": None, "later": 1}, ("a",), ()),
        ({"forZones": named(*"abcdefgh")}, tuple("abcdefgh"), ()),
    ],
)
def test_names_of_zones_and_nodes(document: object, zones: tuple[str, ...], nodes: tuple[str, ...]) -> None:
    assert read_hints(document) == EndpointHints(zones, nodes)


@pytest.mark.parametrize("document", [None, {}, {"forZones": []}, {"forZones": None}, {"other": 1}])
def test_without_names_there_are_no_hints(document: object) -> None:
    assert read_hints(document) is None


@pytest.mark.parametrize(
    "document",
    [
        "zone-a",
        ["zone-a"],
        {"forZones": "zone-a"},
        {"forZones": ["zone-a"]},
        {"forZones": [{"zone": "a"}]},
        {"forZones": [{"name": 1}]},
        {"forZones": named("zone a")},
        {"forZones": named("")},
        {"forZones": named("a", "b\r\nX: y")},
        {"forNodes": named("Node/1")},
        {"forZones": named("a"), "forNodes": [1]},
        {"forZones": named(*"abcdefghi")},
        {"forZones": named("\ud800")},
    ],
)
def test_a_mistake_in_one_costs_all_of_them(document: object) -> None:
    assert read_hints(document) == EndpointHints(malformed=True)


def test_equal_hints_are_one_value() -> None:
    first, second = (read_hints({"forZones": named("zone-a")}) for _ in range(2))
    assert first is second
    assert read_hints(first) is first


JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["forZones", "forNodes", "name"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON)
def test_no_document_raises(document: object) -> None:
    hints = read_hints(document)
    assert hints is None or hints.malformed or hints.zones or hints.nodes
    assert read_hints(msgspec.json.decode(msgspec.json.encode(document))) == hints
