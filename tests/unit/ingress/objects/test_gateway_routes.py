"""Routes of Gateway API become records with the defaults of the CRDs."""

from __future__ import annotations

from typing import Any

from ingress.objects.converting import decode
from ingress.objects.gateway_routes import GrpcRoute, HttpMatch, HttpRoute, HttpRule, RouteFilter, TcpRoute, TlsRoute


def read(kind: str, **spec: object) -> Any:
    document = {"apiVersion": "gateway.networking.k8s.io/v1", "kind": kind, "metadata": {"name": "x"}}
    return decode({**document, "spec": spec})


def test_a_route_without_rules_has_the_rule_that_matches_everything() -> None:
    found = read("HTTPRoute", parentRefs=[{"name": "gw"}])
    assert isinstance(found, HttpRoute)
    assert found.spec.rules == (HttpRule(),)
    assert found.spec.rules[0].matches == (HttpMatch(),)
    assert (HttpMatch().path.type, HttpMatch().path.value) == ("PathPrefix", "/")


def test_filters_have_their_defaults() -> None:
    filters = [
        {"type": "RequestRedirect", "requestRedirect": {"hostname": "a.test"}},
        {"type": "CORS", "cors": {"allowOrigins": ["*"]}},
        {"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "s"}, "fraction": {"numerator": 1}}},
        {"type": "URLRewrite", "urlRewrite": {"path": {"type": "ReplaceFullPath", "replaceFullPath": ""}}},
        {"type": "Encrypt"},
    ]
    redirect, cors, mirror, rewrite, odd = read("HTTPRoute", rules=[{"filters": filters}]).spec.rules[0].filters
    assert redirect.request_redirect.status_code == 302
    assert cors.cors.max_age == 5
    assert mirror.request_mirror.fraction.denominator == 100
    assert rewrite.url_rewrite.path.replace_full_path == ""
    assert odd == RouteFilter("Encrypt")


def test_a_backend_is_a_service_with_the_weight_one() -> None:
    for kind, record in (("TLSRoute", TlsRoute), ("TCPRoute", TcpRoute), ("GRPCRoute", GrpcRoute)):
        found = read(kind, rules=[{"backendRefs": [{"name": "s", "port": 1}]}])
        assert isinstance(found, record)
        backend = found.spec.rules[0].backend_refs[0]
        assert (backend.kind, backend.group, backend.weight) == ("Service", "", 1)


def test_a_call_without_a_method_match_is_any_call() -> None:
    rule = read("GRPCRoute", rules=[{"matches": [{"headers": [{"name": "a", "value": "b"}]}]}]).spec.rules[0]
    assert rule.matches[0].method is None
    assert rule.matches[0].headers[0].type == "Exact"
