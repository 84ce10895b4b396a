"""Lets one namespace own a hostname of a listener: that of the oldest route which names it, or a wider one.

Otherwise a more specific hostname or path of another namespace takes requests away (--one-namespace-per-hostname).
Routes of every kind count, and a route without hostnames names those of its listener. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from ingress.translation.gateway.attaching import Attachment
from ingress.translation.gateway.hostnames import covers
from ingress.translation.gateway.route_reading import ReadParent, ReadRoute, with_parents
from ingress.translation.gateway.standings import Problem


def owned(routes: Iterable[ReadRoute]) -> Iterator[ReadRoute]:
    """The routes, which come by age, without the hostnames that belong to another namespace.

    A parent of which no hostname is left does not take the route.
    """
    owners: dict[str, dict[str, str]] = {}
    for read in routes:
        namespace = read.route.metadata.namespace
        parents = tuple(_allowed(parent, namespace, owners) for parent in read.parents)
        yield read if parents == read.parents else with_parents(read, parents)


def _allowed(parent: ReadParent, namespace: str, owners: dict[str, dict[str, str]]) -> ReadParent:
    """What is left of one parent. `owners` are the namespaces by listener and hostname, and learn new ones."""
    kept: list[Attachment] = []
    foreign: tuple[str, str] | None = None
    for each in parent.attached:
        known = owners.setdefault(each.listener.key, {})
        left: list[str] = []
        for name in each.hostnames:
            owner = _owner(name, namespace, known)
            if owner is None:
                known.setdefault(name, namespace)
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
    exact = known.get(name)
    if exact is not None:
        return exact if exact != namespace else None
    return next((owner for wide, owner in known.items() if owner != namespace and covers(wide, name)), None)
