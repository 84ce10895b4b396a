"""Knows the Services of the model: how their zone policy judges now, since when, and their endpoints by zone.

Asks the code that serves requests for the judgement, and only about what differs from the last model. Time is an
argument, in Unix seconds. Does not know traffic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable

import msgspec

from balancer.model.endpoints import Backend, BackendKey
from balancer.model.publication import RoutingModel
from balancer.model.routes import Route
from balancer.model.zones import UNKNOWN_ZONE
from balancer.zones.reasons import Reason
from balancer.zones.skew import expected_load
from balancer.zones.split import in_force, split
from balancer.zones.verdicts import Surroundings
from ingress.admin.overview.document import Mode, ModeEvent, ServiceZone
from ingress.admin.overview.traffic import ServiceName

_CHANGES_KEPT = 8
# By measurement a judgement with the expected load takes 50 microseconds, a known backend 0.3 and a host 1, so a slice
# takes about 50.
_JUDGED_PER_SLICE = 1
_KNOWN_PER_SLICE = 150
_HOSTS_PER_SLICE = 50


class ServiceFacts(msgspec.Struct, frozen=True):
    """What the model says about a Service. `reason` None: there is no endpoint to judge. Zones are sorted by name.

    `expected_load` is that of an endpoint in the own zone, as a multiple of the average; None if there is none.
    """

    policy: str = "off"
    dry_run: bool = False
    rollout_percent: int = 100
    mode: Mode = Mode.EMPTY
    reason: Reason | None = None
    expected_load: float | None = None
    zones: tuple[ServiceZone, ...] = ()


_Judged = dict[BackendKey, tuple[Backend, ServiceFacts]]


class Catalog:
    """The Services of the last model that was followed, and those that routes name but that do not exist.

    `changes` are the last modes of each Service, the newest last. `zones` counts endpoints by zone and readiness.
    """

    __slots__ = ("_around", "_changed", "_judged", "_missing", "_model", "_ports", "changes", "services", "zones")

    def __init__(self) -> None:
        self.services: dict[ServiceName, ServiceFacts] = {}
        self.changes: dict[ServiceName, tuple[ModeEvent, ...]] = {}
        self.zones: Counter[tuple[str, bool]] = Counter()
        self._model = RoutingModel()
        self._around = Surroundings()
        self._judged: _Judged = {}
        self._ports: dict[ServiceName, list[BackendKey]] = {}
        self._missing: frozenset[ServiceName] = frozenset()
        self._changed: set[ServiceName] = set()

    def follow(self, model: RoutingModel, *, now: float) -> Generator[None, None, None]:
        """Takes the model that is served at `now`, and yields after each slice of work.

        Each call must be iterated to its end, and before the next one begins.
        """
        before = self._model
        self._model = model
        if model is before:
            return
        touched = yield from self._judge(model)
        if model.hosts is not before.hosts or model.route_configurations is not before.route_configurations:
            missing = yield from _missing(model)
            touched |= missing ^ self._missing
            self._missing = missing
        for number, service in enumerate(sorted(touched), 1):
            self._settle(service, now)
            if number % _JUDGED_PER_SLICE == 0:
                yield

    def expected_loads(self) -> dict[tuple[str, str, str], float]:
        """The load that is expected of an endpoint in the own zone, by namespace, Service and zone."""
        zone = self._around.own.zone or UNKNOWN_ZONE
        loads = ((name, facts.expected_load) for name, facts in self.services.items())
        return {(*name, zone): load for name, load in loads if load is not None}

    def take_changed(self) -> set[ServiceName]:
        """The Services that have changed, or are gone, since the last call."""
        changed = self._changed
        self._changed = set()
        return changed

    def _judge(self, model: RoutingModel) -> Generator[None, None, set[ServiceName]]:
        """Judges the backends that differ. Returns the Services that they belong to."""
        around = Surroundings(model.own_zone, model.zones)
        known: _Judged = self._judged if around == self._around else {}
        self._around = around
        judged: _Judged = {}
        touched: set[ServiceName] = set()
        new = 0
        for number, backend in enumerate(model.backends, 1):
            entry = known.get(backend.key)
            if entry is None or entry[0] is not backend:
                entry = backend, facts_of(backend, around)
                touched.add(_name_of(backend))
                new += 1
                if new % _JUDGED_PER_SLICE == 0:
                    yield
            judged[backend.key] = entry
            if number % _KNOWN_PER_SLICE == 0:
                yield
        if judged.keys() != self._judged.keys():
            touched.update(_name_of(self._judged[key][0]) for key in self._judged.keys() - judged.keys())
            self._ports = {}
            for backend in model.backends:
                self._ports.setdefault(_name_of(backend), []).append(backend.key)
        self._judged = judged
        return touched

    def _settle(self, service: ServiceName, now: float) -> None:
        """Makes the facts of one Service anew."""
        before = self.services.pop(service, None)
        ports = [self._judged[key][1] for key in self._ports.get(service, ())]
        if ports or service in self._missing:
            self.services[service] = after = _together(ports)
            self._note_mode(service, after, now)
        else:
            after = None
            self.changes.pop(service, None)
        if before != after:
            self._changed.add(service)
            self.zones.subtract(_counted(before))
            self.zones.update(_counted(after))

    def _note_mode(self, service: ServiceName, facts: ServiceFacts, now: float) -> None:
        known = self.changes.get(service, ())
        reason = facts.reason.value if facts.reason is not None else ""
        if not known or (known[-1].mode, known[-1].reason) != (facts.mode, reason):
            self.changes[service] = (*known, ModeEvent(now, facts.mode, reason))[-_CHANGES_KEPT:]


def facts_of(backend: Backend, around: Surroundings) -> ServiceFacts:
    """The facts of one Service port."""
    policy, pools = backend.zone_policy, split(backend.endpoints, around, backend.zone_policy)
    if not pools.general:
        mode = Mode.EMPTY
    elif pools.refuses:
        mode = Mode.REFUSING
    else:
        mode = Mode.ZONAL if pools.zonal_mode else Mode.GENERAL
    return ServiceFacts(
        policy=in_force(policy, tuple(each for each in backend.endpoints if each.ready)).value,
        dry_run=policy.dry_run,
        rollout_percent=policy.rollout_percent,
        mode=mode,
        reason=None if mode is Mode.EMPTY else pools.reason,
        expected_load=expected_load(backend.endpoints, around, policy),
        zones=_zones((each.zone or UNKNOWN_ZONE, each.ready) for each in backend.endpoints),
    )


def _together(ports: list[ServiceFacts]) -> ServiceFacts:
    """The facts of a Service: those of the first port that leaves zonal mode, else of the first port with an endpoint,
    with the endpoints of all ports and the highest load of any.
    """
    if len(ports) == 1:
        return ports[0]
    usable = [port for port in ports if port.mode is not Mode.EMPTY]
    spoken = next((port for port in usable if port.mode is not Mode.ZONAL), None) or next(iter(usable or ports), None)
    counts = Counter[tuple[str, bool]]()
    for port in ports:
        counts.update(_counted(port))
    loads = [port.expected_load for port in ports if port.expected_load is not None]
    return msgspec.structs.replace(
        spoken or ServiceFacts(), zones=_zones(counts.elements()), expected_load=max(loads, default=None)
    )


def _zones(endpoints: Iterable[tuple[str, bool]]) -> tuple[ServiceZone, ...]:
    counts = Counter(endpoints)
    return tuple(
        ServiceZone(zone, ready=counts[zone, True], draining=counts[zone, False])
        for zone in sorted({zone for zone, _ in counts})
    )


def _counted(facts: ServiceFacts | None) -> Counter[tuple[str, bool]]:
    counts = Counter[tuple[str, bool]]()
    for each in facts.zones if facts is not None else ():
        counts[each.zone, True] += each.ready
        counts[each.zone, False] += each.draining
    return counts


def _missing(model: RoutingModel) -> Generator[None, None, frozenset[ServiceName]]:
    """The Services that open paths name and that do not exist, or lack the named port."""
    found: set[ServiceName] = set()
    for number, host in enumerate(model.hosts, 1):
        found.update(_in_vain(host.routes))
        found.update(_in_vain([host.default] if host.default is not None else []))
        if number % _HOSTS_PER_SLICE == 0:
            yield
    found.update(_in_vain(model.default_routes()))
    return frozenset(found)


def _in_vain(routes: Iterable[Route]) -> list[ServiceName]:
    branches = (branch for each in routes if not each.closed for branch in each.branches)
    return [(each.service.namespace, each.service.name) for each in branches if each.backend is None]


def _name_of(backend: Backend) -> ServiceName:
    return backend.namespace, backend.service
