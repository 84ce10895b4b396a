"""Finds the one route that serves a host and a path, in tables compiled from the model.

Hosts: exact, then wildcards, then the catch-all, within the most specific listener. The route configuration says how
many labels a wildcard stands for, and whether a host without a route for a path falls through to the next one. Paths:
Exact, then the longest Prefix by elements (networking.k8s.io/v1 HTTPIngressPath); or else the first regular expression
that is found (nginx `location ~*`). All names are bytes, as on the wire.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Mapping
from typing import NamedTuple

import msgspec

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead, may_upgrade
from balancer.matching.branches import junction_of
from balancer.matching.editing import editors_of
from balancer.matching.gates.making import GateMaker, gates_of, make_gate
from balancer.matching.host_names import LABEL, LABELS, WILDCARD, ListenerNames, covering
from balancer.matching.mirroring import MirrorRequests
from balancer.matching.path_readings import path_without_parameters, readings
from balancer.matching.regexes import Pattern, PatternSet, compile_caseless
from balancer.matching.rewriting import Rewriter
from balancer.matching.stand_ins import stand_ins_of
from balancer.model.gates import protecting
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import INGRESS, SEARCHED_BYTES_WIDE, Host, PathKind, PathParameters, Route
from balancer.runtime.steps import finished

_SEPARATOR = re.compile(rb"[\n\v]")
_QUERY_MARK = ord("?")


class Served:
    """A route with everything that requests need of it and that is known at the swap.

    `junction` is None if the route has no branches. `plain_gates` and `secure_gates` are for requests over http and
    https. `editors` change every response. `host` replaces the client's Host; None keeps that. `connection` is what
    endpoints read in Connection, empty for the usual. `rewriting` gives endpoints another target; None keeps that of
    the client. `closed` as in the model; `closed_as` is the error that requests get then. `stand_ins` is None if
    nothing stands in for the backend. `mirroring` is None if requests are not copied. `is_plain`: a request without a
    body goes to an endpoint as it came, apart from its Host: there is neither a gate nor anything else of the above,
    but for editors.
    """

    __slots__ = (
        "closed",
        "closed_as",
        "connection",
        "editors",
        "host",
        "is_plain",
        "junction",
        "mirroring",
        "plain_gates",
        "rewriting",
        "route",
        "secure_gates",
        "stand_ins",
    )

    def __init__(self, route: Route, make: GateMaker, closing: ErrorKind | None = None) -> None:
        """`closing`: every request is refused with this error, although the route is open."""
        self.route = route
        self.plain_gates, self.secure_gates = gates_of(route, make)
        self.editors = editors_of(route)
        self.junction = junction_of(route)
        self.host = route.policy.host.encode() if route.policy.host else None
        self.connection = route.policy.connection.encode() or (b"close" if route.policy.http_1_0 else b"")
        self.rewriting = Rewriter(route.rewriting, route.expression) if route.rewriting is not None else None
        self.mirroring = MirrorRequests(route.mirroring) if route.mirroring is not None else None
        self.closed = route.closed or closing is not None
        self.closed_as = closing or ErrorKind.PATH_CLOSED
        self.stand_ins = stand_ins_of(route)
        self.is_plain = not (
            self.closed
            or self.plain_gates
            or self.secure_gates
            or self.junction
            or self.connection
            or self.rewriting
            or self.mirroring
            or self.stand_ins
        )

    def offering(self, request: RequestHead) -> RequestHead:
        """`request` with its upgrade if the endpoint may be offered it, else without."""
        if not self.connection and may_upgrade(request, self.route.policy.upgrade_protocols):
            return request
        return msgspec.structs.replace(request, upgrade=b"")


class Match:
    """What serves a request, and what the groups of the route's regular expression captured of the path."""

    __slots__ = ("captures", "served")

    def __init__(self, served: Served, captures: tuple[bytes, ...] = ()) -> None:
        self.served, self.captures = served, captures


