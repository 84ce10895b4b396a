"""What the definitions of Gateway API v1.6 refuse in a status, as their schemas say it.

Responsible for fields that are required, too long, too many, of another form, or unknown: the API server drops the
latter, which nobody wants of a status. It must not know the store.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.apiserver.statuses import Problem

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"


@dataclass(frozen=True, slots=True)
class _Text:
    pattern: str = r"(?s).*"
    most: int = 253
    least: int = 1


@dataclass(frozen=True, slots=True)
class _Number:
    least: int = 0
    most: int = 2**31 - 1


@dataclass(frozen=True, slots=True)
class _Items:
    """A list; no two items have the same value of `key`."""

    of: _Fields
    most: int
    key: str = ""
    least: int = 0


@dataclass(frozen=True, slots=True)
class _Fields:
    known: Mapping[str, _Schema]
    required: tuple[str, ...] = ()


_Schema = _Text | _Number | _Items | _Fields

_CONDITION = _Fields(
    {
        "type": _Text(rf"({_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", 316),
        "status": _Text("True|False|Unknown"),
        "reason": _Text("[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?", 1024),
        "message": _Text(most=32_768, least=0),
        "observedGeneration": _Number(most=2**63 - 1),
        "lastTransitionTime": _Text(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)"),
    },
    ("type", "status", "reason", "message", "lastTransitionTime"),
)
_CONDITIONS = _Items(_CONDITION, 8, "type")
_JUDGED = _Items(_CONDITION, 8, "type", least=1)
_KIND = _Text("[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?", 63)
_GROUP = _Text(rf"|{_SUBDOMAIN}", least=0)
_REFERENCE = _Fields(
    {
        "group": _GROUP,
        "kind": _KIND,
        "namespace": _Text(_LABEL, 63),
        "name": _Text(),
        "sectionName": _Text(_SUBDOMAIN),
        "port": _Number(1, 65_535),
    },
    ("name",),
)
_CONTROLLER = _Text(rf"{_SUBDOMAIN}/{_PATH}")
_LISTENERS = _Items(
    _Fields(
        {
            "name": _Text(_SUBDOMAIN),
            "supportedKinds": _Items(_Fields({"group": _GROUP, "kind": _KIND}, ("kind",)), 8),
            "attachedRoutes": _Number(),
            "conditions": _CONDITIONS,
        },
        ("name", "attachedRoutes", "conditions"),
    ),
    64,
    "name",
)
_ADDRESSES = _Items(
    _Fields({"type": _Text(rf"Hostname|IPAddress|NamedAddress|{_SUBDOMAIN}/{_PATH}"), "value": _Text()}, ("value",)), 16
)


def _entries(field: str, reference: str, most: int) -> _Fields:
    """A status that is a list with one entry for each parent or ancestor and controller."""
    known: dict[str, _Schema] = {reference: _REFERENCE, "controllerName": _CONTROLLER, "conditions": _JUDGED}
    return _Fields({field: _Items(_Fields(known, tuple(known)), most)}, (field,))


_ROUTE = _entries("parents", "parentRef", 32)
_STATUSES = {
    "GatewayClass": _Fields(
        {"conditions": _CONDITIONS, "supportedFeatures": _Items(_Fields({"name": _Text()}, ("name",)), 64, "name")}
    ),
    "Gateway": _Fields(
        {
            "addresses": _ADDRESSES,
            "conditions": _CONDITIONS,
            "listeners": _LISTENERS,
            "attachedListenerSets": _Number(),
        }
    ),
    "ListenerSet": _Fields({"conditions": _CONDITIONS, "listeners": _LISTENERS}),
    "HTTPRoute": _ROUTE,
    "GRPCRoute": _ROUTE,
    "TLSRoute": _ROUTE,
    "TCPRoute": _ROUTE,
    "UDPRoute": _ROUTE,
    "BackendTLSPolicy": _entries("ancestors", "ancestorRef", 16),
}


def status_problems(kind: str, status: Any) -> Iterator[Problem]:
    """What may not be so in the status of an object of that kind; of kinds without a schema here, nothing."""
    schema = _STATUSES.get(kind)
    if schema is not None and status is not None:
        yield from _of(schema, status, "status")


def _of(schema: _Schema, value: Any, place: str) -> Iterator[Problem]:
    match schema:
        case _Text():
            yield from _of_text(schema, value, place)
        case _Number():
            if not isinstance(value, int) or isinstance(value, bool) or not schema.least <= value <= schema.most:
                yield _invalid(place, value, f"should be a number from {schema.least} to {schema.most}")
        case _Items():
            yield from _of_items(schema, value, place)
        case _Fields():
            yield from _of_fields(schema, value, place)


def _of_text(schema: _Text, value: Any, place: str) -> Iterator[Problem]:
    if not isinstance(value, str):
        yield _invalid(place, value, "should be a string")
    elif not schema.least <= len(value) <= schema.most:
        yield _invalid(place, value, f"should have {schema.least} to {schema.most} characters")
    elif not re.fullmatch(schema.pattern, value):
        yield _invalid(place, value, f"should match '{schema.pattern}'")


def _of_items(schema: _Items, value: Any, place: str) -> Iterator[Problem]:
    if not isinstance(value, list):
        yield _invalid(place, value, "should be a list")
        return
    if not schema.least <= len(value) <= schema.most:
        yield _invalid(place, len(value), f"should have {schema.least} to {schema.most} items")
    seen = set[object]()
    for number, each in enumerate(value):
        yield from _of(schema.of, each, f"{place}[{number}]")
        key = each.get(schema.key) if schema.key and isinstance(each, dict) else number
        if key in seen:
            yield Problem(f"{place}[{number}]", "FieldValueDuplicate", f'Duplicate value: "{key}"')
        seen.add(key)


def _of_fields(schema: _Fields, value: Any, place: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield _invalid(place, value, "should be an object")
        return
    for name in schema.required:
        if value.get(name) is None:
            yield Problem(f"{place}.{name}", "FieldValueRequired", "Required value")
    for name, inner in value.items():
        if name not in schema.known:
            yield _invalid(f"{place}.{name}", "", "unknown field")
        elif inner is not None:
            yield from _of(schema.known[name], inner, f"{place}.{name}")


def _invalid(place: str, value: Any, text: str) -> Problem:
    return Problem(place, "FieldValueInvalid", f'Invalid value: "{str(value)[:80]}": {place} in body {text}')
