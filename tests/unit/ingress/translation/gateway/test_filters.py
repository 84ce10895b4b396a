"""A filter that cannot be carried out says why."""

from __future__ import annotations

from typing import Any

import pytest

from ingress.translation.gateway.filters import filters_problem
from tests.unit.ingress.translation.gateway.objects import http_route


def problem(*filters: dict[str, Any], prefix_only: bool = True) -> str:
    rule = http_route(rules=[{"filters": filters}]).spec.rules[0]
    return filters_problem(rule.filters, prefix_only=prefix_only) or ""


def modifier(**said: Any) -> dict[str, Any]:
    return {"type": "RequestHeaderModifier", "requestHeaderModifier": said}


def redirect(**said: Any) -> dict[str, Any]:
    return {"type": "RequestRedirect", "requestRedirect": said}


def rewrite(**said: Any) -> dict[str, Any]:
    return {"type": "URLRewrite", "urlRewrite": said}


PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/new"}


@pytest.mark.parametrize(
    "filters",
    [
        (modifier(set=[{"name": "X-A", "value": "1"}], remove=["X-B"]),),
        (redirect(hostname="a.test", scheme="https", port=8443, statusCode=301, path=PREFIX),),
        (rewrite(path={"type": "ReplaceFullPath", "replaceFullPath": "/x$1%7E$host"}),),
        ({"type": "CORS", "cors": {"allowOrigins": ["*"]}},),
        tuple({"type": "RequestMirror", "requestMirror": {"backendRef": {"name": "s"}, "percent": 5}} for _ in "ab"),
        (),
    ],
)
def test_what_can_be_carried_out(filters: tuple[dict[str, Any], ...]) -> None:
    assert problem(*filters) == ""


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (modifier(set=[{"name": "Content-Length", "value": "5"}]), "must not change Content-Length"),
        (modifier(set=[{"name": "Host", "value": "x"}]), "must not change Host"),
        (modifier(remove=["CDN-Loop"]), "must not change CDN-Loop"),
        (modifier(remove=["x-zonal-copy"]), "must not change x-zonal-copy"),
        (modifier(set=[{"name": "X-Zonal-Auth-Depth", "value": "0"}]), "must not change X-Zonal-Auth-Depth"),
        (modifier(add=[{"name": "HTTP2-Settings", "value": "x"}]), "must not change HTTP2-Settings"),
        (modifier(set=[{"name": ":authority", "value": "x"}]), "header field that is none"),
        (modifier(add=[{"name": "X-A", "value": "a\nb"}]), "header field that is none"),
        (modifier(remove=["a b"]), "header field that is none"),
        ({"type": "RequestHeaderModifier"}, "says nothing"),
        ({"type": "ResponseHeaderModifier"}, "says nothing"),
        ({"type": "RequestMirror"}, "says nothing"),
        ({"type": "RequestRedirect"}, "says nothing"),
        ({"type": "URLRewrite"}, "says nothing"),
        ({"type": "CORS"}, "says nothing"),
        ({"type": "CORS", "cors": {"allowOrigins": ["a.test"]}}, "origin 'a.test'"),
        ({"type": "CORS", "cors": {"allowOrigins": ["*"], "allowMethods": ["G\u00c4T"]}}, "no name of a method"),
        ({"type": "CORS", "cors": {"allowOrigins": ["*"], "exposeHeaders": ["a\r\nb"]}}, "no name of a method"),
        ({"type": "RequestMirror", "requestMirror": {"percent": 101}}, "101 percent"),
        ({"type": "RequestMirror", "requestMirror": {"fraction": {"numerator": 3, "denominator": 2}}}, "3 of 2"),
        (redirect(scheme="ftp"), "scheme 'ftp'"),
        (redirect(statusCode=304), "status 304"),
        (redirect(port=70000), "port 70000"),
        (redirect(hostname="a b"), "hostname 'a b'"),
        (rewrite(path={"type": "Odd"}), "path modifier 'Odd'"),
        (rewrite(path={"type": "ReplaceFullPath", "replaceFullPath": "/a b"}), "path '/a b'"),
        ({"type": "Encrypt"}, "filter 'Encrypt'"),
    ],
)
def test_what_cannot(item: dict[str, Any], said: str) -> None:
    assert said in problem(item)


def test_a_prefix_is_replaced_only_where_there_is_one() -> None:
    assert "needs a match of the type PathPrefix" in problem(rewrite(path=PREFIX), prefix_only=False)


def test_what_excludes_each_other() -> None:
    assert "exclude each other" in problem(redirect(scheme="https"), rewrite(hostname="a.test"))
    assert "occurs twice" in problem(modifier(remove=["a"]), modifier(remove=["b"]))
