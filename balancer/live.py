"""Holds the one mutable reference of the data plane, and what outlives a change of the model.

A request takes the view once and keeps it. A swap is one assignment.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from balancer.http.compression import Compressor
from balancer.http.current import CurrentSettings
from balancer.http.edits import ResponseEdits, response_edits
from balancer.matching.forwarded import ForwardedReader
from balancer.matching.gates.making import GateMaker, make_gate
from balancer.matching.logged import LoggedRequests, logged_requests
from balancer.matching.request_fields import RequestFields
from balancer.matching.routing import RouteTable, compile_routes
from balancer.model.endpoints import Backend, BackendKey
from balancer.model.handshakes import Keyring
from balancer.model.publication import Publication, RoutingModel, other_objects
from balancer.model.routes import Route
from balancer.model.settings import ProxySettings
from balancer.model.zones import OwnZone
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member
from balancer.picking.turns import RandomBelow
from balancer.zones.draining import Drain, drain_after
from balancer.zones.peers import PeersOf, alone


class View(msgspec.Struct, frozen=True, eq=False):
    """One publication, ready to serve.

    `edits` are for the heads of responses; `compressor` None compresses nothing. `forwarded` None believes no proxy.
    `request_fields` None: endpoints get no further fields. `logged` None: every request is logged as usual.
    """

    generation: int
    own_zone: OwnZone
    model: RoutingModel
    routes: RouteTable
    backends: Mapping[BackendKey, BackendRuntime]
    edits: ResponseEdits
    compressor: Compressor | None = None
    forwarded: ForwardedReader | None = None
    request_fields: RequestFields | None = None
    logged: LoggedRequests | None = None

    def has_endpoints(self, route: Route) -> bool:
        """Whether the backend of a route has a usable endpoint, ejected or not."""
        runtime = self.backends.get(route.backend) if route.backend is not None else None
        return runtime is not None and runtime.has_endpoints


class LiveTable:
    """Holds the view in use, and its settings for objects that know no views."""

    __slots__ = ("_drain", "_keyring", "_make_gate", "_peers_of", "_random_below", "settings", "view")

    def __init__(self, random_below: RandomBelow, make: GateMaker = make_gate, peers_of: PeersOf = alone) -> None:
        """`random_below` chooses where new rotations start, `make` makes the gates of routes.

        `peers_of` finds the other controllers of a backend under `adaptive`.
        """
        self._random_below = random_below
        self._make_gate = make
        self._peers_of = peers_of
        self._drain: Drain | None = None
        self._keyring = Keyring()
        empty = RoutingModel()
        self.settings = CurrentSettings(empty.proxy)
        self.view = View(
            generation=0,
            own_zone=empty.own_zone,
            model=empty,
            routes=compile_routes(empty, make=make),
            backends={},
            edits=response_edits(empty.proxy),
        )

    def swap(self, publication: Publication, now: float = 0.0) -> tuple[Member, ...]:
        """Uses `publication` from `now` on. Returns the members that left, whose connections can be closed.

        `now` is on the clock of picks. Unchanged parts cost next to nothing: a change of endpoints keeps the compiled
        routes, a change of hosts keeps the routes of other hosts, and an unchanged backend keeps its runtime. If the
        content of an authority or a client certificate changes, each backend that names its key gets a new runtime.
        """
        before, model = self.view, publication.model
        drain = drain_after(self._drain, model.zones, now)
        elsewhere = drain != self._drain or model.own_zone != before.own_zone or model.zones != before.model.zones
        self._drain = drain
        same_routes = (
            model.hosts == before.model.hosts
            and model.default_route == before.model.default_route
            and model.unmatched_gates == before.model.unmatched_gates
        )
        rekeyed = _is_rekeyed(before.model, model)
        if rekeyed:
            self._keyring = Keyring(model.authorities, model.client_certificates)
        replaced = None if elsewhere or rekeyed else _replaced(before, model)
        backends = {} if replaced is None else dict(before.backends)
        for backend in model.backends if replaced is None else replaced:
            runtime = before.backends.get(backend.key)
            speaks_anew = rekeyed and backend.tls is not None
            if runtime is None or elsewhere or speaks_anew or runtime.backend is not backend:
                runtime = self._runtime(runtime, backend, model)
            backends[backend.key] = runtime
        self.view = View(
            generation=publication.generation,
            own_zone=model.own_zone,
            model=model,
            routes=before.routes if same_routes else compile_routes(model, before.routes, self._make_gate),
            backends=backends,
            edits=before.edits if model.proxy == before.model.proxy else response_edits(model.proxy),
            compressor=_compressor(model.proxy),
            forwarded=None if model.proxy.trusted is None else ForwardedReader(model.proxy.trusted),
            logged=logged_requests(model.proxy.log),
            request_fields=RequestFields(model.proxy.request_fields) if model.proxy.request_fields else None,
        )
        self.settings.proxy = model.proxy
        concerned = before.backends if replaced is None else {each.key: before.backends[each.key] for each in replaced}
        return _departed(concerned, backends)

    def _runtime(self, before: BackendRuntime | None, backend: Backend, model: RoutingModel) -> BackendRuntime:
        if before is not None:
            return before.with_backend(backend, model.own_zone, model.zones, self._drain, self._keyring)
        return BackendRuntime.fresh(
            backend,
            own_zone=model.own_zone,
            zones=model.zones,
            drain=self._drain,
            random_below=self._random_below,
            keyring=self._keyring,
            peers_of=self._peers_of,
        )


def _compressor(settings: ProxySettings) -> Compressor | None:
    if settings.compression is None and settings.brotli is None:
        return None
    return Compressor(settings.compression, settings.brotli)


def _is_rekeyed(before: RoutingModel, after: RoutingModel) -> bool:
    """Whether handshakes with endpoints may need other authorities or client certificates."""
    return before.authorities != after.authorities or before.client_certificates != after.client_certificates


def _replaced(before: View, model: RoutingModel) -> tuple[Backend, ...] | None:
    """The backends that are other objects than before; None if backends were added or removed."""
    others = other_objects(before.model.backends, model.backends)
    return others[1] if others is not None and all(other.key in before.backends for other in others[1]) else None


def _departed(
    before: Mapping[BackendKey, BackendRuntime], after: Mapping[BackendKey, BackendRuntime]
) -> tuple[Member, ...]:
    """Members by backend. An address that moves to another backend leaves the first one."""
    departed: list[Member] = []
    for key, runtime in before.items():
        staying = after.get(key)
        if staying is runtime:
            continue
        kept = staying.members if staying is not None else {}
        departed += [member for label, member in runtime.members.items() if label not in kept]
    return tuple(departed)
