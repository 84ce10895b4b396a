"""Routes become claims: each match of each rule, in its place."""

from __future__ import annotations

from typing import Any

from balancer.errors import ErrorKind
from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from balancer.model.routes import ServiceName
from ingress.objects.kinds import ServicePort, ServicePortReference
from ingress.settings.table.cluster import ClusterSettings
from ingress.translation.claims import Claim
from ingress.translation.gateway.annotations import RouteSettings
from ingress.translation.gateway.route_claims import RouteClaims
from ingress.translation.gateway.service_references import NamedPort
from tests.unit.ingress.cluster import service
from tests.unit.ingress.translation.gateway.objects import gateway, read, read_all

PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/new"}
PORT = NamedPort("infra", "web", 80, "http")
WEB = service("web", ServicePort(80, "http"), namespace="infra")


def claims(*rules: dict[str, Any], kind: str = "HTTPRoute", closed: bool = False, **settings: Any) -> list[Claim]:
    route = read(kind, "route", parentRefs=[{"name": "gw"}], rules=rules)
    (found,) = read_all(gateway(), route, WEB).routes
    making = RouteClaims(ClusterSettings(**settings), {PORT: None} if closed else {})
    return [each.claim for each in making.of(found, RouteSettings())]


def backend(name: str = "web", weight: int = 1, **more: Any) -> dict[str, Any]:
    return {"name": name, "port": 80, "weight": weight, **more}


def test_each_match_is_a_claim() -> None:
    matches = [{"path": {"value": "/a"}}, {"path": {"type": "Exact", "value": "/b"}}]
    found = claims({"matches": matches, "backendRefs": [backend()]}, {"backendRefs": [backend()]})
    assert [each.path for each in found] == ["/a", "/b", "/"]
    assert found[0].main.port == ServicePortReference(number=80)
    assert found[0].main.branch.service == ServiceName("infra", "web")
    assert found[0].policy.max_body_bytes == 0


def test_shares_of_what_cannot_be_asked_get_an_error() -> None:
    (found,) = claims({"backendRefs": [backend(weight=3), backend("nope"), backend(weight=0)]})
    assert [(each.branch.weight, each.port is None) for each in found.branches] == [(3, False), (1, True)]
    assert {each.branch.error for each in found.branches} == {ErrorKind.BACKEND_INVALID}


def test_without_a_backend_every_request_gets_an_error() -> None:
    for said in ([], [backend(weight=0)]):
        (found,) = claims({"backendRefs": said})
        assert [each.port for each in found.branches] == [None]


def test_a_rule_that_is_dropped_keeps_its_place() -> None:
    found = claims({"filters": [{"type": "Encrypt"}], "backendRefs": [backend()]}, {"backendRefs": [backend()]})
    assert [each.main.port is None for each in found] == [True, False]
    assert found[0].main.branch.error is ErrorKind.BACKEND_INVALID


def test_a_backend_with_a_bad_filter_or_a_closed_port_is_not_asked() -> None:
    (found,) = claims({"backendRefs": [backend(filters=[{"type": "ExtensionRef"}])]})
    assert found.main.port is None
    (found,) = claims({"backendRefs": [backend()]}, closed=True)
    assert found.main.port is None


def test_redirects_are_gates_and_mirrors_stand_beside() -> None:
    redirect = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
    (found,) = claims({"filters": [redirect]})
    assert any(isinstance(each, RouteRedirect) for each in found.gates)
    assert found.is_redirected
    mirrors = [
        {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": n, "port": 80}}} for n in ("web", "no")
    ]
    (found,) = claims({"filters": mirrors, "backendRefs": [backend()]})
    assert [each.branch.branch.service.name for each in found.mirrors] == ["web"]


def test_calls_go_on_over_http2() -> None:
    (found,) = claims({"backendRefs": [backend()]}, kind="GRPCRoute")
    assert found.main.http2 is True
    assert claims({"backendRefs": [backend()]}, kind="TCPRoute") == []


def test_filters_of_a_backend_are_those_of_its_branch() -> None:
    own = [
        {"type": "URLRewrite", "urlRewrite": {"hostname": "in.test", "path": PREFIX}},
        {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "web", "port": 80}}},
        {"type": "CORS", "cors": {"allowOrigins": ["*"]}},
    ]
    matches = [{"path": {"value": "/a"}}, {"path": {"value": "/b"}}]
    first, second = claims({"matches": matches, "backendRefs": [backend(filters=own), backend()]})
    filtered, plain = first.branches
    assert filtered.branch.filters is not None and plain.branch.filters is None
    assert filtered.branch.filters.host == "in.test"
    assert filtered.branch.filters.rewriting == PathReplacement("/new", "/a")
    assert second.branches[0].branch.filters != filtered.branch.filters
    assert [each.branch.branch.service.name for each in filtered.mirrors] == ["web"]
    assert len(filtered.branch.filters.gates) == len(filtered.branch.response_rules) == 1


def test_a_backend_that_cannot_be_asked_has_no_filters() -> None:
    redirect = {"type": "RequestRedirect", "requestRedirect": {"scheme": "https"}}
    (found,) = claims({"backendRefs": [backend("nope", filters=[redirect])]})
    assert (found.main.port, found.main.branch.filters) == (None, None)
