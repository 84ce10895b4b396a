"""CORS filters become a gate and fields."""

from __future__ import annotations

from typing import Any

from balancer.model.edits import CorsFields
from balancer.model.gates import CorsPreflight
from ingress.translation.gateway.cors import cors_fields, cors_gates
from tests.unit.ingress.translation.gateway.objects import http_route


def rules(**said: Any) -> tuple[CorsPreflight, CorsFields]:
    filters = http_route(rules=[{"filters": [{"type": "CORS", "cors": said}]}]).spec.rules[0].filters
    gates, fields = cors_gates(filters), cors_fields(filters)
    assert isinstance(gates[0], CorsPreflight)
    assert isinstance(fields[0], CorsFields)
    return gates[0], fields[0]


def test_the_usual_port_may_be_named_or_not() -> None:
    gate, fields = rules(allowOrigins=["https://a.test:443", "http://b.test", "https://c.test:8443"])
    assert gate.origins == fields.origins
    assert set(gate.origins) == {
        "https://a.test:443",
        "https://a.test",
        "http://b.test",
        "http://b.test:80",
        "https://c.test:8443",
    }


def test_fields_are_those_of_the_filter() -> None:
    _, rule = rules(allowOrigins=["https://a.test"], allowMethods=["GET", "PUT"], allowCredentials=True)
    assert dict(rule.fields) == {
        "Access-Control-Allow-Credentials": "true",
        "Access-Control-Allow-Methods": "GET, PUT",
        "Access-Control-Max-Age": "5",
    }


def test_everybody_never_has_credentials() -> None:
    _, rule = rules(allowOrigins=["*"], allowCredentials=True, allowHeaders=["x-a"], exposeHeaders=["x-b"])
    assert "Access-Control-Allow-Credentials" not in dict(rule.fields)
    assert dict(rule.fields)["Access-Control-Expose-Headers"] == "x-b"
