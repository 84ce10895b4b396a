"""Tells under which zone policies routes lead to a backend, where some route has another one than the backend.

Nearly no backend has such a route, so nothing is kept of the others. Looks at some branches in each step, because there
may be thousands. Does not know what a policy means.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain, islice
from typing import Final

from balancer.model.endpoints import BackendKey
from balancer.model.publication import RoutingModel, other_objects
from balancer.model.routes import Host, Owner, Route
from balancer.model.zones import ZonePolicy

# By measurement a branch takes a microsecond.
_BRANCHES_A_STEP: Final = 100
_NAMED_MOST: Final = 3

Ways = Mapping[ZonePolicy | None, tuple[Owner, ...]]
"""The owners of the routes to one backend, by the zone policy of the route; None: that of the backend itself."""

Steering = Mapping[BackendKey, Ways]
"""The ways to each backend to which a route leads under another policy than that of the backend."""

NO_STEERING: Final[Steering] = {}
BY_ITSELF: Final[Ways] = {None: ()}
"""The ways to all other backends."""

_Way = tuple[BackendKey, ZonePolicy | None, Owner]


def steering(model: RoutingModel, before: RoutingModel, known: Steering) -> Generator[None, None, Steering]:
    """The steering of `model`, in steps. `known` is that of the model `before`, and is returned if nothing has changed.

    While changed hosts concern no backend of another policy, the other hosts are not looked at.
    """
    others = other_objects(before.hosts, model.hosts)
    old, new = (before.hosts, model.hosts) if others is None else others
    concerned: set[BackendKey] = set()
    for some in _in_pieces(chain(_ways(before, old), _ways(model, new))):
        concerned.update(backend for backend, policy, _ in some if policy is not None or backend in known)
        yield
    if not concerned:
        return known
    found: dict[BackendKey, dict[ZonePolicy | None, dict[Owner, None]]] = {backend: {} for backend in concerned}
    for some in _in_pieces(_ways(model, model.hosts)):
        for backend, policy, owner in some:
            if backend in concerned:
                found[backend].setdefault(policy, {})[owner] = None
        yield
    told = {backend: ways for backend, ways in known.items() if backend not in concerned}
    for backend, ways in found.items():
        if ways.keys() - {None}:
            told[backend] = {policy: tuple(owners) for policy, owners in ways.items()}
    return told


def named(owners: Iterable[Owner]) -> str:
    """Some of the `owners` by name, and how many more there are; empty if there are none."""
    names = tuple(f"{owner.kind} {owner.full_name}" if owner.name else "the default route" for owner in owners)
    some, more = ", ".join(names[:_NAMED_MOST]), len(names) - _NAMED_MOST
    return f"{some} and {more} more" if more > 0 else some


def _ways(model: RoutingModel, hosts: Iterable[Host]) -> Iterator[_Way]:
    """Where the routes of `hosts` lead, and all that belong to no host."""
    by_default = (each.default_route for each in model.route_configurations)
    for route in chain(by_default, chain.from_iterable((*host.routes, host.default) for host in hosts)):
        if route is not None:
            yield from _ways_of(route)
    for relay in model.relays:
        for branch in relay.branches:
            if branch.backend is not None:
                yield branch.backend, branch.zone_policy, branch.owner


def _ways_of(route: Route) -> Iterator[_Way]:
    for branch in route.branches:
        if branch.backend is not None:
            yield branch.backend, branch.zone_policy, branch.owner
    if route.stand_ins is not None:
        pages = route.stand_ins.error_pages
        for backend in (route.stand_ins.without_endpoints, None if pages is None else pages.backend):
            if backend is not None:
                yield backend, None, route.owner


def _in_pieces(ways: Iterator[_Way]) -> Iterator[tuple[_Way, ...]]:
    while piece := tuple(islice(ways, _BRANCHES_A_STEP)):
        yield piece