class _Prefix:
    """The two prefixes with the same elements: `/a` and `/a/` are different paths of an Ingress."""

    __slots__ = ("plain", "slashed")

    def __init__(self) -> None:
        self.plain: Match | None = None
        self.slashed: Match | None = None


class _Table:
    """The routes of one `host`."""

    __slots__ = ("host",)

    host: Host

    def match(self, path: bytes, target: bytes) -> Match | None:
        """The match of a normalised path, which was read from `target`. Raises `Refusal` for one that is not served."""
        raise NotImplementedError


class _HostTable(_Table):
    """The routes of one host."""

    __slots__ = ("_default", "_depth", "_exact", "_prefixes")

    def __init__(self, host: Host, default: Match | None, make: GateMaker) -> None:
        self.host = host
        self._default = default if host.default is None else Match(Served(host.default, make))
        self._exact: dict[bytes, Match] = {}
        self._prefixes: dict[bytes, _Prefix] = {}
        for route in host.routes:
            path, match = route.path.encode(), Match(Served(route, make))
            if route.kind is PathKind.EXACT:
                self._exact[path] = match
            elif path.endswith(b"/"):
                self._prefixes.setdefault(path[:-1], _Prefix()).slashed = match
            else:
                self._prefixes.setdefault(path, _Prefix()).plain = match
        self._depth = max((elements.count(b"/") for elements in self._prefixes), default=0)

    def match(self, path: bytes, target: bytes) -> Match | None:
        """The match of a normalised path. Takes at most three look-ups plus the number of elements of the deepest
        prefix.

        The whole path comes first: `/a` matches the prefix `/a`, and matches `/a/` only if there is no prefix `/a`.
        Then come its leading elements, at most as many as the deepest prefix has. So a path of thousands of slashes
        costs no more look-ups than an honest path.
        """
        match = self._exact.get(path)
        if match is not None:
            return match
        if (prefix := self._prefixes.get(path)) is not None:
            return prefix.plain or prefix.slashed
        elements = b"/".join(path.split(b"/", self._depth + 1)[:-1])
        while (prefix := self._prefixes.get(elements)) is None:
            if not elements:
                return self._default
            elements = elements.rpartition(b"/")[0]
        return prefix.slashed or prefix.plain


class _ExpressionTable(_Table):
    """The routes of one host whose paths are regular expressions."""

    __slots__ = ("_default", "_long", "_long_matches", "_matches", "_patterns", "_set")

    def __init__(self, host: Host, default: Match | None, matches: tuple[Match, ...], patterns: PatternSet) -> None:
        """`matches` are those of the host's routes, and `patterns` their expressions."""
        self.host = host
        self._default = default
        self._matches = self._long_matches = matches
        self._patterns = tuple(map(_capturing, host.routes))
        self._set = patterns
        self._long: PatternSet | None = None

    @classmethod
    def compiling(cls, host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, _ExpressionTable]:
        """The table, in steps of ten milliseconds at most: tenants decide how many expressions there are."""
        matches = []
        for route in host.routes:
            _capturing(route)
            matches.append(Match(Served(route, make)))
            yield
        patterns = yield from PatternSet.compiling([route.expression for route in host.routes])
        own = default if host.default is None else Match(Served(host.default, make))
        made = cls(host, own, tuple(matches), patterns)
        if any(route.long_expression for route in host.routes):
            texts = [route.long_expression or route.expression for route in host.routes]
            made._long = yield from PatternSet.compiling(texts)
            made._long_matches = tuple(_long_match(each, make) for each in matches)
        return made

    def match(self, path: bytes, target: bytes) -> Match | None:
        """The match of a normalised path: the first expression that is found in it."""
        if not is_searchable(path):
            return None
        patterns, matches = self._set, self._matches
        if self._long is not None and len(path) > SEARCHED_BYTES_WIDE:
            patterns, matches = self._long, self._long_matches
        place = patterns.first(path)
        if place is None:
            return self._default
        match, pattern = matches[place], self._patterns[place]
        if match.served.closed:
            return match
        return match if pattern is None else Match(match.served, pattern.captures(path) or ())


