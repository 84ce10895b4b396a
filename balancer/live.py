"""Holds the one mutable reference of the data plane, and what outlives a change of the model.

A request takes the view once and keeps it. A swap is one assignment.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from operator import attrgetter

from balancer.http.compression import Compressor
from balancer.http.current import CurrentSettings
from balancer.http.edits import ResponseEdits, response_edits
from balancer.http.passing import passing
from balancer.matching.forwarded import ForwardedReader
from balancer.matching.gates.making import GateMaker, make_gate
from balancer.matching.logged import LoggedRequests, logged_requests
from balancer.matching.relay_tables import NO_RELAYS, RelayTables, relay_tables
from balancer.matching.request_fields import RequestFields
from balancer.matching.routing import NOWHERE, RouteTable, compiling, retired
from balancer.matching.steering import BY_ITSELF, NO_STEERING, Steering, steering
from balancer.model.endpoints import Backend, BackendKey
from balancer.model.handshakes import Keyring
from balancer.model.publication import Publication, RoutingModel, other_objects
from balancer.model.settings import ProxySettings
from balancer.model.zones import UNKNOWN_ZONE, OwnZone
from balancer.picking.backend import BackendRuntime
from balancer.picking.failing import FailingEndpoints
from balancer.picking.members import Member
from balancer.picking.turns import RandomBelow
from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.runtime.steps import finished
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.zones.client_hops import client_hops
from balancer.zones.draining import Drain, drain_after
from balancer.zones.verdicts import Surroundings

_KEY = attrgetter("key")

# A request makes the plans of so many endpoints in a tenth of a millisecond. Those of more are made before the swap.
_ENDPOINTS_A_REQUEST = 64
_FREED_A_STEP = 8  # tables of hosts; to free one takes some ten microseconds


class _ByEntryPoint(dict[str, RouteTable]):
    """Tables by the keys of entry points. What stood behind an entry point is gone with it."""

    def __missing__(self, key: str) -> RouteTable:
        return NOWHERE


class View:
    """One publication, ready to serve.

    `tables` are the tables of routes by the keys of route configurations, and `configurations` by those of the entry
    points before them.

    `proxy` are the settings, and `zone` is the own zone as requests are counted in it. `plain_edit` and `secure_edit`
    of `edits` are for the heads of responses over http and https. `compressor` None compresses nothing. `forwarded`
    None believes no proxy. `passing` are the rules for fields of clients, and for those of trusted proxies.
    `request_fields` None: endpoints get no further fields. `logged` None: every request is logged as usual. `relays`
    says which connections are relayed. `hops` None: the zones of clients are not counted. `steering` says under which
    zone policies routes lead to backends.
    """

    __slots__ = (
        "backends",
        "compressor",
        "configurations",
        "edits",
        "forwarded",
        "generation",
        "hops",
        "logged",
        "makes_ids",
        "model",
        "own_zone",
        "passing",
        "plain_edit",
        "proxy",
        "relays",
        "request_fields",
        "secure_edit",
        "steering",
        "tables",
        "zone",
    )

    def __init__(
        self,
        generation: int,
        own_zone: OwnZone,
        model: RoutingModel,
        tables: Mapping[str, RouteTable],
        backends: Mapping[BackendKey, BackendRuntime],
        *,
        edits: ResponseEdits,
        compressor: Compressor | None = None,
        forwarded: ForwardedReader | None = None,
        request_fields: RequestFields | None = None,
        logged: LoggedRequests | None = None,
        relays: RelayTables = NO_RELAYS,
        steering: Steering = NO_STEERING,
    ) -> None:
        self.generation = generation
        self.own_zone = own_zone
        self.zone: str = own_zone.zone or UNKNOWN_ZONE
        self.model = model
        self.proxy = model.proxy
        self.makes_ids = model.proxy.generate_request_id
        underscores, kept = model.proxy.underscores_in_headers, model.proxy.kept_fields
        self.passing = (passing(underscores, kept), passing(underscores, kept, trusts=True))
        self.tables = tables
        self.configurations = _ByEntryPoint((each.key, tables[each.configuration]) for each in model.entry_points)
        self.backends = backends
        self.edits = edits
        self.plain_edit = edits.plain
        self.secure_edit = edits.secure
        self.compressor = compressor
        self.forwarded = forwarded
        self.request_fields = request_fields
        self.logged = logged
        self.relays = relays
        self.steering = steering
        self.hops = client_hops(model.zones, own_zone.zone)

    def has_endpoints(self, backend: BackendKey | None) -> bool:
        """Whether a backend has a usable endpoint, ejected or not."""
        runtime = self.backends.get(backend) if backend is not None else None
        return runtime is not None and runtime.has_endpoints


class Coming:
    """A view that is made in steps, and what follows its use. `departed` are the members that leave with the last view.
    `concerned` are the backends that are new, others or gone. `retired` are the compiled routes that only the last view
    has.

    An address that moves to another backend leaves the first one.
    """

    __slots__ = ("_changes", "around", "concerned", "departed", "drain", "keyring", "retired", "steered_before", "view")

    def __init__(self, around: Surroundings, *, drain: Drain, keyring: Keyring) -> None:
        self.around = around
        self.drain = drain
        self.keyring = keyring
        self.departed: list[Member] = []
        self.concerned: list[BackendKey] = []
        self._changes: list[tuple[BackendRuntime | None, BackendRuntime]] = []
        self.steered_before = NO_STEERING
        self.retired: list[object] = []
        self.view: View  # made last

    def changed(self, before: BackendRuntime | None, after: BackendRuntime) -> None:
        """Notes the runtimes of a backend before and after the swap. They may be the same."""
        self._changes.append((before, after))
        self.concerned.append(after.backend.key)
        if before is not None and before is not after:
            self.departed += [member for label, member in before.members.items() if label not in after.members]

    def settle(self) -> Generator[None, None, None]:
        """After the swap, updates members and health for the new view, in steps.

        Frees the runtimes and compiled routes of the last view one by one, because to free thousands at once would
        take milliseconds.
        """
        self._changes.reverse()
        while self._changes:
            before, after = self._changes.pop()
            after.settle(self.around, before)
            del before, after
            yield
        while self.retired:
            del self.retired[-_FREED_A_STEP:]
            yield
        yield from self._steer()

    def _steer(self) -> Generator[None, None, None]:
        """Tells backends under which policies routes lead to them, if that has changed."""
        before, after = self.steered_before, self.view.steering
        if before is after:
            return
        for key in before.keys() | after.keys():
            runtime, was, now = self.view.backends.get(key), before.get(key, BY_ITSELF), after.get(key, BY_ITSELF)
            if runtime is not None and was.keys() != now.keys():
                runtime.plans.reach(was, now)
            yield


class LiveTable:
    """Holds the view in use, and its settings for objects that know no views. `failing` are endpoints that fail."""

    __slots__ = (
        "_absences",
        "_drain",
        "_keyring",
        "_make_gate",
        "_others",
        "_random_below",
        "failing",
        "settings",
        "view",
    )

    def __init__(
        self,
        random_below: RandomBelow,
        make: GateMaker = make_gate,
        others: Others = NO_OTHERS,
        absences: Absences = NEVER_ABSENT,
    ) -> None:
        """`random_below` chooses where new rotations start, `make` makes the gates of routes.

        `others` are the other processes of this replica, and `absences` those of the loop that serves.
        """
        self._absences = absences
        self._random_below = random_below
        self._make_gate = make
        self._others = others
        self.failing = FailingEndpoints()
        self._drain: Drain | None = None
        self._keyring = Keyring()
        empty = RoutingModel()
        self.settings = CurrentSettings(empty.proxy)
        self.view = View(
            generation=0,
            own_zone=empty.own_zone,
            model=empty,
            tables=finished(compiling(empty, {}, make)),
            backends={},
            edits=response_edits(empty.proxy),
        )

    def swap(self, publication: Publication, now: float = 0.0) -> tuple[Member, ...]:
        """Uses `publication` at once, as `prepare`, `use` and `settle` do in steps. Returns the members that left."""
        coming = finished(self.prepare(publication, now))
        self.use(coming)
        finished(coming.settle())
        return tuple(coming.departed)

    def prepare(self, publication: Publication, now: float = 0.0) -> Generator[None, None, Coming]:
        """Makes the view of `publication`, in steps. Until `use` nothing that requests see changes.

        `now` is on the clock of picks. Unchanged parts cost next to nothing: a change of endpoints keeps the compiled
        routes, a change of hosts keeps the routes of other hosts, and an unchanged backend keeps its runtime. If the
        content of an authority or a client certificate changes, each backend that names its key gets a new runtime.
        """
        before, model = self.view, publication.model
        drain, rekeyed = drain_after(self._drain, model.zones, now), _is_rekeyed(before.model, model)
        elsewhere = drain != self._drain or model.own_zone != before.own_zone or model.zones != before.model.zones
        coming = Coming(
            Surroundings(own=model.own_zone, zones=model.zones),
            drain=drain,
            keyring=Keyring(model.authorities, model.client_certificates) if rekeyed else self._keyring,
        )
        yield
        backends = yield from self._backends(model, coming, every=elsewhere or rekeyed)
        yield
        tables, relays, steered = before.tables, before.relays, before.steering
        if not _has_same_routes(before.model, model):
            tables = yield from compiling(model, tables, self._make_gate)
            relays = relay_tables(model)
            yield
            coming.retired = yield from retired(before.tables, tables)
            yield
            steered = yield from steering(model, before.model, steered)
        coming.view = View(
            generation=publication.generation,
            own_zone=model.own_zone,
            model=model,
            tables=tables,
            backends=backends,
            edits=before.edits if model.proxy == before.model.proxy else response_edits(model.proxy),
            compressor=_compressor(model.proxy),
            forwarded=None if model.proxy.trusted is None else ForwardedReader(model.proxy.trusted),
            logged=logged_requests(model.proxy.log),
            relays=relays,
            request_fields=RequestFields(model.proxy.request_fields) if model.proxy.request_fields else None,
            steering=steered,
        )
        coming.steered_before = before.steering
        return coming

    def use(self, coming: Coming) -> None:
        """Uses the view that was prepared last, from the next request on."""
        self._drain = coming.drain
        self._keyring = coming.keyring
        self.view = coming.view
        self.settings.proxy = coming.view.model.proxy

    def _backends(
        self, model: RoutingModel, coming: Coming, *, every: bool
    ) -> Generator[None, None, dict[BackendKey, BackendRuntime]]:
        """The backends of `model`, in steps. `coming` learns what is different. `every`: none is taken over."""
        before = self.view
        replaced = None if every else (yield from _replaced(before, model))
        yield
        backends = {} if replaced is None else dict(before.backends)
        yield
        for backend in model.backends if replaced is None else replaced:
            was = runtime = before.backends.get(backend.key)
            if runtime is None or every or runtime.backend is not backend:
                runtime = self._runtime(runtime, backend, coming)
                yield
                coming.changed(was, runtime)
                if was is not None and _is_large(backend):
                    runtime.make_plans_of(was)
                yield
            backends[backend.key] = runtime
        if replaced is None:
            gone = [key for key in before.backends if key not in backends]
            coming.concerned += gone
            coming.departed += _members_of(before.backends[key] for key in gone)
        return backends

    def _runtime(self, before: BackendRuntime | None, backend: Backend, coming: Coming) -> BackendRuntime:
        around = coming.around
        if before is not None:
            return before.with_backend(backend, around.own, around.zones, coming.drain, coming.keyring)
        return BackendRuntime.fresh(
            backend,
            own_zone=around.own,
            zones=around.zones,
            drain=coming.drain,
            random_below=self._random_below,
            keyring=coming.keyring,
            others=self._others,
            failing=self.failing,
            absences=self._absences,
        )


def _compressor(settings: ProxySettings) -> Compressor | None:
    if settings.compression is None and settings.brotli is None:
        return None
    return Compressor(settings.compression, settings.brotli)


def _is_rekeyed(before: RoutingModel, after: RoutingModel) -> bool:
    """Whether handshakes with endpoints may need other authorities or client certificates."""
    return before.authorities != after.authorities or before.client_certificates != after.client_certificates


def _replaced(before: View, model: RoutingModel) -> Generator[None, None, tuple[Backend, ...] | None]:
    """The backends that are other objects than before; None if backends were added or removed. In steps."""
    others = other_objects(before.model.backends, model.backends)
    if others is None:
        return None
    yield
    return others[1] if all(map(before.backends.__contains__, map(_KEY, others[1]))) else None


def _has_same_routes(before: RoutingModel, after: RoutingModel) -> bool:
    return (
        after.hosts == before.hosts
        and after.relays == before.relays
        and after.listeners == before.listeners
        and after.route_configurations == before.route_configurations
    )


def _is_large(backend: Backend) -> bool:
    return len(backend.endpoints) > _ENDPOINTS_A_REQUEST


def _members_of(runtimes: Iterable[BackendRuntime]) -> list[Member]:
    return [member for runtime in runtimes for member in runtime.members.values()]
