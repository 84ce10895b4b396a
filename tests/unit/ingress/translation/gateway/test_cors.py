"""CORS filters become a gate and a policy of responses."""

from __future__ import annotations

from typing import Any

from balancer.model.cors import CorsPolicy, CorsPolicyPreflight
from ingress.translation.gateway.cors import cors_fields, cors_gates
from tests.unit.ingress.translation.gateway.objects import http_route


def policy(**said: Any) -> CorsPolicy:
    filters = http_route(rules=[{"filters": [{"type": "CORS", "cors": said}]}]).spec.rules[0].filters
    (gate,), (fields,) = cors_gates(filters), cors_fields(filters)
    assert isinstance(fields, CorsPolicy)
    assert gate == CorsPolicyPreflight(fields)
    return fields


def test_a_policy_says_what_the_filter_says() -> None:
    assert policy(
        allowOrigins=["https://a.test"],
        allowMethods=["GET", "PUT"],
        allowHeaders=["x-a"],
        exposeHeaders=["x-b"],
        allowCredentials=True,
        maxAge=60,
    ) == CorsPolicy(("https://a.test",), ("GET", "PUT"), ("x-a",), ("x-b",), allows_cookies=True, max_age_seconds=60)


def test_what_a_filter_leaves_out_is_as_the_api_says() -> None:
    assert policy(allowOrigins=["*"]) == CorsPolicy(("*",), max_age_seconds=5)


def test_other_filters_have_nothing_to_do_with_it() -> None:
    filters = http_route(rules=[{"filters": [{"type": "URLRewrite"}]}]).spec.rules[0].filters
    assert (cors_gates(filters), cors_fields(filters)) == ((), ())
