"""A rule that cannot be carried out says why."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.translation.gateway.rules import grpc_rule_problem, http_rule_problem
from tests.unit.ingress.translation.gateway.objects import http_route, read


def http(**rule: Any) -> str:
    return http_rule_problem(http_route(rules=[rule]).spec.rules[0]) or ""


def grpc(**rule: Any) -> str:
    return grpc_rule_problem(read("GRPCRoute", "calls", rules=[rule]).spec.rules[0]) or ""


def test_what_can_be_carried_out() -> None:
    assert http() == ""
    assert http(matches=[], timeouts={"request": "500ms"}) == ""
    assert http(matches=[{"method": "GET", "headers": [{"name": "a", "value": "b"}], "path": {"value": "/x"}}]) == ""
    assert http(matches=[{"path": {"type": "RegularExpression", "value": "/item/[0-9]+"}}]) == ""
    assert grpc() == ""
    assert grpc(matches=[{"method": {"service": "echo.Echo", "method": "One"}}]) == ""


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"matches": [{"path": {"type": "Odd"}}]}, "type 'Odd'"),
        ({"matches": [{"path": {"type": "Exact", "value": "x"}}]}, "does not begin with /"),
        ({"matches": [{"path": {"type": "RegularExpression", "value": "/(?<=x)y"}}]}, "syntax of RE2"),
        ({"matches": [{"method": "BREW"}]}, "method 'BREW'"),
        ({"matches": [{"headers": [{"name": "a", "type": "Odd"}]}]}, "type 'Odd'"),
        ({"matches": [{"queryParams": [{"name": "a b"}]}]}, "'a b' is no name"),
        ({"filters": [{"type": "Encrypt"}]}, "'Encrypt'"),
        ({"backendRefs": [{"name": "s", "weight": -1}]}, "negative"),
        ({"backendRefs": [{"name": "s", "filters": [{"type": "Encrypt"}]}]}, "'Encrypt'"),
        ({"timeouts": {"request": "soon"}}, "'soon' is no duration"),
        (
            {
                "filters": [{"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}],
                "backendRefs": [{"name": "s"}],
            },
            "has backendRefs",
        ),
    ],
)
def test_what_cannot(rule: dict[str, Any], said: str) -> None:
    assert said in http(**rule)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"matches": [{"method": {"type": "Odd", "service": "a"}}]}, "type 'Odd'"),
        ({"matches": [{"method": {}}]}, "neither a service nor a method"),
        ({"matches": [{"method": {"service": "a/b"}}]}, "'a/b' is no name"),
        ({"matches": [{"method": {"type": "RegularExpression", "service": "a("}}]}, "expression 'a('"),
        ({"matches": [{"method": {"type": "RegularExpression", "service": "a", "method": "("}}]}, "expression '('"),
        ({"filters": [{"type": "CORS", "cors": {}}]}, "for HTTPRoutes only"),
        ({"backendRefs": [{"name": "s", "weight": -1}]}, "negative"),
        ({"backendRefs": [{"name": "s", "filters": [{"type": "CORS", "cors": {}}]}]}, "for HTTPRoutes only"),
    ],
)
def test_what_cannot_of_calls(rule: dict[str, Any], said: str) -> None:
    assert said in grpc(**rule)


@pytest.mark.parametrize(
    ("session", "said"),
    [
        ({"type": "Odd"}, "session by Odd"),
        ({"sessionName": "a\r\nX-Evil: 1"}, "cannot name a session"),
        ({"sessionName": "Content-Length", "type": "Header"}, "cannot name a session"),
        ({"sessionName": "caf\u00e9"}, "cannot name a session"),
        ({"absoluteTimeout": "soon"}, "'soon' is no duration"),
        ({"cookieConfig": {"lifetimeType": "Odd"}}, "lifetime 'Odd'"),
        ({"sessionName": "a", "cookieConfig": {"lifetimeType": "Permanent"}, "absoluteTimeout": "1h"}, ""),
    ],
)
def test_sessions_of_requests_and_of_calls_are_judged_alike(session: dict[str, Any], said: str) -> None:
    """The name of a session becomes part of the head of a response."""
    for problem in (http(sessionPersistence=session), grpc(sessionPersistence=session)):
        assert said in problem
        assert bool(said) is bool(problem)
