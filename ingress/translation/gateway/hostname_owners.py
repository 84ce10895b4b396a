"""Lets one namespace own a hostname of a listener: that of the oldest route which names it, or a wider one.

Otherwise a more specific hostname or path of another namespace takes requests away (--one-namespace-per-hostname).
Routes of every kind count, and a route without hostnames names those of its listener. A listener of a ListenerSet, or
of another Gateway on a shared port, takes names from wider listeners of its port. So there the owners are those of the
whole port, and a listener for a name of another namespace gives way. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ingress.translation.gateway.attaching import Attachment
from ingress.translation.gateway.hostnames import normal, widening
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.route_reading import ReadParent, ReadRoute, with_parents
from ingress.translation.gateway.standings import Problem

_Port = tuple[str, int]


class HostnameOwners:
    """The namespaces by hostname, of each listener and of each port, and by which Gateway the latter came to be."""

    __slots__ = ("_of_listeners", "_of_ports")

    def __init__(self) -> None:
        self._of_listeners: dict[str, dict[str, str]] = {}
        self._of_ports: dict[_Port, dict[str, tuple[str, tuple[str, str]]]] = {}

    def owned(self, routes: Iterable[ReadRoute]) -> Iterator[ReadRoute]:
        """The routes, which come by age, without the hostnames that belong to another namespace.

        A parent of which no hostname is left does not take the route.
        """
        for read in routes:
            parents = tuple(self._allowed(parent, read.route.metadata.namespace) for parent in read.parents)
            yield read if parents == read.parents else with_parents(read, parents)

    def given_way(self, listeners: Iterable[ReadListener]) -> tuple[ReadListener, ...]:
        """The listeners, of which those are closed that no route may use because their hostname belongs to another
        namespace: they would take its requests and answer 404.
        """
        return tuple(
            each
            if (problem := self._conflict(each)) is None
            else msgspec.structs.replace(each, conflict=problem, serves=False)
            for each in listeners
        )

    def _conflict(self, listener: ReadListener) -> Problem | None:
        if not listener.is_open or listener.spec.protocol == "TCP" or self._of_listeners.get(listener.key):
            return None
        name = normal(listener.spec.hostname)
        owner = self._owner(name, listener.owner.namespace, listener)
        return None if owner is None else Problem("HostnameConflict", _belongs(name, owner))

    def _allowed(self, parent: ReadParent, namespace: str) -> ReadParent:
        """What is left of one parent."""
        kept: list[Attachment] = []
        foreign: tuple[str, str] | None = None
        for each in parent.attached:
            left: list[str] = []
            for name in each.hostnames:
                owner = self._owner(name, namespace, each.listener)
                if owner is None:
                    self._claim(name, namespace, each.listener)
                    left.append(name)
                else:
                    foreign = foreign or (name, owner)
            if left:
                kept.append(msgspec.structs.replace(each, hostnames=tuple(left)))
        if foreign is None:
            return parent
        if kept:
            return msgspec.structs.replace(parent, attached=tuple(kept))
        return ReadParent(parent.reference, refused=Problem("NotAllowedByListeners", _belongs(*foreign)))

    def _claim(self, name: str, namespace: str, listener: ReadListener) -> None:
        self._of_listeners.setdefault(listener.key, {}).setdefault(name, namespace)
        self._of_ports.setdefault(_port(listener), {}).setdefault(name, (namespace, listener.gateway))

    def _owner(self, name: str, namespace: str, listener: ReadListener) -> str | None:
        """The other namespace that owns a name; None: nobody does, or `namespace` itself."""
        own, of_port = self._of_listeners.get(listener.key, {}), self._of_ports.get(_port(listener), {})
        of_set = listener.owner.kind == "ListenerSet"
        for each in widening(name):
            owner = own.get(each)
            if owner is None and each in of_port:
                other, gateway = of_port[each]
                owner = other if of_set or gateway != listener.gateway else None
            if owner is not None:
                return owner if owner != namespace else None
        return None


def _port(listener: ReadListener) -> _Port:
    """What only listeners on one port have in common: the route configuration, if Gateways have ports of their own."""
    return listener.configuration, listener.spec.port


def _belongs(name: str, owner: str) -> str:
    return f"The hostname {name or '*'} belongs to the namespace {owner}, whose route is older: use another one."
