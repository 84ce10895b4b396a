"""Routes compiled for lookup: a host and a path to the one route that serves them.

Hosts: exact, then a wildcard of one label, then the catch-all; a chosen host never falls through to another. Paths:
Exact, then the longest Prefix by elements (networking.k8s.io/v1 HTTPIngressPath). Bytes throughout, as on the wire.
"""

from __future__ import annotations

import re

from balancer.canary import Junction, junctions
from balancer.model import Host, PathKind, Route, RoutingModel

_LABEL = re.compile(rb"[A-Za-z0-9_-]+")  # what `*` stands for; names in the wild hold `_` though RFC 1123 has none


class _Prefix:
    """The two prefixes with the same elements: `/a` and `/a/` are different paths of an Ingress."""

    __slots__ = ("plain", "slashed")

    def __init__(self) -> None:
        self.plain: Route | None = None
        self.slashed: Route | None = None


class _HostTable:
    """The routes of one host."""

    __slots__ = ("_default", "_depth", "_exact", "_prefixes", "host", "junctions")

    def __init__(self, host: Host, default: Route | None) -> None:
        self.host = host
        self.junctions = junctions(host)
        self._default = host.default or default
        self._exact: dict[bytes, Route] = {}
        self._prefixes: dict[bytes, _Prefix] = {}
        for route in host.routes:
            path = route.path.encode()
            if route.kind is PathKind.EXACT:
                self._exact[path] = route
            elif path.endswith(b"/"):
                self._prefixes.setdefault(path[:-1], _Prefix()).slashed = route
            else:
                self._prefixes.setdefault(path, _Prefix()).plain = route
        self._depth = max((elements.count(b"/") for elements in self._prefixes), default=0)

    def match(self, path: bytes) -> Route | None:
        """The route for a normalised path, in at most as many look-ups as the deepest prefix has elements, and three.

        Whole path first: `/a` belongs to the prefix `/a`, and to `/a/` only where there is no other.
        """
        route = self._exact.get(path)
        if route is not None:
            return route
        if (prefix := self._prefixes.get(path)) is not None:
            return prefix.plain or prefix.slashed
        elements = self._leading_elements(path) if path.count(b"/") > self._depth else path.rpartition(b"/")[0]
        while (prefix := self._prefixes.get(elements)) is None:
            if not elements:
                return self._default
            elements = elements.rpartition(b"/")[0]
        return prefix.slashed or prefix.plain

    def _leading_elements(self, path: bytes) -> bytes:
        """The elements of a path that is deeper than every prefix, cut to the depth of the deepest.

        So a path of thousands of slashes costs no more look-ups than an honest one.
        """
        end = 0
        for _ in range(self._depth):
            end = path.find(b"/", end + 1)
        return path[:end]


class RouteTable:
    """All routes of a model. `junctions`: of those with canaries or affinity, by the identity of the route."""

    __slots__ = ("_by_name", "_catch_all", "_default", "_exact", "_wildcards", "junctions")

    def __init__(self, model: RoutingModel, before: RouteTable | None) -> None:
        self._default: Route | None = model.default_route
        past = before._by_name if before is not None and before._default == self._default else {}
        self._by_name: dict[str, _HostTable] = {
            host.name: _table_of(host, self._default, past.get(host.name)) for host in model.hosts
        }
        self._exact: dict[bytes, _HostTable] = {}
        self._wildcards: dict[bytes, _HostTable] = {}
        self.junctions: dict[int, Junction] = {}
        for name, table in self._by_name.items():
            if name.startswith("*."):
                self._wildcards[name[2:].encode()] = table
            else:
                self._exact[name.encode()] = table
            if table.junctions:
                self.junctions.update(table.junctions)
        self._catch_all = self._exact.get(b"")

    def match(self, host: bytes, path: bytes) -> Route | None:
        """The route that serves a request, or None.

        `host` is in lower case, without port and trailing dot, and empty if the request names none. `path` is
        percent-decoded and normalised, and begins with `/`.
        """
        table = self._exact.get(host) or self._table(host)
        return table.match(path) if table is not None else self._default

    def host(self, name: bytes) -> Host | None:
        """The host among whose routes `match` looks, or None; `name` as `match` takes it."""
        table = self._table(name)
        return table.host if table is not None else None

    def _table(self, host: bytes) -> _HostTable | None:
        return self._exact.get(host) or self._wildcard(host) or self._catch_all

    def _wildcard(self, host: bytes) -> _HostTable | None:
        """The table of `*.` and all but the first label (networking.k8s.io/v1 IngressRule: a single label)."""
        label, _, suffix = host.partition(b".")
        table = self._wildcards.get(suffix)
        return table if table is not None and _LABEL.fullmatch(label) else None


def compile_routes(model: RoutingModel, before: RouteTable | None = None) -> RouteTable:
    """The table of a model; it depends on `hosts` and `default_route` only.

    What has not changed since `before` is taken over: the tables and junctions of hosts, with the routes of then.
    """
    return RouteTable(model, before)


def _table_of(host: Host, default: Route | None, before: _HostTable | None) -> _HostTable:
    return before if before is not None and before.host == host else _HostTable(host, default)
