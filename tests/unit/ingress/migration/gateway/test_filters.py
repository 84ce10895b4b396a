"""Annotations become filters of rules."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.migration.gateway.filters import https_filter, mirror_filter, own_filters, redirect_filter, session_of
from ingress.migration.overrides import overrides_of
from ingress.objects.converting import decode
from ingress.objects.kinds import Ingress
from ingress.settings.table.option import NGINX_PREFIX, Overrides
from ingress.settings.table.redirects import RedirectTargets


def said(**annotations: str) -> Overrides:
    named = {NGINX_PREFIX + name.replace("_", "-"): text for name, text in annotations.items()}
    metadata = {"name": "a", "namespace": "shop", "annotations": named}
    found = decode({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": {}})
    assert isinstance(found, Ingress)
    return overrides_of(found)


def filters(
    rewrite: dict[str, Any] | None = None, fields: dict[str, str] | None = None, **annotations: str
) -> list[Any]:
    return [*own_filters(said(**annotations), rewrite, fields or {})]


def redirect(**annotations: str) -> Any:
    return redirect_filter(said(**annotations).over(RedirectTargets()))


def test_redirects_name_scheme_host_port_and_path() -> None:
    assert redirect(permanent_redirect="https://new.test:8443/a", permanent_redirect_code="308") == {
        "type": "RequestRedirect",
        "requestRedirect": {
            "statusCode": 308,
            "scheme": "https",
            "hostname": "new.test",
            "port": 8443,
            "path": {"type": "ReplaceFullPath", "replaceFullPath": "/a"},
        },
    }
    assert redirect(temporal_redirect="/maintenance")["requestRedirect"]["statusCode"] == 302
    assert redirect() is None
    assert https_filter(308)["requestRedirect"] == {"scheme": "https", "statusCode": 308}


def test_a_redirect_with_a_query_has_no_form() -> None:
    with pytest.raises(ValueError, match="no query"):
        redirect(permanent_redirect="https://new.test/a?b=1")


def test_rewrites_hosts_fields_and_cors() -> None:
    rewrite = {"type": "ReplaceFullPath", "replaceFullPath": "/"}
    found = filters(rewrite, {"x-a": "1"}, upstream_vhost="in.test", x_forwarded_prefix="/p", enable_cors="true")
    assert [each["type"] for each in found] == [
        "RequestHeaderModifier",
        "CORS",
        "ResponseHeaderModifier",
        "URLRewrite",
    ]
    assert found[1]["cors"]["allowOrigins"] == ["*"]
    assert found[3]["urlRewrite"] == {"hostname": "in.test", "path": rewrite}
    assert filters() == []


def test_a_host_with_a_variable_has_no_form() -> None:
    with pytest.raises(ValueError, match="upstream-vhost"):
        filters(upstream_vhost="in.test:8080")


def test_mirrors_are_services_of_the_cluster() -> None:
    found = mirror_filter("http://copy.audit.svc.cluster.local:8080$request_uri", "shop")
    assert found is not None
    assert found["requestMirror"]["backendRef"] == {"name": "copy", "port": 8080, "namespace": "audit"}
    assert mirror_filter("https://elsewhere.example$request_uri", "shop") is None


def test_a_cookie_becomes_a_session() -> None:
    assert session_of(said()) is None
    assert session_of(said(affinity="cookie")) == {"type": "Cookie", "sessionName": "INGRESSCOOKIE"}
    found = session_of(said(affinity="cookie", session_cookie_name="s", session_cookie_max_age="60"))
    assert found is not None
    assert (found["sessionName"], found["absoluteTimeout"]) == ("s", "60s")


@pytest.mark.parametrize(
    ("seconds", "duration"),
    [("3600", "1h"), ("172800", "48h"), ("86461", "24h61s"), ("400000000", "99999h")],
)
def test_a_long_session_is_a_duration_that_gateway_api_accepts(seconds: str, duration: str) -> None:
    found = session_of(said(affinity="cookie", session_cookie_max_age=seconds))
    assert found is not None
    assert found["absoluteTimeout"] == duration
