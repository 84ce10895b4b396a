"""Label and field selectors: which objects a list or a watch is about.

Responsible for reading both languages and for matching. It must not know lists, watches or the store.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tests.fakes.apiserver.kinds import Document, Resource
from tests.fakes.apiserver.statuses import bad_request

Matches = Callable[[Document], bool]

_FIELDS_OF_ALL: dict[str, tuple[str, ...]] = {
    "metadata.name": ("metadata", "name"),
    "metadata.namespace": ("metadata", "namespace"),
}
_FIELDS_OF_KIND: dict[str, dict[str, tuple[str, ...]]] = {
    "Secret": {"type": ("type",)},
    "Pod": {"spec.nodeName": ("spec", "nodeName"), "status.phase": ("status", "phase")},
    "Node": {"spec.unschedulable": ("spec", "unschedulable")},
    "Namespace": {"status.phase": ("status", "phase")},
    "Service": {"spec.clusterIP": ("spec", "clusterIP"), "spec.type": ("spec", "type")},
    "Event": {
        "reason": ("reason",),
        "type": ("type",),
        "reportingController": ("reportingController",),
        "regarding.kind": ("regarding", "kind"),
        "regarding.name": ("regarding", "name"),
        "regarding.namespace": ("regarding", "namespace"),
        "regarding.uid": ("regarding", "uid"),
        "involvedObject.kind": ("regarding", "kind"),
        "involvedObject.name": ("regarding", "name"),
        "involvedObject.namespace": ("regarding", "namespace"),
        "involvedObject.uid": ("regarding", "uid"),
    },
}
_SET = re.compile(r"\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^()]*)\)\s*")
_EQUALITY = re.compile(r"\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*")
_EXISTS = re.compile(r"\s*(!?)\s*([^\s!=,()]+)\s*")
_FIELD = re.compile(r"([^!=,]+)(==|=|!=)([^,]*)")


def labels_selector(text: str) -> Matches:
    """What `labelSelector` asks for: =, ==, !=, in, notin, exists and !exists, all of which must hold."""
    terms = [_label_term(term) for term in re.split(r",(?![^()]*\))", text) if term.strip()]

    def matches(document: Document) -> bool:
        labels = document["metadata"].get("labels") or {}
        return all(term(labels) for term in terms)

    return matches


def _label_term(text: str) -> Callable[[Mapping[str, str]], bool]:
    if found := _SET.fullmatch(text):
        key, is_in = found[1], found[2] == "in"
        values = {value.strip() for value in found[3].split(",")}
        return lambda labels: (labels.get(key) in values) is is_in
    if found := _EQUALITY.fullmatch(text):
        name, is_equal, value = found[1], found[2] != "!=", found[3]
        return lambda labels: (labels.get(name) == value) is is_equal
    if found := _EXISTS.fullmatch(text):
        wanted, is_present = found[2], not found[1]
        return lambda labels: (wanted in labels) is is_present
    raise bad_request(f"unable to parse requirement: found '{text}', expected: identifier")


def fields_selector(text: str, resource: Resource) -> Matches:
    """What `fieldSelector` asks for. A field that the kind does not index is refused, as recorded."""
    known = _FIELDS_OF_ALL | _FIELDS_OF_KIND.get(resource.kind, {})
    terms = [_field_term(term, known) for term in text.split(",") if term]
    return lambda document: all(term(document) for term in terms)


def _field_term(text: str, known: Mapping[str, tuple[str, ...]]) -> Matches:
    found = _FIELD.fullmatch(text)
    if found is None:
        raise bad_request(f"invalid selector: '{text}'; can't understand '{text}'")
    field, is_equal, value = found[1], found[2] != "!=", found[3]
    if field not in known:
        listed = ", ".join(f'"{name}"' for name in known)
        raise bad_request(f'"{field}" is not a known field selector: only {listed}')
    path = known[field]
    return lambda document: (_text_at(document, path) == value) is is_equal


def _text_at(document: Document, path: tuple[str, ...]) -> str:
    value: object = document
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return str(value).lower() if isinstance(value, bool) else str(value or "")


def selected_name(text: str) -> str:
    """The one name that a `fieldSelector` asks for, which is what RBAC looks at; empty where it asks for none."""
    names = [found[3] for term in text.split(",") if (found := _FIELD.fullmatch(term)) and _is_name(found)]
    return names[0] if names else ""


def _is_name(found: re.Match[str]) -> bool:
    return found[1] == "metadata.name" and found[2] != "!="
