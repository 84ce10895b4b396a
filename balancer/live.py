"""The live table: the one mutable reference of the data plane, and what outlasts a change of the model.

A request takes the view once and keeps it; a swap is one assignment.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.backend import BackendRuntime
from balancer.members import Member
from balancer.model import Backend, BackendKey, OwnZone, Publication, Route, RoutingModel
from balancer.routing import RouteTable, compile_routes
from balancer.turns import RandomBelow
from balancer.zones.draining import Drain, drain_after


class View(msgspec.Struct, frozen=True, eq=False):
    """One publication, ready to serve."""

    generation: int
    own_zone: OwnZone
    model: RoutingModel
    routes: RouteTable
    backends: Mapping[BackendKey, BackendRuntime]

    def has_endpoints(self, route: Route) -> bool:
        """Whether the backend of a route has an endpoint that could serve, ejected or not."""
        runtime = self.backends.get(route.backend) if route.backend is not None else None
        return runtime is not None and runtime.has_endpoints


class LiveTable:
    """Holds the view in use."""

    __slots__ = ("_drain", "_random_below", "view")

    def __init__(self, random_below: RandomBelow) -> None:
        """`random_below` chooses where fresh rotations start."""
        self._random_below = random_below
        self._drain: Drain | None = None
        empty = RoutingModel()
        self.view = View(generation=0, own_zone=empty.own_zone, model=empty, routes=compile_routes(empty), backends={})

    def swap(self, publication: Publication, now: float = 0.0) -> tuple[Member, ...]:
        """Use `publication` from `now` on; gives back the members that left, whose connections are of no more use.

        `now` is of the clock that picks are made by. What has not changed costs next to nothing: a change of endpoints
        keeps the compiled routes, a change of hosts the other hosts' ones, and each unchanged backend its runtime.
        """
        before, model = self.view, publication.model
        drain = drain_after(self._drain, model.zones, now)
        elsewhere = drain != self._drain or model.own_zone != before.own_zone or model.zones != before.model.zones
        self._drain = drain
        same_routes = model.hosts == before.model.hosts and model.default_route == before.model.default_route
        replaced = None if elsewhere else _replaced(before, model)
        backends = {} if replaced is None else dict(before.backends)
        for backend in model.backends if replaced is None else replaced:
            runtime = before.backends.get(backend.key)
            if runtime is None or elsewhere or runtime.backend is not backend:
                runtime = self._runtime(runtime, backend, model)
            backends[backend.key] = runtime
        self.view = View(
            generation=publication.generation,
            own_zone=model.own_zone,
            model=model,
            routes=before.routes if same_routes else compile_routes(model, before.routes),
            backends=backends,
        )
        concerned = before.backends if replaced is None else {each.key: before.backends[each.key] for each in replaced}
        return _departed(concerned, backends)

    def _runtime(self, before: BackendRuntime | None, backend: Backend, model: RoutingModel) -> BackendRuntime:
        if before is not None:
            return before.with_backend(backend, model.own_zone, model.zones, self._drain)
        return BackendRuntime.fresh(
            backend, own_zone=model.own_zone, zones=model.zones, drain=self._drain, random_below=self._random_below
        )


def _replaced(before: View, model: RoutingModel) -> list[Backend] | None:
    """The backends that are not the same objects as before; None where backends came or went."""
    if len(model.backends) != len(before.model.backends):
        return None
    others = [after for was, after in zip(before.model.backends, model.backends, strict=True) if was is not after]
    return others if all(other.key in before.backends for other in others) else None


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
