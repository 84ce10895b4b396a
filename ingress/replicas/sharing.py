"""Holds what this replica knows of each fact that replicas share, and lets each fact decide. No I/O, no clock.

Each fact stands in a module of its own; the keys of the ConfigMap say how far each of them counts.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from balancer.model.publication import RoutingModel
from balancer.model.zones import UNKNOWN_ZONE, FleetUse, Zone, ZoneFacts, ZonePolicyName, ZoneTraffic
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.sharing.layout import AmongReplicas
from balancer.sharing.peers import load_key
from balancer.sharing.rows import tag_of
from balancer.sharing.zone_peers import zone_key
from balancer.workers.messages import SuspectRow
from ingress.replicas.failures import FailureSharing, ReplicaView
from ingress.replicas.limiting import LimitSharing
from ingress.replicas.links import AnswersOf, LinkSharing
from ingress.replicas.messages import FlowRow
from ingress.replicas.other_replica import OtherReplica
from ingress.replicas.outbox import NOTHING, Rows, Sections, Tables, Wholes
from ingress.replicas.recent import namespace_of, remembered
from ingress.replicas.seen_columns import LOADS, ZONES
from ingress.replicas.sightings import SightingSharing
from ingress.replicas.traffic_sharing import TotalsOf, TrafficSharing
from ingress.replicas.zone_events import LeavingView, LeftZone, ZoneEvent, ZoneEvents
from ingress.translation.sharing import fairly_first

# How often the own requests by zones are read.
_FLOWS_SECONDS: Final = 1.0
# Only new clients of limits cannot wait longer than a turn of the conversation (0.1 s).
_TURN_SECONDS: Final = 0.15
# Zones of so many failing backends are told at a time.
_FAILING_BACKENDS_MOST: Final = 256

UseFacts = Callable[[tuple[tuple[str, ZoneTraffic], ...] | None, tuple[Zone, ...] | None], None]
"""Makes the requests of Services by zone count, or the zones that are sick; None: as before."""


class Ends(NamedTuple):
    """What the facts are read from, and whom they are told.

    `totals` returns the requests of these Services so far, `answers` the answers and failures by namespace. `model`
    returns the model in use. `use` makes facts count. `memory` is what workers share with other replicas. `failing`
    returns how endpoints do that failed lately, by worker; `suspect` tells workers what others say. `left` returns the
    zones that requests leave here; `events` is told which zones are sick for the fleet. `flows`
    returns the requests of this replica by zones. `places` returns where other
    replicas are now, beside those of the options; the own place may be among them. `crowded` is told whether there are
    more than tell each other, `expired` the places of those whose certificates have expired.
    """

    totals: TotalsOf
    answers: AnswersOf
    model: Callable[[], RoutingModel]
    use: UseFacts
    memory: AmongReplicas
    failing: Callable[[], Sequence[Mapping[EndpointPlace, FailingRow]]]
    suspect: Callable[[tuple[SuspectRow, ...]], None]
    left: Callable[[], Collection[LeftZone]]
    events: Callable[[tuple[ZoneEvent, ...]], None]
    flows: Callable[[], Mapping[tuple[str, str], FlowRow]]
    places: Callable[[], tuple[str, ...]]
    crowded: Callable[[bool], None]
    expired: Callable[[tuple[str, ...]], None]


class FleetSharing:
    """All facts. `wholes` is what is told as a whole when it changes."""

    __slots__ = (
        "_ends",
        "_failures",
        "_flows",
        "_flows_at",
        "_model",
        "_turned_at",
        "_zone_keys",
        "events",
        "limits",
        "links",
        "loads",
        "traffic",
        "wholes",
        "zones",
    )

    def __init__(self, ends: Ends, identity: str) -> None:
        """`identity` is that of this replica."""
        self._ends = ends
        self.traffic = TrafficSharing(ends.totals, lambda traffic: ends.use(traffic, None))
        self.limits = LimitSharing(ends.memory.limits)
        self.loads = SightingSharing(ends.memory.relays.loads, LOADS)
        self.zones = SightingSharing(ends.memory.relays.zones, ZONES)
        self.events = ZoneEvents()
        self.links = LinkSharing(ends.answers, identity)
        self.wholes: Wholes = {}
        self._failures = FailureSharing()
        self._flows: Rows = NOTHING
        self._flows_at = float("-inf")
        self._model = RoutingModel()
        self._turned_at = float("-inf")
        self._zone_keys: frozenset[str] = frozenset()

    @property
    def is_off(self) -> bool:
        """Whether nothing is told."""
        return self._model.zones.fleet is FleetUse.OFF

    @property
    def own_zone(self) -> str:
        """The zone of this replica; empty if unknown."""
        return self._ends.model().own_zone.zone or ""

    def hear(self, identity: str, member: OtherReplica, now: float) -> None:
        """Takes what another replica told with its last message."""
        if member.last.counted or member.last.picks:  # other messages would look as if no requests had come
            self.traffic.hear(identity, member.picks.rows, now)
        self.limits.hear(identity, member.news)
        if member.last.zone and member.last.zone == self.own_zone:
            self.loads.hear(identity, member.load_news, now)
            self.zones.hear(identity, member.zone_news, now)

    def turn(self, believed: Mapping[str, OtherReplica], now: float) -> None:
        """Lets each fact decide by what the replicas that are believed have told."""
        model = self._ends.model()
        if model is not self._model:
            self._model = model
            self._follow(model)
        facts, zone = model.zones, self.own_zone
        self.limits.turn(now, others=len(believed), counts=facts.fleet is FleetUse.ON)
        if now - self._turned_at < _TURN_SECONDS:
            return
        self._turned_at = now
        up = {identity: member.last.zone for identity, member in believed.items()}
        failing = self._share_failures(believed, zone, now)
        self._share_sightings(up, failing, now)
        self._share_zones(believed, zone)
        self.links.turn(believed if _is_told(facts, facts.fleet_readiness) else {}, now)
        self._tell_whole("away", self.is_away)
        if now - self._flows_at >= _FLOWS_SECONDS:
            self._flows_at = now
            self._flows = self._ends.flows() if believed else NOTHING
        if self.is_off:
            self.traffic.end()
        else:
            self.traffic.turn(now, up=up, own_zone=zone)

    @property
    def sections(self) -> Sections:
        """What is told row by row."""
        return {
            "picks": self.traffic.picks,
            "spent": self.limits.spent,
            "health": self.links.rows,
            "flows": self._flows,
        }

    @property
    def tables(self) -> Tables:
        """What replicas of the own zone are told beside that, column by column."""
        return {"loads": self.loads.telling, "zones": self.zones.telling}

    def told_about(self, service: str, believed: Collection[OtherReplica]) -> list[str]:
        """What other replicas told about a Service (`namespace/name`), and whether it counts, in sentences."""
        facts, told = self._model.zones, list[str]()
        near = [member for member in believed if member.last.zone == self.own_zone]
        tags = [tag_of(key) for key in load_keys(self._model) if key.startswith(f"{service}:")]
        if picks := sum(member.loads.first(tag) or 0.0 for member in near for tag in tags):
            use = _use_told(facts, facts.fleet_loads, "fleet-loads")
            told.append(
                f"Other replicas of {self.own_zone} told that they picked {picks:.0f} times under adaptive.{use}"
            )
        backends = [backend.key for backend in self._model.backends if backend.key.startswith(f"{service}:")]
        tags = [*map(tag_of, zone_keys(self._model, backends))]
        if any(member.zones.first(tag) is not None for member in near for tag in tags):
            use = _use_told(facts, facts.fleet_zones, "fleet-zones")
            told.append(f"Other replicas of {self.own_zone} told how zones answered them.{use}")
        return told

    def _follow(self, model: RoutingModel) -> None:
        self.traffic.follow(model)
        self.limits.follow(model)
        self.events.follow(model)
        is_told = _is_told(model.zones, model.zones.fleet_loads)
        self.loads.follow(remembered(frozenset(load_keys(model))) if is_told else ())

    def _share_failures(
        self, believed: Mapping[str, OtherReplica], zone: str, now: float
    ) -> Sequence[Mapping[EndpointPlace, FailingRow]]:
        facts, failing = self._model.zones, self._ends.failing()
        if not _is_told(facts, facts.fleet_failures):
            self._tell_whole("failing", ())
            return failing
        others = [ReplicaView(member.last.zone, member.failing) for member in believed.values()]
        suspects = self._failures.turn(failing, others, zone, now)
        self._tell_whole("failing", tuple(self._failures.rows.values()))
        if suspects and facts.use_of(facts.fleet_failures) is FleetUse.ON:
            self._ends.suspect(suspects)
        return failing

    def _share_sightings(
        self, up: Mapping[str, str], failing: Sequence[Mapping[EndpointPlace, FailingRow]], now: float
    ) -> None:
        """Load under `adaptive`, and answers of zones of those backends that fail here lately."""
        facts = self._model.zones
        near = {identity for identity, zone in up.items() if zone and zone == self.own_zone}
        self.loads.turn(now, up=near, counts=facts.use_of(facts.fleet_loads) is FleetUse.ON)
        backends = {place[0] for rows in failing for place in rows} if _is_told(facts, facts.fleet_zones) else ()
        counted = fairly_first(sorted(backends), _FAILING_BACKENDS_MOST, namespace_of) if backends else ()
        keys = frozenset(zone_keys(self._model, counted)) if counted else frozenset()
        if keys != self._zone_keys:
            self._zone_keys = keys
            self.zones.follow(keys)
        self.zones.turn(now, up=near, counts=facts.use_of(facts.fleet_zones) is FleetUse.ON)

    def _share_zones(self, believed: Mapping[str, OtherReplica], zone: str) -> None:
        facts = self._model.zones
        is_told = _is_told(facts, facts.fleet_zones)
        own = LeavingView(zone, self._ends.left() if is_told else ())
        before = self.events.zones
        self.events.turn(own, [LeavingView(each.last.zone, each.left) for each in believed.values()] if is_told else ())
        self._tell_whole("left", self.events.rows)
        if self.events.zones != before:
            self._ends.events(self.events.events)
        counting = self.events.zones if facts.use_of(facts.fleet_zones) is FleetUse.ON else ()
        if counting != facts.sick:
            self._ends.use(None, counting)

    def _tell_whole(self, name: str, whole: object) -> None:
        """`wholes` is another object only if something in it has changed."""
        if name not in self.wholes or self.wholes[name] != whole:
            self.wholes = {**self.wholes, name: whole}

    @property
    def is_away(self) -> bool:
        """Whether this replica says that it is not ready, because its links are sick."""
        facts = self._model.zones
        return self.links.judge.is_away and facts.use_of(facts.fleet_readiness) is FleetUse.ON


def _is_told(facts: ZoneFacts, fact: FleetUse) -> bool:
    return facts.use_of(fact) is not FleetUse.OFF


def _use_told(facts: ZoneFacts, fact: FleetUse, key: str) -> str:
    if facts.use_of(fact) is FleetUse.ON:
        return ""
    return f" The key {key if facts.fleet is FleetUse.ON else 'fleet'} is a dry run, so this decides nothing."


def load_keys(model: RoutingModel) -> Iterator[str]:
    """What controllers of `adaptive` call the backends under that policy, as `BalancerMaker.peers` does."""
    asked = {
        (branch.backend, branch.zone_policy)
        for host in model.hosts
        for route in (*host.routes, host.default)
        if route is not None
        for branch in route.branches
        if branch.zone_policy is not None and branch.backend is not None
    }
    by_itself = {(backend.key, backend.zone_policy) for backend in model.backends}
    for backend, policy in asked | by_itself:
        if policy.name is ZonePolicyName.ADAPTIVE:
            yield load_key(backend, model.own_zone.zone, policy)


def zone_keys(model: RoutingModel, backends: Collection[str]) -> Iterator[str]:
    """What workers call the zones of these backends when they judge them, as `Evacuation` does."""
    wanted = frozenset(backends)
    for backend in model.backends:
        if backend.key in wanted:
            for zone in {endpoint.zone or UNKNOWN_ZONE for endpoint in backend.endpoints}:
                yield zone_key(backend.key, zone)
