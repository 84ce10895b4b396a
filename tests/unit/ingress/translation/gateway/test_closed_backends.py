"""Routes whose backends are closed by policies that cannot be carried out."""

from __future__ import annotations

import pytest

from ingress.objects.kinds import KubernetesObject
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import conditions, gateway, http_route, policy, read, read_all

BAD = policy(caCertificateRefs=[{"kind": "ConfigMap", "name": "none"}])
WEB = service("web", namespace="infra")


def resolved(route: KubernetesObject, *objects: KubernetesObject) -> tuple[str, str]:
    return conditions(read_all(gateway(), route, *objects), route.kind.value, "route")["ResolvedRefs"]


def grpc_route() -> KubernetesObject:
    rules = [{"backendRefs": [{"name": "web", "port": 80}]}]
    found: KubernetesObject = read("GRPCRoute", "route", parentRefs=[{"name": "gw"}], rules=rules)
    return found


@pytest.mark.parametrize("route", [http_route(), grpc_route()], ids=lambda each: each.kind.value)
def test_a_route_says_that_a_policy_closes_its_backend(route: KubernetesObject) -> None:
    assert resolved(route, WEB, BAD) == ("False", "InvalidBackendTLS")


def test_other_routes_say_what_they_said() -> None:
    assert resolved(http_route(), WEB) == ("True", "ResolvedRefs")
    assert resolved(http_route(to="else"), WEB, service("else", namespace="infra"), BAD) == ("True", "ResolvedRefs")
    assert resolved(http_route(to="gone"), WEB, BAD) == ("False", "BackendNotFound")


def test_a_policy_that_holds_closes_nothing() -> None:
    system = policy(caCertificateRefs=[], wellKnownCACertificates="System")
    assert resolved(http_route(), WEB, system) == ("True", "ResolvedRefs")
