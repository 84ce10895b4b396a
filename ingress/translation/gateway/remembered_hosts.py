"""Remembers the routes of each host of Gateways, so that a changed route makes only its own hosts be made again.

Does not know how the claims of a host are made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ingress.translation.claims import HostClaim
from ingress.translation.gateway.route_facts import Name
from ingress.translation.gateway.route_reading import ReadRoute

_FEW: Final = 256
"""Changed routes that are looked at apart from the others. Where more have changed, all are looked at."""

RoutesOfHosts = Mapping[Name, list[ReadRoute]]
"""The routes of hosts by age, by listener and name."""


class _Hosts(NamedTuple):
    """All hosts of a translation in the order of their names, their routes, and what else they were made of."""

    around: object
    routes: Sequence[ReadRoute]
    by_name: RoutesOfHosts
    hosts: Mapping[Name, HostClaim]


class RememberedHosts:
    """The hosts of the last translation."""

    __slots__ = ("_last", "_now")

    def __init__(self) -> None:
        self._last: _Hosts | None = None
        self._now: _Hosts | None = None

    def begin(self) -> None:
        """Begins a translation."""
        self._last = self._now
        self._now = None

    def concerned(self, routes: Sequence[ReadRoute], around: object) -> RoutesOfHosts | None:
        """The hosts that may be others than in the last translation, because a route of theirs has changed. None: any
        may, because routes have come, gone or have other names, or because of something `around` them.

        `routes` come by age.
        """
        last = self._last
        if last is None or last.around != around:
            return None
        pairs = changed_pairs(last.routes, routes)
        if pairs is None or any(_place(was) != _place(each) for was, each in pairs):
            return None
        found: dict[Name, list[ReadRoute]] = {}
        for was, now in pairs:
            for name in names_of(now):
                if (known := found.get(name) or last.by_name.get(name)) is not None:
                    found[name] = [now if each is was else each for each in known]
        return found

    def take(
        self, routes: Sequence[ReadRoute], around: object, by_name: RoutesOfHosts, make: Callable[[Name], HostClaim]
    ) -> tuple[HostClaim, ...]:
        """All hosts, made by `make`, in the order of their names. `by_name` are their routes."""
        self._now = _Hosts(around, routes, by_name, {name: make(name) for name in sorted(by_name)})
        return tuple(self._now.hosts.values())

    def take_some(
        self, routes: Sequence[ReadRoute], concerned: RoutesOfHosts, make: Callable[[Name], HostClaim]
    ) -> tuple[HostClaim, ...]:
        """As `take`, where `concerned` has returned these hosts: the others are those of the last translation."""
        last = self._last
        assert last is not None
        made = {name: make(name) for name in concerned}
        self._now = last._replace(routes=routes, by_name={**last.by_name, **concerned}, hosts={**last.hosts, **made})
        return tuple(self._now.hosts.values())


def changed_pairs(before: Sequence[ReadRoute], now: Sequence[ReadRoute]) -> list[tuple[ReadRoute, ReadRoute]] | None:
    """The routes that are other objects than those in their places `before`, each with that. None: too many are."""
    if len(before) != len(now):
        return None
    found = [(was, each) for was, each in zip(before, now, strict=True) if was is not each]
    return found if len(found) <= _FEW else None


def names_of(read: ReadRoute) -> tuple[Name, ...]:
    """The hosts that a route has a part in, by listener and name."""
    return read.facts.names if read.oversized is None else ()


def _place(read: ReadRoute) -> tuple[object, ...]:
    return read.facts.seniority, names_of(read)
