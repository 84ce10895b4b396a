"""Which object an annotation names, and whether an Ingress may use it.

One rule for every annotation that names a Secret or ConfigMap: the object is of the namespace of the Ingress, unless
the operator allows others (`allow-cross-namespace-resources`). What an object of another namespace holds is never told.
"""

from __future__ import annotations

import msgspec

from ingress.findings import quote


class References(msgspec.Struct, frozen=True):
    """How annotations of one Ingress are understood. `others_allowed`: they may name objects of other namespaces."""

    namespace: str
    others_allowed: bool = False

    def key(self, reference: str) -> tuple[str, str]:
        """Namespace and name of what `name` or `namespace/name` refers to."""
        owner, slash, name = reference.rpartition("/")
        return (owner if slash else self.namespace), name

    def is_own(self, reference: str) -> bool:
        """Whether the object is of the namespace of the Ingress."""
        return self.key(reference)[0] == self.namespace

    def wanted(self, *references: str) -> tuple[tuple[str, str], ...]:
        """The objects that are needed, whether they exist or not: none where nothing is named or it is not allowed."""
        return tuple(self.key(each) for each in references if each and self._is_allowed(each))

    def problem(self, annotation: str, reference: str) -> str | None:
        """Why the object must not be used, as a sentence with its repair; None if it may be."""
        if self._is_allowed(reference):
            return None
        return f"{annotation} {quote(reference)} is of another namespace: name one of {self.namespace}."

    def told(self, annotation: str, reference: str, message: str) -> str:
        """`message`, which says what is wrong with the content of an object, if the Ingress is of its namespace."""
        if self.is_own(reference):
            return message
        owner = self.key(reference)[0]
        return f"{annotation} {quote(reference)} cannot be used: whoever runs namespace {owner} can say why."

    def _is_allowed(self, reference: str) -> bool:
        return self.others_allowed or self.is_own(reference)
