"""Remembers what the last translation made of routes, so that the next one makes again only what may differ.

What is equal is the same object as last time, so that whoever compares it later need not look into it. The result of a
translation does not depend on what is remembered.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, Generic, TypeVar

import msgspec

from ingress.findings import Findings
from ingress.objects.gateway_routes import ROUTE_RECORDS, GatewayRoute
from ingress.objects.metadata import Metadata
from ingress.sources.inventory import Inventory
from ingress.translation.gateway.expression_bounds import TOO_LONG, characters_of, too_long
from ingress.translation.gateway.hostname_room import NAMES_TOGETHER_MOST, crowded_out
from ingress.translation.gateway.owner_reading import ReadOwners
from ingress.translation.gateway.remembered_hosts import RememberedHosts
from ingress.translation.gateway.route_reading import (
    NO_ROOM,
    ReadRoute,
    RouteSurroundings,
    names_at_most,
    names_wanted,
    needs_grants,
)
from ingress.translation.gateway.route_sums import RememberedSums
from ingress.translation.gateway.standings import ObjectStanding, Problem
from ingress.translation.memory import InventoryView, Memory

_Made = TypeVar("_Made")
_Item = TypeVar("_Item")

_UNHEARD: Final = Findings()  # what is made of routes has no findings of its own
_ROOMS: Final = (None, NO_ROOM, TOO_LONG)  # why there is no room for a route, if there is none
_NOBODY: Final[Mapping[int, Problem]] = {}


class Kept:
    """What was made last, by key, and of which values. What a translation does not ask for is forgotten."""

    __slots__ = ("_before", "_made")

    def __init__(self) -> None:
        self._before: dict[Hashable, tuple[tuple[object, ...], object]] = {}
        self._made: dict[Hashable, tuple[tuple[object, ...], object]] = {}

    def begin(self) -> None:
        """Begins a translation."""
        self._before = self._made
        self._made = {}

    def keep_all(self) -> None:
        """Remembers for the next translation all that the last one made."""
        self._made = self._before | self._made

    def of(self, key: Hashable, given: tuple[object, ...], make: Callable[[], _Made]) -> _Made:
        """What `make` makes of `given`, and of nothing else; the same as last time if that was given the same."""
        found = self._before.get(key)
        if found is None or found[0] != given:
            found = self._made.get(key)
            if found is None or found[0] != given:
                found = (given, make())
        self._made[key] = found
        return found[1]  # type: ignore[return-value]  # a key is always asked for with one kind of `make`


class SameObjects(Generic[_Item, _Made]):
    """What was made of objects in the last translation, as long as they are the same ones."""

    __slots__ = ("_before", "_made")

    def __init__(self) -> None:
        self._before: dict[int, tuple[_Item, _Made]] = {}  # by identity; an object that is kept shares it with no other
        self._made: dict[int, tuple[_Item, _Made]] = {}

    def begin(self) -> None:
        """Begins a translation."""
        self._before = self._made
        self._made = {}

    def forget(self) -> None:
        """What the last translation made does not hold any more."""
        self._before = {}

    def of_each(self, items: Iterable[_Item], make: Callable[[_Item], _Made]) -> list[_Made]:
        """What `make` makes of each item, and of nothing else that has changed since the last translation."""
        before, made, found = self._before, self._made, list[_Made]()
        for item in items:
            known = before.get(id(item))
            if known is None or known[0] is not item:
                known = (item, make(item))
            made[id(item)] = known
            found.append(known[1])
        return found


class GatewayMemory:
    """What was made of Gateways and of routes, from what was read of them to the claims of hosts.

    `quiet` are the statuses, by identity, that say of nothing that it is not served.
    """

    __slots__ = (
        "_around",
        "_at_most",
        "_characters",
        "_last_around",
        "_ones",
        "_owners",
        "_reads",
        "_same_reads",
        "_wanted",
        "claims",
        "hosts",
        "names",
        "of_routes",
        "quiet",
        "standings",
        "sums",
    )

    def __init__(self) -> None:
        self._owners: Memory[ReadOwners] = Memory()
        self._reads: dict[type[GatewayRoute], Memory[ReadRoute]] = {kind: Memory() for kind in ROUTE_RECORDS}
        self._same_reads: dict[type[GatewayRoute], dict[Problem | None, SameObjects[GatewayRoute, ReadRoute]]] = {
            kind: {room: SameObjects() for room in _ROOMS} for kind in ROUTE_RECORDS
        }
        self._characters: SameObjects[GatewayRoute, int] = SameObjects()
        self._at_most: SameObjects[GatewayRoute, int] = SameObjects()
        self._wanted: SameObjects[GatewayRoute, int] = SameObjects()
        self._around: RouteSurroundings | None = None
        self._last_around: RouteSurroundings | None = None
        self._ones = Kept()
        self.of_routes: SameObjects[ReadRoute, ObjectStanding] = SameObjects()
        self.names = RememberedHosts()
        self.sums = RememberedSums()
        self.standings = Kept()
        self.quiet: dict[int, ObjectStanding] = {}
        self.claims = Kept()
        self.hosts = Kept()

    def begin(self, view: InventoryView) -> None:
        """Begins a translation of what `view` shows."""
        self._owners.begin(view)
        for reads in self._reads.values():
            reads.begin(view)
        for kept in (self._ones, self.standings, self.claims, self.hosts):
            kept.begin()
        for rooms in self._same_reads.values():
            for same in rooms.values():
                same.begin()
        self._characters.begin()
        self._at_most.begin()
        self._wanted.begin()
        self.of_routes.begin()
        self.names.begin()
        self.sums.begin()
        self._last_around = self._around
        self._around = None

    def one(self, name: str, value: _Made) -> _Made:
        """What many have in common, by a name of ours: the same object as last time if it is equal."""
        return self._ones.of(name, (value,), lambda: value)

    def kept(self, name: str, given: tuple[object, ...], make: Callable[[], _Made]) -> _Made:
        """What `make` makes of `given`, and of nothing else, by a name of ours."""
        return self._ones.of(name, given, make)

    def owners(self, given: tuple[object, ...], read: Callable[[Inventory], ReadOwners]) -> ReadOwners:
        """The Gateways as `read` reads them. `given` is what that depends on beside the inventory."""
        return self._owners.of("owners", given, lambda inventory, _: read(inventory), _UNHEARD)

    def crowd(
        self, routes: Sequence[GatewayRoute], around: RouteSurroundings, most: int = NAMES_TOGETHER_MOST
    ) -> dict[int, Problem]:
        """The routes, by identity, for whose hostnames or expressions there is no room, and which of the two. `around`
        is what `one` returned.

        Names are counted only where there could be too many of them.
        """
        characters = self._characters.of_each(routes, characters_of)
        long = dict.fromkeys((id(routes[place]) for place in too_long(routes, characters)), TOO_LONG)
        if around is not self._last_around:
            self._at_most.forget()
            self._wanted.forget()
        if sum(self._at_most.of_each(routes, partial(names_at_most, around=around))) <= most:
            return long
        wanted = self._wanted.of_each(routes, partial(names_wanted, around=around))
        return {**long, **dict.fromkeys((id(routes[place]) for place in crowded_out(routes, wanted, most)), NO_ROOM)}

    def reads(
        self,
        kind: type[GatewayRoute],
        routes: Collection[GatewayRoute],
        around: RouteSurroundings,
        near: RouteSurroundings,
        read: Callable[[GatewayRoute, RouteSurroundings, Inventory], ReadRoute],
        *,
        crowd: Mapping[int, Problem] = _NOBODY,
    ) -> list[ReadRoute]:
        """All routes of a kind as `read` reads them. `around` is what `one` returned, and so is `near`, which has no
        grants: a change of these concerns only routes that refer to other namespaces. For the `crowd`, by identity,
        there is no room.
        """
        reads, same = self._reads[kind], self._same_reads[kind]
        self._around = around
        if around is self._last_around and reads.is_quiet:
            reads.keep_all()
        else:
            for each in same.values():
                each.forget()

        def make(route: GatewayRoute) -> ReadRoute:
            key, own = (route.metadata.namespace, route.metadata.name), around if needs_grants(route) else near
            if (problem := crowd.get(id(route))) is not None:
                without = msgspec.structs.replace(own, no_room=problem)
                own = self.one(f"{own is near} surroundings without room: {problem.message}", without)
            given = route.spec, _judged(route.metadata), own
            return reads.of(key, given, lambda inventory, _: read(route, own, inventory), _UNHEARD)

        if not crowd:
            found = same[None].of_each(routes, make)
        else:
            found = []
            for room in _ROOMS:
                found += same[room].of_each([each for each in routes if crowd.get(id(each)) == room], make)
        if len(reads) > len(routes):
            reads.keep_only({(each.metadata.namespace, each.metadata.name) for each in routes})
        return found


def _judged(metadata: Metadata) -> Metadata:
    """What a route is judged by. Our own write of its status changes the others, as `Inventory.apply` says."""
    return msgspec.structs.replace(metadata, resource_version="", finalizers=())