class _CarefulTable(_Table):
    """The routes of one host where it matters in which way its endpoints read a path.

    `_compares`: some paths of the host have gates that others do not have.
    """

    __slots__ = ("_compares", "_parameters", "_routes")

    def __init__(self, routes: _Table, compares: bool) -> None:
        self.host, self._routes, self._compares = routes.host, routes, compares
        self._parameters = routes.host.path_parameters

    def match(self, path: bytes, target: bytes) -> Match | None:
        """The match of a path that every endpoint reads alike costs two comparisons more than in another table."""
        size, routes = len(path), self._routes
        if target.startswith(path) and path.find(b";") < 0 and (len(target) == size or target[size] == _QUERY_MARK):
            return routes.match(path, target)
        if target[:1] != b"/":  # the asterisk of OPTIONS
            return routes.match(path, target)
        return self._compared(path, target)

    def _compared(self, path: bytes, target: bytes) -> Match | None:
        """The match, unless the target has a reading that leads to a path with other gates."""
        routes, parameters = self._routes, self._parameters
        if parameters is PathParameters.STRIP:
            path = path_without_parameters(target)
        match = routes.match(path, target)
        if match is None or not self._compares:
            return match
        for reading in readings(target, strips_parameters=parameters is not PathParameters.PASS):
            other = routes.match(reading, target)
            if other is not None and not _covers(match.served.route, other.served.route):
                raise Refusal(ErrorKind.BAD_REQUEST, "a path that an endpoint could read as a protected one")
        return match


class _Empty(_Table):
    """The table of a host of whose listener no host covers it: only the default route is left."""

    __slots__ = ("_default",)

    def __init__(self, name: str, default: Match | None) -> None:
        self.host, self._default = Host(name), default

    def match(self, path: bytes, target: bytes) -> Match | None:
        return self._default


class _Falling(_Table):
    """The tables of the hosts of one listener that cover a host, the most specific one first, and the default route."""

    __slots__ = ("_default", "_tables")

    def __init__(self, tables: tuple[_Table, ...], default: Match | None) -> None:
        self.host = tables[0].host
        self._tables, self._default = tables, default

    def match(self, path: bytes, target: bytes) -> Match | None:
        for table in self._tables:
            match = table.match(path, target)
            if match is not None:
                return match
        return self._default


class Content(NamedTuple):
    """A route configuration with its listeners and hosts, in the order of the model."""

    configuration: RouteConfiguration
    listeners: tuple[Listener, ...]
    hosts: tuple[Host, ...]


