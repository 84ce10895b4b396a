"""Namespaces are chosen by a word or by their labels."""

from __future__ import annotations

import pytest

from ingress.objects.gateway import LabelSelector, SelectorRequirement
from ingress.translation.gateway.namespaces import NamespaceLabels, selects
from tests.unit.ingress.cluster import inventory
from tests.unit.ingress.translation.gateway.objects import namespace


@pytest.mark.parametrize(
    ("source", "other", "taken"),
    [
        ("Same", "infra", True),
        ("Same", "shop", False),
        ("All", "shop", True),
        ("None", "infra", False),
        ("Odd", "x", False),
    ],
)
def test_a_word_says_which(source: str, other: str, taken: bool) -> None:
    labels = NamespaceLabels(inventory())
    assert labels.takes(source, None, own="infra", namespace=other) is taken


def test_a_selector_asks_for_labels_and_an_unknown_namespace_has_its_name() -> None:
    labels = NamespaceLabels(inventory(namespace("shop", team="a")))
    team = LabelSelector({"team": "a"})
    assert labels.takes("Selector", team, own="infra", namespace="shop")
    assert not labels.takes("Selector", team, own="infra", namespace="other")
    assert labels.takes("Selector", LabelSelector({"kubernetes.io/metadata.name": "x"}), own="infra", namespace="x")
    assert not labels.takes("Selector", None, own="infra", namespace="shop")


@pytest.mark.parametrize(
    ("operator", "values", "labels", "fits"),
    [
        ("In", ("a",), {"k": "a"}, True),
        ("In", ("a",), {}, False),
        ("NotIn", ("a",), {}, True),
        ("NotIn", ("a",), {"k": "a"}, False),
        ("Exists", (), {"k": ""}, True),
        ("DoesNotExist", (), {"k": ""}, False),
        ("Like", ("a",), {"k": "a"}, False),
    ],
)
def test_expressions_are_those_of_kubernetes(
    operator: str, values: tuple[str, ...], labels: dict[str, str], fits: bool
) -> None:
    assert selects(LabelSelector({}, (SelectorRequirement("k", operator, values),)), labels) is fits
