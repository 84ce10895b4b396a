"""Finds the one route that serves a host and a path, in tables compiled from the model.

Hosts: exact, then a wildcard of one label, then the catch-all. A chosen host never falls through to another. What a
path leads to within a host is in `host_tables`. All names are bytes, as on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Generator

from balancer.http.messages import RequestHead
from balancer.matching.gates.making import GateMaker, make_gate
from balancer.matching.host_compiling import compiling_host
from balancer.matching.host_tables import HostTable
from balancer.matching.served import Match, Served
from balancer.model.publication import RoutingModel
from balancer.model.routes import Host, Route
from balancer.runtime.steps import finished

_LABEL = re.compile(rb"[A-Za-z0-9_-]+")  # what `*` stands for; real names contain `_`, although RFC 1123 forbids it


class RouteTable:
    """All routes of a model, compiled. `unmatched_gates` judge the requests that no route serves."""

    __slots__ = ("_by_name", "_catch_all", "_default", "_exact", "_wildcards", "unmatched_gates")

    def __init__(self, model: RoutingModel, before: RouteTable | None, make: GateMaker) -> None:
        """A table without hosts yet."""
        self.unmatched_gates = tuple(make(rule) for rule in model.unmatched_gates)
        self._default: Match | None = None
        if before is not None and before.default_route == model.default_route:
            self._default = before._default
        elif model.default_route is not None:
            self._default = Match(Served(model.default_route, make))
        self._by_name: dict[str, HostTable] = {}
        self._exact: dict[bytes, HostTable] = {}
        self._wildcards: dict[bytes, HostTable] = {}
        self._catch_all: HostTable | None = None

    def adding(self, host: Host, before: RouteTable | None, make: GateMaker) -> Generator[None, None, None]:
        """Compiles one host in steps, or takes it over from `before`."""
        is_kept = before is not None and before._default is self._default
        past = before._by_name.get(host.name) if before is not None and is_kept else None
        name = host.name
        table = (
            past if past is not None and past.host == host else (yield from compiling_host(host, self._default, make))
        )
        self._by_name[name] = table
        if name.startswith("*."):
            self._wildcards[name[2:].encode()] = table
        else:
            self._exact[name.encode()] = table
        if not name:
            self._catch_all = table

    @property
    def default_route(self) -> Route | None:
        """The route of requests that match no host."""
        return self._default.served.route if self._default is not None else None

    def match(self, host: bytes, path: bytes, target: bytes = b"", request: RequestHead | None = None) -> Match | None:
        """What serves a request, or None.

        `host` is in lower case, without port and trailing dot, and empty if the request names none. `path` is
        percent-decoded and normalised, and begins with `/`. `target` is what endpoints get; empty: they
        read `path`. `request` is what conditions are about. Raises `Refusal(BAD_REQUEST)` for a target in which an
        endpoint could find a path with other gates.
        """
        table = self._exact.get(host) or self._table(host)
        return table.match(path, target, request) if table is not None else self._default

    def host(self, name: bytes) -> Host | None:
        """The host whose routes `match` searches, or None. `name` as for `match`."""
        table = self._table(name)
        return table.host if table is not None else None

    def _table(self, host: bytes) -> HostTable | None:
        return self._exact.get(host) or self._wildcard(host) or self._catch_all

    def _wildcard(self, host: bytes) -> HostTable | None:
        """The table of `*.` and all labels but the first (networking.k8s.io/v1 IngressRule: a single label)."""
        label, _, suffix = host.partition(b".")
        table = self._wildcards.get(suffix)
        return table if table is not None and _LABEL.fullmatch(label) else None


def compile_routes(model: RoutingModel, before: RouteTable | None = None, make: GateMaker = make_gate) -> RouteTable:
    """The table of a model; it depends on `hosts`, `default_route` and `unmatched_gates` only.

    What has not changed since `before` is taken over: the tables of hosts, with what they serve. `make` makes the gates
    of routes.
    """
    return finished(compiling(model, before, make))


def compiling(
    model: RoutingModel, before: RouteTable | None = None, make: GateMaker = make_gate
) -> Generator[None, None, RouteTable]:
    """`compile_routes` in steps, of which each takes some milliseconds."""
    table = RouteTable(model, before, make)
    for host in model.hosts:
        yield from table.adding(host, before, make)
        yield
    return table
