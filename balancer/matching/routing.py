"""Finds the one route that serves a host and a path, in tables compiled from the model.

Hosts: exact, then wildcards, then the catch-all, within the most specific listener. The route configuration says how
many labels a wildcard stands for, and whether a host without a route for a path falls through to the next one. What a
path leads to within a host is in `host_tables`. All names are bytes, as on the wire.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping
from typing import Final, NamedTuple

import msgspec

from balancer.http.messages import RequestHead
from balancer.matching.falling import falling
from balancer.matching.gates.making import GateMaker, make_gate
from balancer.matching.host_compiling import Care, care_for, care_for_all, compiling_host
from balancer.matching.host_names import LABEL, LABELS, WILDCARD, ListenerNames, covering, server_name_of
from balancer.matching.host_tables import HostTable
from balancer.matching.served import Match, Served
from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel, other_objects
from balancer.model.route_configurations import Listener, RouteConfiguration, Wildcards
from balancer.model.routes import INGRESS, Host, Route
from balancer.runtime.steps import finished


class _Empty(HostTable):
    """The table of a host of whose listener no host covers it: only the default route is left."""

    __slots__ = ("_default",)

    def __init__(self, name: str, default: Match | None) -> None:
        self.host = Host(name)
        self._default = default

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
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
        "_by_listener",
        "_cares",
        "_catch_all",
        "_default",
        "_exact",
        "_is_many",
        "_labels",
        "_listeners",
        "_policies",
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
        self._by_listener: dict[str, dict[str, HostTable]] = {}  # by the key of a listener, and the name of a host
        # Of hosts that fall through, by listener and name.
        self._cares: dict[tuple[str, str], Care] = {}
        self._exact: dict[bytes, HostTable] = {}
        self._wildcards: dict[bytes, HostTable] = {}
        self._catch_all: HostTable | None = None
        self._is_many = configuration.wildcards is Wildcards.MANY_LABELS
        self._listeners = ListenerNames(content.listeners, configuration.wildcards)
        self._labels = 1  # the most that a wildcard has behind its star
        # Each policy by itself. Those of hosts that have changed stay, so with more of them than hosts it begins anew.
        self._policies: dict[RoutePolicy, RoutePolicy] = {}
        if before is not None and len(before._policies) <= len(content.hosts):
            self._policies = before._policies

    def adding(self, host: Host, before: RouteTable | None, make: GateMaker) -> Generator[None, None, None]:
        """Compiles one host in steps, or takes it over from `before`, which has compiled hosts in the same way."""
        key = host.listener, host.name
        falls = self.content.configuration.falls_through
        past = before._host_table(*key) if before is not None else None
        tables = self._by_listener.setdefault(host.listener, {})
        if before is not None and past is not None and past.host == host:
            tables[host.name] = past
            if falls:
                self._cares[key] = before._cares[key]
            return
        self._share_policies(host)
        tables[host.name] = yield from compiling_host(host, None if falls else self._default, make)
        if falls:
            self._cares[key] = care_for(host, None)

    def _share_policies(self, host: Host) -> None:
        """Makes equal policies of routes one object: requests for many hosts then read fewer places in memory."""
        policies = self._policies
        for route in host.routes if host.default is None else (*host.routes, host.default):
            policy = policies.setdefault(route.policy, route.policy)
            if policy is not route.policy:  # but equal, so nobody notices
                msgspec.structs.force_setattr(route, "policy", policy)

    def replacing(self, hosts: tuple[Host, ...], before: RouteTable, make: GateMaker) -> Generator[None, None, None]:
        """Compiles `hosts`, those of `_replaced`, in steps. Takes everything else over from `before`, the other hosts
        and who serves which names.
        """
        self._by_listener = before._by_listener.copy()
        for key in {host.listener for host in hosts}:
            self._by_listener[key] = before._by_listener[key].copy()
        self._cares = before._cares.copy()
        self._exact = before._exact.copy()
        self._wildcards = before._wildcards.copy()
        self._catch_all = before._catch_all
        self._labels = before._labels
        yield
        for host in hosts:
            yield from self.adding(host, before, make)
            self._settle(host.name)
            yield

    def naming(self) -> Generator[None, None, None]:
        """Settles, in steps, which hosts serve which names."""
        listeners = self._listeners
        if not listeners.is_divided and not self.content.configuration.falls_through:
            (listener,) = listeners.by_hostname.values()
            for name, table in self._by_listener.get(listener.key, {}).items():
                self._put(name, table)
            return
        names = dict.fromkeys(listeners.by_hostname)
        for hosts in self._by_listener.values():
            names.update(dict.fromkeys(hosts))
        for name in names:
            self._settle(name)
            yield

    def _settle(self, name: str) -> None:
        """Settles which hosts serve a name."""
        listener = self._listeners.listener_of(name)
        if listener is None:
            return
        configuration, hosts = self.content.configuration, self._by_listener.get(listener.key, {})
        names = tuple(covering(name, hosts, configuration.wildcards))
        if not names:
            self._put(name, _Empty(name, self._default))
        elif not configuration.falls_through:
            self._put(name, hosts[names[0]])
        else:
            care = care_for_all(self._cares[listener.key, each] for each in names)
            self._put(name, falling(tuple(hosts[each] for each in names), self._default, care))

    def _put(self, name: str, table: HostTable) -> None:
        if name.startswith(WILDCARD):
            suffix = name.removeprefix(WILDCARD).encode()
            self._wildcards[suffix] = table
            self._labels = max(self._labels, 1 + suffix.count(b"."))
        else:
            self._exact[name.encode()] = table
        if not name:
            self._catch_all = table

    def _host_table(self, listener: str, name: str) -> HostTable | None:
        hosts = self._by_listener.get(listener)
        return None if hosts is None else hosts.get(name)

    def tables_not_of(self, after: RouteTable | None) -> Iterator[list[HostTable]]:
        """The tables of hosts that `after` has not taken over, listener by listener."""
        for listener, hosts in self._by_listener.items():
            kept = {} if after is None else after._by_listener.get(listener, {})
            if kept is not hosts:
                yield [table for name, table in hosts.items() if kept.get(name) is not table]

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
        table = self._exact.get(host)
        if table is None:
            table = self._table(host)
            if table is None:
                return self._default
        return table.match(path, target, request)

    def host(self, name: bytes) -> Host | None:
        """The host whose routes `match` searches first, or None. `name` as for `match`."""
        table = self._table(name)
        return table.host if table is not None and not isinstance(table, _Empty) else None

    def misdirects(self, server_name: str, host: bytes) -> bool:
        """Whether a request for `host` came by a handshake for a name of another listener than the host's (RFC 9110
        15.5.20). False if no listener covers the host.

        `host` is as for `match`, and `server_name` as the client sent it, empty if it sent none.
        """
        right = self._listeners.listener_of(host.decode("latin-1"))
        return right is not None and right is not self._listeners.listener_of(server_name_of(server_name))

    def _table(self, host: bytes) -> HostTable | None:
        if self._is_many:
            return self._exact.get(host) or self._long_wildcard(host) or self._catch_all
        return self._exact.get(host) or self._wildcard(host) or self._catch_all

    def _wildcard(self, host: bytes) -> HostTable | None:
        """The table of `*.` and all labels but the first."""
        label, _, suffix = host.partition(b".")
        table = self._wildcards.get(suffix)
        return table if table is not None and LABEL.fullmatch(label) else None

    def _long_wildcard(self, host: bytes) -> HostTable | None:
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


NOWHERE: Final = RouteTable(Content(RouteConfiguration(""), (), ()), None, make_gate)
"""The table behind an entry point that is gone: no route, no gate."""


def compile_routes(model: RoutingModel, before: RouteTable | None = None, configuration: str = INGRESS) -> RouteTable:
    """The table of one route configuration of a model, by its key.

    What has not changed since `before` is taken over: the tables of hosts, with what they serve.
    """
    return finished(_compiling_one(_contents(model)[configuration], before, make_gate))


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


def retired(before: Mapping[str, RouteTable], after: Mapping[str, RouteTable]) -> Generator[None, None, list[object]]:
    """What `after` has not taken over from `before`, in steps: tables of hosts, then the tables that hold them.

    Whoever frees the list from its end frees one host at a time.
    """
    left = [(table, after.get(key)) for key, table in before.items() if after.get(key) is not table]
    found: list[object] = []
    for table, now in left:
        for some in table.tables_not_of(now):
            found += some
            yield
    return [*found, *(table for table, _ in left)]


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
    replaced = None if before is None else _replaced(before.content, content)
    if before is not None and replaced is not None:
        yield from table.replacing(replaced, before, make)
        return table
    for host in content.hosts:
        yield from table.adding(host, before, make)
        yield
    yield from table.naming()
    return table


def _replaced(before: Content, after: Content) -> tuple[Host, ...] | None:
    """The hosts of `after` that are other ones than before. None if more has changed, or if one of them may serve names
    of other hosts.
    """
    if before.configuration.wildcards is not after.configuration.wildcards or before.listeners != after.listeners:
        return None
    others = other_objects(before.hosts, after.hosts)
    if others is None or not all(map(_has_place_of, *others)):
        return None
    return others[1]


def _has_place_of(old: Host, new: Host) -> bool:
    """Whether `new` stands for the one name that `old` stood for."""
    is_one = bool(new.name) and not new.name.startswith(WILDCARD)
    return is_one and (old.listener, old.name) == (new.listener, new.name)


def _compiles_alike(table: RouteTable, other: RouteTable) -> bool:
    """Whether equal hosts have equal tables in both."""
    falls = table.content.configuration.falls_through, other.content.configuration.falls_through
    return table._default is other._default and falls[0] is falls[1]
