"""Filters of targets become redirects, rewritings and shares of copies."""

from __future__ import annotations

from typing import Any

import pytest

from balancer.model.redirects import RouteRedirect
from balancer.model.rewriting import PathReplacement
from ingress.objects.gateway_routes import Fraction, RequestMirror, RouteFilter
from ingress.translation.gateway.targets import redirect_of, rewriting_of, share_of
from tests.unit.ingress.translation.gateway.objects import http_route

PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/new"}
WHOLE = {"type": "ReplaceFullPath", "replaceFullPath": "/whole"}


def filters(*said: dict[str, Any]) -> tuple[RouteFilter, ...]:
    return http_route(rules=[{"filters": said}]).spec.rules[0].filters


def test_a_redirect_replaces_the_prefix_of_its_match() -> None:
    said = {"scheme": "https", "hostname": "a.test", "port": 8443, "statusCode": 301, "path": PREFIX}
    found = redirect_of(filters({"type": "RequestRedirect", "requestRedirect": said}), "/old")
    assert found == RouteRedirect("https", "a.test", 8443, PathReplacement("/new", "/old"), 301)
    assert redirect_of(filters(), "/old") is None


def test_a_rewriting_has_a_path_and_a_host() -> None:
    said = filters({"type": "URLRewrite", "urlRewrite": {"hostname": "inner.test", "path": WHOLE}})
    assert rewriting_of(said, "/old") == (PathReplacement("/whole"), "inner.test")
    assert rewriting_of(filters(), "/old") == (None, None)


@pytest.mark.parametrize(
    ("mirror", "share"),
    [
        (RequestMirror(), (100, 100)),
        (RequestMirror(percent=0), (0, 100)),
        (RequestMirror(fraction=Fraction(1, 3)), (1, 3)),
    ],
)
def test_a_mirror_has_its_share(mirror: RequestMirror, share: tuple[int, int]) -> None:
    assert share_of(mirror) == share
