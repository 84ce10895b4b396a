"""Finds the relay route of a connection by the name in its ClientHello, in tables compiled from the model.

Within the most specific listener that covers the name, the most specific name counts, of relay routes and of hosts.
Does not know connections.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final, NamedTuple

from balancer.matching.destinations import names_of
from balancer.matching.host_names import ListenerNames, covering, server_name_of
from balancer.model.publication import RoutingModel
from balancer.model.relays import RelayRoute
from balancer.model.route_configurations import Listener, Wildcards
from balancer.model.routes import Branch

_OPERATORS: Final = "ConfigMap"
"""The kind of owners whose word needs no leave of the namespaces that it leads to."""

_NAMES_REMEMBERED: Final = 1024  # clients ask for few names, and may send any


class RelayTarget:
    """Where connections go: a branch of a relay route. `names` are those under which they count."""

    __slots__ = ("branch", "names", "route")

    def __init__(self, route: RelayRoute, branch: Branch) -> None:
        self.route = route
        self.branch = branch
        self.names = names_of(branch)


class Relayed:
    """A relay route with what was compiled from it."""

    __slots__ = ("_ends", "_total", "route", "targets")

    def __init__(self, route: RelayRoute) -> None:
        self.route = route
        self.targets = tuple(RelayTarget(route, branch) for branch in route.branches)
        self._ends = tuple(accumulate(branch.weight for branch in route.branches))
        self._total = self._ends[-1]

    def choose(self, random_below: Callable[[int], int]) -> RelayTarget:
        """One of the branches, by weight. Nothing takes over the share of a branch."""
        if len(self.targets) == 1:
            return self.targets[0]
        return self.targets[bisect_right(self._ends, random_below(self._total))]


class Unrouted:
    """The answer for connections that no relay route takes, at a listener that speaks no HTTP."""

    __slots__ = ()


UNROUTED: Final = Unrouted()

_NAME_CHARACTERS_MOST = 253
"""No host has a longer name (RFC 1035 2.3.4), so what a client sends beyond is not kept."""

Choice = Relayed | Unrouted | None
"""What becomes of a connection. None: HTTP is spoken."""


class RelayTable:
    """The relay routes of one route configuration, and the names of hosts beside them."""

    __slots__ = ("_by_listener", "_found", "_listeners", "_wildcards")

    def __init__(
        self,
        listeners: Sequence[Listener],
        by_listener: Mapping[str, Mapping[str, Relayed | None]],
        wildcards: Wildcards,
    ) -> None:
        """`by_listener` are the names of each listener with their relay routes; None: a host has the name."""
        self._listeners = ListenerNames(listeners, wildcards)
        self._by_listener = by_listener
        self._wildcards = wildcards
        self._found: dict[str, Choice] = {}

    def find(self, server_name: str | None) -> Choice:
        """What becomes of a connection that asks for a name as the client sent it. None: it names nobody."""
        name = server_name_of(server_name or "")
        if name in self._found:
            return self._found[name]
        found = self._look_up(name)
        if len(self._found) < _NAMES_REMEMBERED and len(name) <= _NAME_CHARACTERS_MOST:
            self._found[name] = found
        return found

    def _look_up(self, name: str) -> Choice:
        listener = self._listeners.listener_of(name)
        if listener is None:
            speaks = any(not each.only_relays for each in self._listeners.by_hostname.values())
            return None if speaks else UNROUTED
        names = self._by_listener.get(listener.key, {})
        best = next(covering(name, names, self._wildcards), None)
        found = None if best is None else names[best]
        return UNROUTED if found is None and listener.only_relays else found


Reference = tuple[str, str, str]
"""A reference to a Service of another namespace: the kind and the full name of its owner, and that of the Service."""


class RelayTables(NamedTuple):
    """What is compiled of a model for relays.

    `tables` are by the keys of route configurations; those that relay nothing have none, and cost nothing. `carried`
    are the references to other namespaces that can be followed.
    """

    tables: dict[str, RelayTable]
    carried: frozenset[Reference]


NO_RELAYS: Final = RelayTables({}, frozenset())


def relay_tables(model: RoutingModel) -> RelayTables:
    """The tables of a model."""
    relaying = {each.configuration for each in model.listeners if each.only_relays}
    relaying.update(each.configuration for each in model.relays)
    if not relaying:
        return NO_RELAYS
    names: dict[str, dict[str, Relayed | None]] = {}
    for host in model.hosts:
        if host.configuration in relaying:
            names.setdefault(host.listener, {})[host.name] = None
    for relay in model.relays:
        names.setdefault(relay.listener, {})[relay.name] = Relayed(relay)
    listeners: dict[str, list[Listener]] = {key: [] for key in sorted(relaying)}
    for each in model.listeners:
        if each.configuration in relaying:
            listeners[each.configuration].append(each)
    tables = {key: RelayTable(found, names, model.configuration(key).wildcards) for key, found in listeners.items()}
    references = (reference_of(branch) for relay in model.relays for branch in relay.branches if branch.backend)
    return RelayTables(tables, frozenset(each for each in references if each is not None))


def reference_of(branch: Branch) -> Reference | None:
    """The reference of a branch to a Service of another namespace.

    None: it needs no leave, because the Service is in the namespace of its owner, or the operator has named it.
    """
    owner, service = branch.owner, branch.service
    needs_no_leave = owner.namespace == service.namespace or owner.kind == _OPERATORS
    return None if needs_no_leave else (owner.kind, owner.full_name, service.full_name)