class RouteTable:
    """All routes of one route configuration, compiled. `unmatched_gates` judge the requests that no route serves.

    A look-up is one for exact names and one for each label less. Which listener has a host is settled at the swap.
    """

    __slots__ = (
        "_by_key",
        "_catch_all",
        "_default",
        "_exact",
        "_is_many",
        "_labels",
        "_wildcards",
        "content",
        "unmatched_gates",
    )

    def __init__(self, content: Content, before: RouteTable | None, make: GateMaker) -> None:
        """A table without hosts yet."""
        configuration = content.configuration
        self.content = content
        self.unmatched_gates = tuple(make(rule) for rule in configuration.unmatched_gates)
        self._default: Match | None = None
        if before is not None and before.default_route == configuration.default_route:
            self._default = before._default
        elif configuration.default_route is not None:
            self._default = Match(Served(configuration.default_route, make))
        self._by_key: dict[tuple[str, str], _Table] = {}
        self._exact: dict[bytes, _Table] = {}
        self._wildcards: dict[bytes, _Table] = {}
        self._catch_all: _Table | None = None
        self._is_many = configuration.wildcards is Wildcards.MANY_LABELS
        self._labels = 1  # the most that a wildcard has behind its star

    def adding(self, host: Host, before: RouteTable | None, make: GateMaker) -> Generator[None, None, None]:
        """Compiles one host in steps, or takes it over from `before`, which has compiled hosts in the same way."""
        key = host.listener, host.name
        past = before._by_key.get(key) if before is not None else None
        if past is None or past.host != host:
            default = None if self.content.configuration.falls_through else self._default
            past = yield from _compiling(host, default, make)
        self._by_key[key] = past

    def naming(self) -> Generator[None, None, None]:
        """Settles, in steps, which hosts serve which names."""
        listeners = ListenerNames(self.content.listeners, self.content.configuration.wildcards)
        if not listeners.is_divided and not self.content.configuration.falls_through:
            (listener,) = listeners.by_hostname.values()
            for (key, name), table in self._by_key.items():
                if key == listener.key:
                    self._put(name, table)
            return
        names = dict.fromkeys(listeners.by_hostname)
        names.update(dict.fromkeys(name for _, name in self._by_key))
        by_listener: dict[str, dict[str, _Table]] = {each.key: {} for each in self.content.listeners}
        for (key, name), table in self._by_key.items():
            by_listener.setdefault(key, {})[name] = table
        for name in names:
            self._settle(name, listeners, by_listener)
            yield

    def _settle(self, name: str, listeners: ListenerNames, by_listener: Mapping[str, Mapping[str, _Table]]) -> None:
        listener = listeners.listener_of(name)
        if listener is None:
            return
        configuration, hosts = self.content.configuration, by_listener[listener.key]
        tables = tuple(hosts[each] for each in covering(name, hosts, configuration.wildcards))
        if not tables:
            self._put(name, _Empty(name, self._default))
        else:
            self._put(name, _Falling(tables, self._default) if configuration.falls_through else tables[0])

    def _put(self, name: str, table: _Table) -> None:
        if name.startswith(WILDCARD):
            suffix = name.removeprefix(WILDCARD).encode()
            self._wildcards[suffix] = table
            self._labels = max(self._labels, 1 + suffix.count(b"."))
        else:
            self._exact[name.encode()] = table
        if not name:
            self._catch_all = table

    @property
    def default_route(self) -> Route | None:
        """The route of requests that match no host."""
        return self._default.served.route if self._default is not None else None

    def match(self, host: bytes, path: bytes, target: bytes = b"") -> Match | None:
        """What serves a request, or None.

        `host` is in lower case, without port and trailing dot, and empty if the request names none. `path` is
        percent-decoded and normalised, and begins with `/`. `target` is what endpoints get; empty: they
        read `path`. Raises `Refusal(BAD_REQUEST)` for a target in which an endpoint could find a path with other gates.
        """
        table = self._exact.get(host) or self._table(host)
        return table.match(path, target) if table is not None else self._default

    def host(self, name: bytes) -> Host | None:
        """The host whose routes `match` searches first, or None. `name` as for `match`."""
        table = self._table(name)
        return table.host if table is not None and not isinstance(table, _Empty) else None

    def _table(self, host: bytes) -> _Table | None:
        if self._is_many:
            return self._exact.get(host) or self._long_wildcard(host) or self._catch_all
        return self._exact.get(host) or self._wildcard(host) or self._catch_all

    def _wildcard(self, host: bytes) -> _Table | None:
        """The table of `*.` and all labels but the first."""
        label, _, suffix = host.partition(b".")
        table = self._wildcards.get(suffix)
        return table if table is not None and LABEL.fullmatch(label) else None

    def _long_wildcard(self, host: bytes) -> _Table | None:
        """The table of the longest wildcard that covers a host. Its look-ups are no more than the labels of the
        longest wildcard, however many labels a client sends.
        """
        _, *labels = host.rsplit(b".", self._labels)
        while labels:
            suffix = b".".join(labels)
            table = self._wildcards.get(suffix)
            if table is not None:
                return table if LABELS.fullmatch(host[: -1 - len(suffix)]) else None
            del labels[0]
        return None


def compile_routes(
    model: RoutingModel, before: RouteTable | None = None, make: GateMaker = make_gate, configuration: str = INGRESS
) -> RouteTable:
    """The table of one route configuration of a model, by its key.

    What has not changed since `before` is taken over: the tables of hosts, with what they serve. `make` makes the gates
    of routes.
    """
    return finished(_compiling_one(_contents(model)[configuration], before, make))


