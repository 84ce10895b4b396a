"""From CORS filters to the gate that answers preflights and the fields that tell browsers who may read responses."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.model.cors import CorsPolicy, CorsPolicyPreflight
from balancer.model.edits import ResponseRule
from balancer.model.gates import GateRule
from ingress.objects.gateway_routes import RouteFilter


def cors_gates(filters: Iterable[RouteFilter]) -> tuple[GateRule, ...]:
    """The gates of preflights."""
    return tuple(CorsPolicyPreflight(each) for each in _policies(filters))


def cors_fields(filters: Iterable[RouteFilter]) -> tuple[ResponseRule, ...]:
    """The policies of responses."""
    return _policies(filters)


def _policies(filters: Iterable[RouteFilter]) -> tuple[CorsPolicy, ...]:
    said = (each.cors for each in filters if each.type == "CORS")
    return tuple(
        CorsPolicy(
            each.allow_origins,
            each.allow_methods,
            each.allow_headers,
            each.expose_headers,
            allows_cookies=each.allow_credentials,
            max_age_seconds=each.max_age,
        )
        for each in said
        if each is not None
    )
