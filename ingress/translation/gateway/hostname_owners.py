"""Lets one namespace own a hostname of a listener: that of the oldest route which names it, or a wider one.

Otherwise a more specific hostname or path of another namespace takes requests away (--one-namespace-per-hostname).
Routes of every kind count, and a route without hostnames names those of its listener. A listener of a ListenerSet takes
names from wider listeners of its port, so there the owners are those of the whole port. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ingress.translation.gateway.attaching import Attachment
from ingress.translation.gateway.hostnames import widening
from ingress.translation.gateway.listeners import ReadListener
from ingress.translation.gateway.route_reading import ReadParent, ReadRoute, with_parents
from ingress.translation.gateway.standings import Problem

_Owners = dict[tuple[object, ...], dict[str, str]]
"""The namespaces by hostname, of each listener and of each port."""


def owned(routes: Iterable[ReadRoute]) -> Iterator[ReadRoute]:
    """The routes, which come by age, without the hostnames that belong to another namespace.

    A parent of which no hostname is left does not take the route.
    """
    owners: _Owners = {}
    for read in routes:
        namespace = read.route.metadata.namespace
        parents = tuple(_allowed(parent, namespace, owners) for parent in read.parents)
        yield read if parents == read.parents else with_parents(read, parents)


def _allowed(parent: ReadParent, namespace: str, owners: _Owners) -> ReadParent:
    """What is left of one parent. `owners` learn new ones."""
    kept: list[Attachment] = []
    foreign: tuple[str, str] | None = None
    for each in parent.attached:
        own, of_port = (owners.setdefault(place, {}) for place in _places(each.listener))
        known = of_port if each.listener.owner.kind == "ListenerSet" else own
        left: list[str] = []
        for name in each.hostnames:
            owner = _owner(name, namespace, known)
            if owner is None:
                own.setdefault(name, namespace)
                of_port.setdefault(name, namespace)
                left.append(name)
            else:
                foreign = foreign or (name, owner)
        if left:
            kept.append(msgspec.structs.replace(each, hostnames=tuple(left)))
    if foreign is None:
        return parent
    if kept:
        return msgspec.structs.replace(parent, attached=tuple(kept))
    name, owner = foreign
    message = f"The hostname {name or '*'} belongs to the namespace {owner}, whose route is older: use another one."
    return ReadParent(parent.reference, refused=Problem("NotAllowedByListeners", message))


def _owner(name: str, namespace: str, known: dict[str, str]) -> str | None:
    """The other namespace that owns a name; None: nobody does, or `namespace` itself."""
    owner = next((known[each] for each in widening(name) if each in known), None)
    return owner if owner != namespace else None


def _places(listener: ReadListener) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """Where names have owners: on a listener, and on its port."""
    return (listener.key,), (listener.configuration, listener.spec.port)