def compiling(
    model: RoutingModel, before: Mapping[str, RouteTable], make: GateMaker = make_gate
) -> Generator[None, None, dict[str, RouteTable]]:
    """The tables of all route configurations of a model, by key, in steps, of which each takes some milliseconds.

    They depend on `route_configurations`, `listeners` and `hosts` only. What has not changed since `before` is taken
    over: first whole tables, then the tables of hosts, with what they serve.
    """
    tables: dict[str, RouteTable] = {}
    contents = _contents(model)
    yield
    for key, content in contents.items():
        past = before.get(key)
        if past is not None and past.content == content:
            tables[key] = past
        else:
            tables[key] = yield from _compiling_one(content, past, make)
        yield
    return tables


def _contents(model: RoutingModel) -> dict[str, Content]:
    if len(model.route_configurations) == 1:  # as without a Gateway: nothing is to be divided
        (only,) = model.route_configurations
        return {only.key: Content(only, model.listeners, model.hosts)}
    listeners: dict[str, list[Listener]] = {each.key: [] for each in model.route_configurations}
    hosts: dict[str, list[Host]] = {each.key: [] for each in model.route_configurations}
    for listener in model.listeners:
        listeners[listener.configuration].append(listener)
    for host in model.hosts:
        hosts[host.configuration].append(host)
    return {
        each.key: Content(each, tuple(listeners[each.key]), tuple(hosts[each.key]))
        for each in model.route_configurations
    }


def _compiling_one(content: Content, before: RouteTable | None, make: GateMaker) -> Generator[None, None, RouteTable]:
    table = RouteTable(content, before, make)
    if before is not None and not _compiles_alike(before, table):
        before = None
    for host in content.hosts:
        yield from table.adding(host, before, make)
        yield
    yield from table.naming()
    return table


def _compiles_alike(table: RouteTable, other: RouteTable) -> bool:
    """Whether equal hosts have equal tables in both."""
    falls = table.content.configuration.falls_through, other.content.configuration.falls_through
    return table._default is other._default and falls[0] is falls[1]


def is_searchable(path: bytes) -> bool:
    """Whether expressions are tried for `path`: a path with a line feed or a vertical tab matches nothing.

    PCRE, the engine of ingress-nginx, takes these bytes for something else in `$` and `\\s` than RE2 does. And `.`
    stops at a line feed, so an expression that protects something could be passed by.
    """
    return not _SEPARATOR.search(path)


def _compiling(host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, _Table]:
    table: _Table
    if any(route.kind is PathKind.REGEX for route in host.routes):
        table = yield from _ExpressionTable.compiling(host, default, make)
    else:
        table = _HostTable(host, default, make)
    compares = _is_unevenly_protected(host, default)
    if not compares and host.path_parameters is not PathParameters.STRIP:
        return table
    return _CarefulTable(table, compares)


def _is_unevenly_protected(host: Host, default: Match | None) -> bool:
    """Whether some paths of the host have gates that others do not have."""
    kinds = {(route.closed, protecting(route.gates)) for route in host.routes}
    if host.default is not None:
        kinds.add((host.default.closed, protecting(host.default.gates)))
    elif default is not None:
        kinds.add((default.served.route.closed, protecting(default.served.route.gates)))
    return len(kinds) > 1


def _covers(route: Route, other: Route) -> bool:
    """Whether `route` lets nobody in whom `other` would keep out."""
    if route is other or route.closed:
        return True
    gates = protecting(route.gates)
    return not other.closed and all(rule in gates for rule in protecting(other.gates))


def _long_match(match: Match, make: GateMaker) -> Match:
    """What becomes of a path that is too long for the expression of the route."""
    route = match.served.route
    return Match(Served(route, make, ErrorKind.TARGET_TOO_LONG)) if route.long_expression else match


def _capturing(route: Route) -> Pattern | None:
    """The pattern of a route, if something may refer to its groups."""
    if route.rewriting is None and not route.gates:
        return None
    pattern = compile_caseless(route.expression)
    return pattern if pattern.groups else None
