"""Which namespaces an object takes others from: its own, all, or those whose labels a selector wants."""

from __future__ import annotations

from collections.abc import Mapping

from ingress.objects.gateway import LabelSelector, Namespace
from ingress.sources.inventory import Inventory

NAME_LABEL = "kubernetes.io/metadata.name"
"""The label that the API server gives every namespace (KEP-2161)."""


class NamespaceLabels:
    """The labels of every namespace, known or not: each has at least its name."""

    __slots__ = ("_known",)

    def __init__(self, inventory: Inventory) -> None:
        self._known = {each.metadata.name: each.metadata.labels for each in inventory.of(Namespace)}

    def __eq__(self, other: object) -> bool:
        """Whether all labels are the same."""
        return isinstance(other, NamespaceLabels) and self._known == other._known

    __hash__ = None  # type: ignore[assignment]

    def takes(self, source: str, selector: LabelSelector | None, *, own: str, namespace: str) -> bool:
        """Whether an object in the namespace `own`, which says `source`, takes what is in `namespace`.

        An unknown word takes nothing.
        """
        if source == "Same":
            return namespace == own
        if source == "Selector" and selector is not None:
            return selects(selector, {NAME_LABEL: namespace, **self._known.get(namespace, {})})
        return source == "All"


def selects(selector: LabelSelector, labels: Mapping[str, str]) -> bool:
    """Whether labels fit a selector (meta/v1 LabelSelector). An expression with an unknown operator fits nothing."""
    if any(labels.get(key) != value for key, value in selector.match_labels.items()):
        return False
    for each in selector.match_expressions:
        present = each.key in labels
        fits = {
            "In": present and labels.get(each.key) in each.values,
            "NotIn": not present or labels.get(each.key) not in each.values,
            "Exists": present,
            "DoesNotExist": not present,
        }
        if not fits.get(each.operator, False):
            return False
    return True
