"""What Gateway API adds to a request, one host for each: the rules of HTTPRoutes, on one listener."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from tests.integration.manifests import Document

PORT = 80
"""The port of the listener in its manifest."""

CANDIDATES = 10
FIELDS = ("X-Team: 5", "X-Version: 5")
"""Every request has these, because more fields take longer by themselves."""

_VERSION = "gateway.networking.k8s.io/v1"
_BACKENDS = [{"name": "app", "port": 80}]


class Addition(msgspec.Struct, frozen=True, kw_only=True):
    """`rules` are those of the HTTPRoute, and requests are for `path`."""

    name: str
    title: str
    rules: list[dict[str, Any]]
    path: str = "/"

    @property
    def host(self) -> str:
        """The hostname of the route."""
        return f"{self.name}.gateway.example"


def _rule(*filters: dict[str, Any], **match: Any) -> dict[str, Any]:
    """A rule with filters for all paths, or for what it matches."""
    matched = {"path": {"type": "PathPrefix", "value": "/"}, **match}
    return {"matches": [matched], "filters": list(filters), "backendRefs": _BACKENDS}


def _pair(first: str, second: str, number: int) -> list[dict[str, str]]:
    return [{"name": name, "value": str(number)} for name in (first, second)]


_EDIT = {
    "set": [{"name": "X-Set", "value": "1"}],
    "add": [{"name": "X-Add", "value": "2"}],
    "remove": ["X-Gone"],
}
_PREFIX = {"type": "ReplacePrefixMatch", "replacePrefixMatch": "/"}

PLAIN = Addition(name="route", title="path and host", rules=[_rule()])

ADDITIONS = (
    PLAIN,
    Addition(
        name="by-fields",
        title="match on two header fields among ten candidates",
        rules=[_rule(headers=_pair("x-team", "x-version", number)) for number in range(CANDIDATES)],
    ),
    Addition(
        name="by-query",
        title="match on two query parameters among ten candidates",
        rules=[_rule(queryParams=_pair("team", "version", number)) for number in range(CANDIDATES)],
        path="/?team=5&version=5",
    ),
    Addition(
        name="edit",
        title="RequestHeaderModifier with set, add and remove",
        rules=[_rule({"type": "RequestHeaderModifier", "requestHeaderModifier": _EDIT})],
    ),
    Addition(
        name="rewrite-prefix",
        title="URLRewrite of a prefix",
        rules=[
            _rule({"type": "URLRewrite", "urlRewrite": {"path": _PREFIX}}, path={"type": "PathPrefix", "value": "/app"})
        ],
        path="/app/",
    ),
)


def objects(hosts: list[str]) -> Iterator[Document]:
    """A Gateway with a route for each of the `hosts`, all paths of which lead to `app`, and one for each addition."""
    yield _object("GatewayClass", "zonal", controllerName="zonal-ingress.io/controller")
    listener = {"name": "http", "port": PORT, "protocol": "HTTP"}
    yield _object("Gateway", "web", gatewayClassName="zonal", listeners=[listener])
    for host in hosts:
        yield _route(host, [_rule()])
    for each in ADDITIONS:
        yield _route(each.host, each.rules)


def _route(host: str, rules: list[dict[str, Any]]) -> Document:
    return _object("HTTPRoute", host, parentRefs=[{"name": "web"}], hostnames=[host], rules=rules)


def _object(kind: str, name: str, **spec: Any) -> Document:
    return {"apiVersion": _VERSION, "kind": kind, "metadata": {"name": name, "namespace": "shop"}, "spec": spec}
