"""Filters of header fields become edits, in which each name occurs once."""

from __future__ import annotations

from typing import Any

from balancer.model.edits import EditFields, RequestEdit
from ingress.objects.gateway_routes import RouteFilter
from ingress.translation.gateway.edits import request_edits, response_rules
from tests.unit.ingress.translation.gateway.objects import http_route

SAID = {
    "set": [{"name": "X-A", "value": "1"}, {"name": "x-a", "value": "2"}],
    "add": [{"name": "X-A", "value": "3"}, {"name": "X-B", "value": "4"}],
    "remove": ["X-B", "X-Gone"],
}


def filters(*said: dict[str, Any]) -> tuple[RouteFilter, ...]:
    return http_route(rules=[{"filters": said}]).spec.rules[0].filters


def test_the_first_of_equal_names_counts() -> None:
    found = filters({"type": "RequestHeaderModifier", "requestHeaderModifier": SAID})
    assert request_edits(found) == (RequestEdit((("X-A", "1"),), (("X-B", "4"),), ("x-gone",)),)
    assert response_rules(found) == ()


def test_responses_have_edits_of_their_own() -> None:
    found = filters({"type": "ResponseHeaderModifier", "responseHeaderModifier": {"remove": ["X-Gone"]}})
    assert response_rules(found) == (EditFields((), (), ("x-gone",)),)
    assert request_edits(found) == ()
