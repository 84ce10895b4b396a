"""From filters that change header fields to edits of the model. Of equal names the first one counts."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.model.edits import EditFields, RequestEdit, ResponseRule
from ingress.objects.gateway_routes import HeaderModifier, HeaderValue, RouteFilter

_Pairs = tuple[tuple[str, str], ...]


def request_edits(filters: Iterable[RouteFilter]) -> tuple[RequestEdit, ...]:
    """The edits of requests, in the order of the filters."""
    asked = (each.request_header_modifier for each in filters if each.type == "RequestHeaderModifier")
    return tuple(RequestEdit(*_parts(each)) for each in asked if each is not None)


def response_rules(filters: Iterable[RouteFilter]) -> tuple[ResponseRule, ...]:
    """The edits of responses, in the order of the filters."""
    asked = (each.response_header_modifier for each in filters if each.type == "ResponseHeaderModifier")
    return tuple(EditFields(*_parts(each)) for each in asked if each is not None)


def _parts(modifier: HeaderModifier) -> tuple[_Pairs, _Pairs, tuple[str, ...]]:
    """What is set, added and removed. A name occurs once: what is set goes before what is added or removed."""
    taken: set[str] = set()
    changed, added = _once(modifier.set, taken), _once(modifier.add, taken)
    removed = sorted({each.lower() for each in modifier.remove} - taken)
    return changed, added, tuple(removed)


def _once(fields: Iterable[HeaderValue], taken: set[str]) -> _Pairs:
    found: list[tuple[str, str]] = []
    for each in fields:
        if each.name.lower() not in taken:
            taken.add(each.name.lower())
            found.append((each.name, each.value))
    return tuple(found)
