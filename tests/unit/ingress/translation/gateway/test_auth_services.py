"""From an ExternalAuth filter to the gate of a rule."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.external_auth import BackendAuth
from balancer.model.routes import Owner
from ingress.objects.gateway_routes import HttpRoute
from ingress.objects.kinds import ServicePort
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.gateway.annotations import NO_SETTINGS
from ingress.translation.gateway.filters import filters_problem
from ingress.translation.gateway.route_claims import RouteClaims
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import gateway, http_route, read_all

WEB, JUDGE = (service(name, ServicePort(80, "http"), namespace="infra") for name in ("web", "judge"))


def route(**said: Any) -> HttpRoute:
    auth = {"protocol": "HTTP", "backendRef": {"name": "judge", "port": 80}, **said}
    rule = {"filters": [{"type": "ExternalAuth", "externalAuth": auth}], "backendRefs": [{"name": "web", "port": 80}]}
    return http_route(rules=[rule])


def test_the_service_is_a_backend_of_the_claim_and_the_gate_says_what_is_passed_on() -> None:
    http = {"path": "/check/", "allowedHeaders": ["X-B", "X-A"], "allowedResponseHeaders": ["X-User"]}
    read = read_all(gateway(), route(http=http), WEB, JUDGE)
    (ranked,) = RouteClaims(ClusterSettings(), {}).of(read.routes[0], NO_SETTINGS)
    (auth,) = ranked.claim.auths
    assert auth.rule == BackendAuth(path="/check", request_fields=("x-a", "x-b"), response_fields=("X-User",))
    assert (auth.branch.branch.service.name, auth.branch.branch.owner) == (
        "judge",
        Owner("HTTPRoute", "infra", "route"),
    )
    assert auth.branch.port is not None


def test_a_service_that_does_not_exist_is_an_unresolved_reference_and_nobody_is_asked() -> None:
    read = read_all(gateway(), route(), WEB)
    assert read.routes[0].unresolved is not None
    (ranked,) = RouteClaims(ClusterSettings(), {}).of(read.routes[0], NO_SETTINGS)
    assert [each.branch.port for each in ranked.claim.auths] == [None]


@pytest.mark.parametrize(
    "said",
    [
        {"protocol": "GRPC"},
        {"forwardBody": {"maxSize": 10}},
        {"http": {"path": "check"}},
        {"http": {"allowedHeaders": ["Connection"]}},
        {"http": {"allowedResponseHeaders": ["Content-Length"]}},
    ],
)
def test_what_cannot_be_carried_out_drops_the_rule(said: dict[str, Any]) -> None:
    filters = route(**said).spec.rules[0].filters
    assert filters_problem(filters, prefix_only=True) is not None
    assert filters_problem(route().spec.rules[0].filters, prefix_only=True) is None
