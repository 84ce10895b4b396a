"""The live table: the one mutable reference of the data plane, and what outlasts a change of the model.

A request takes the view once and keeps it; a swap is one assignment.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.backend import BackendRuntime, Member, RandomBelow
from balancer.model import Backend, BackendKey, OwnZone, Publication, RoutingModel
from balancer.routing import RouteTable, compile_routes


class View(msgspec.Struct, frozen=True, eq=False):
    """One publication, ready to serve."""

    generation: int
    own_zone: OwnZone
    model: RoutingModel
    routes: RouteTable
    backends: Mapping[BackendKey, BackendRuntime]


class LiveTable:
    """Holds the view in use."""

    __slots__ = ("_random_below", "view")

    def __init__(self, random_below: RandomBelow) -> None:
        """`random_below` chooses where fresh rotations start."""
        self._random_below = random_below
        empty = RoutingModel()
        self.view = View(generation=0, own_zone=empty.own_zone, model=empty, routes=compile_routes(empty), backends={})

    def swap(self, publication: Publication) -> tuple[Member, ...]:
        """Use `publication` from now on; gives back the members that left, whose connections are of no more use.

        A change of endpoints only keeps the compiled routes, and each unchanged backend its runtime.
        """
        before, model = self.view, publication.model
        same_routes = model.hosts == before.model.hosts and model.default_route == before.model.default_route
        backends = {backend.key: self._runtime(backend, model.own_zone) for backend in model.backends}
        self.view = View(
            generation=publication.generation,
            own_zone=model.own_zone,
            model=model,
            routes=before.routes if same_routes else compile_routes(model),
            backends=backends,
        )
        return _departed(before.backends, backends)

    def _runtime(self, backend: Backend, own_zone: OwnZone) -> BackendRuntime:
        runtime = self.view.backends.get(backend.key)
        if runtime is None:
            return BackendRuntime.fresh(backend, own_zone=own_zone, random_below=self._random_below)
        return runtime.with_backend(backend, own_zone)


def _departed(
    before: Mapping[BackendKey, BackendRuntime], after: Mapping[BackendKey, BackendRuntime]
) -> tuple[Member, ...]:
    """Members by backend: an address that moves to another backend departs from the first."""
    departed: list[Member] = []
    for key, runtime in before.items():
        staying = after.get(key)
        if staying is runtime:
            continue
        kept = staying.members if staying is not None else {}
        departed += [member for label, member in runtime.members.items() if label not in kept]
    return tuple(departed)
