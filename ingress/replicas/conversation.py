"""Runs the conversation of one replica: hears and tells others, and makes their totals count.

Adds clock, port and turns of the event loop to what the modules beside it decide. No request waits for anything here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from aiohttp import web

from balancer.model.limits import LimitScope, RateLimit
from balancer.model.publication import RoutingModel
from balancer.model.zones import FleetUse, Zone, ZonePolicyName, ZoneTraffic
from balancer.sharing.books import SharedLimits, number_of
from ingress.replicas.facts import FleetFacts
from ingress.replicas.messages import MessageRefusal, SpentRow, encode
from ingress.replicas.others import OtherReplicas, ReplicaState
from ingress.replicas.outbox import Outbox
from ingress.replicas.port import NotHeard, Teller, open_port
from ingress.replicas.spending import FleetSpending
from ingress.replicas.traffic import Rates, differs, traffic_by_zone
from ingress.replicas.trust import ReplicaCredentials

_LOG = logging.getLogger(__name__)

_TICK_SECONDS: Final = 0.5
# How often own counters are read and shares are computed.
_LEARN_SECONDS: Final = 1.0
# Between two models because of others' traffic.
_PUBLISH_SECONDS: Final = 2.0
# A message comes early, but not earlier than this, if a rate has moved by the fifth part.
_EARLY_SECONDS: Final = 1.0
_MOVED: Final = 0.2


class ConversationOptions(NamedTuple):
    """Where to hear others, where others are (`HOST:PORT`), and what this replica calls itself."""

    address: str
    port: int
    places: tuple[str, ...]
    name: str


class Ends(NamedTuple):
    """What the conversation reads and whom it tells.

    `totals` returns the requests of these Services so far. `model` returns the model in use. `use` makes the requests
    by zone count. `limits` are those that replicas share.
    """

    totals: Callable[[frozenset[str]], Mapping[str, int]]
    model: Callable[[], RoutingModel]
    use: Callable[[tuple[tuple[str, ZoneTraffic], ...]], None]
    limits: SharedLimits


class _Addressee:
    """One address of another replica."""

    __slots__ = ("due_at", "is_own", "outbox", "rates", "sending", "told_at")

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.rates: dict[str, float] = {}  # as last told
        self.told_at = float("-inf")
        self.due_at = float("-inf")
        self.is_own = False
        self.sending: asyncio.Task[None] | None = None


class Conversation:
    """The conversation of one replica. Must be made inside the running loop."""

    def __init__(self, options: ConversationOptions, credentials: ReplicaCredentials, ends: Ends) -> None:
        self._options = options
        self._credentials = credentials
        self._ends = ends
        self._members = OtherReplicas(credentials.identity)
        self._rates: dict[str, Rates] = {}
        self._own = Rates()
        self._totals: Mapping[str, int] = {}
        self._spending = FleetSpending()
        self._limits: dict[int, RateLimit] = {}
        self._spent: tuple[SpentRow, ...] = ()
        self._spent_at: float | None = None
        self._places = {place: _Addressee() for place in options.places}
        self._counted = Counter[str]()
        self._bytes = Counter[str]()
        self._number = 0
        self._model = RoutingModel()
        self._services = frozenset[str]()
        self._used: dict[str, ZoneTraffic] = {}
        self._used_at = float("-inf")
        self._learned_at = float("-inf")
        self._runner: web.AppRunner
        self._teller: Teller

    async def start(self) -> None:
        """Opens the port. Raises `CannotListen`."""
        options, credentials = self._options, self._credentials
        runner, port = await open_port(options.address, options.port, tls=credentials.server, hear=self._hear)
        self._runner = runner
        self._teller = Teller(credentials.client)
        _LOG.info("other replicas are heard on port %d", port)

    async def run(self) -> None:
        """Converses without end. A turn that fails is logged, and the next one comes all the same."""
        while True:
            try:
                self._turn(time.monotonic())
            except Exception:
                _LOG.exception("the conversation with other replicas failed")
            await asyncio.sleep(_TICK_SECONDS)

    async def close(self) -> None:
        """Ends all connections."""
        sending = [place.sending for place in self._places.values() if place.sending is not None]
        for task in sending:
            task.cancel()
        await asyncio.gather(*sending, return_exceptions=True)
        await self._teller.close()
        await self._runner.cleanup()

    def facts(self) -> FleetFacts:
        """What is shown about the conversation now."""
        now = time.monotonic()
        states = self._members.states(now)
        up, distrusted = states[ReplicaState.UP], states[ReplicaState.DISTRUSTED]
        expected = sum(not place.is_own for place in self._places.values())
        silent = max(states[ReplicaState.SILENT], expected - up - distrusted)
        return FleetFacts(
            peers={"up": up, "silent": silent, "distrusted": distrusted},
            messages={result: self._counted[result] for result in ("heard", "sent", "failed")},
            refused={refusal.value: self._members.refused[refusal] for refusal in MessageRefusal},
            bytes={direction: self._bytes[direction] for direction in ("heard", "sent")},
            ages_seconds=self._members.ages(now),
        )

    def _hear(self, identity: str, data: bytes) -> str:
        now = time.monotonic()
        self._bytes["heard"] += len(data)
        member = self._members.hear(identity, data, now)
        self._counted["heard"] += 1
        self._rates.setdefault(identity, Rates()).learn(member.picks, now)
        self._spending.hear({place: news for place, news in member.news.items() if place[0] in self._limits})
        return self._zone()

    def _zone(self) -> str:
        return self._ends.model().own_zone.zone or ""

    def _turn(self, now: float) -> None:
        self._members.forget(now)
        model = self._ends.model()
        if model is not self._model:
            self._model = model
            self._services = services_by_traffic(model)
            self._limits = shared_limits(model)
        if model.zones.fleet is FleetUse.OFF:
            self._publish({}, now)
            self._charge(now, counts=False)
            return
        if now - self._learned_at >= _LEARN_SECONDS:
            self._learned_at = now
            self._totals = self._ends.totals(self._services)
            self._own.learn(self._totals, now)
            self._publish(self._traffic(now), now)
        self._charge(now, counts=model.zones.fleet is FleetUse.ON)
        for name, place in self._places.items():
            if place.sending is None and not place.is_own and self._is_due(place, now):
                place.told_at = now
                place.sending = asyncio.create_task(self._tell(name, place))

    def _charge(self, now: float, *, counts: bool) -> None:
        """Charges what clients of shared limits spent elsewhere, if it `counts`."""
        before = self._spent_at
        self._spent_at = now
        if not self._limits or before is None or now <= before:
            self._spent = ()
            return
        books = self._ends.limits
        rows = [row for row in books.rows() if row.limit in self._limits]
        self._spent = tuple(SpentRow(row.limit, row.key, row.asked, row.passed) for row in rows)
        charges = self._spending.turn(rows, now - before)
        if not counts:
            charges = []
            for row in rows:
                if row.parts:
                    books.weigh(row.limit, row.key, 1.0)
        for charge in charges:
            limit = self._limits.get(charge.limit)
            if limit is not None:
                books.charge(limit, charge.key, charge.passed)
                books.weigh(charge.limit, charge.key, charge.factor)

    def _traffic(self, now: float) -> dict[str, ZoneTraffic]:
        """The requests by zone, as the replicas that were heard lately tell; nothing while there are none."""
        up = {identity: member.last.zone for identity, member in self._members.up(now)}
        self._rates = {identity: rates for identity, rates in self._rates.items() if identity in up}
        others = [(Zone(up[identity]), rates) for identity, rates in self._rates.items() if up[identity]]
        own_zone = self._zone()
        if not others or not own_zone:
            return {}
        return traffic_by_zone([(Zone(own_zone), self._own), *others], self._services)

    def _publish(self, traffic: dict[str, ZoneTraffic], now: float) -> None:
        if not differs(self._used, traffic) or now - self._used_at < _PUBLISH_SECONDS:
            return
        self._used = traffic
        self._used_at = now
        self._ends.use(tuple(sorted(traffic.items())))

    def _is_due(self, place: _Addressee, now: float) -> bool:
        since = now - place.told_at
        if since >= place.outbox.seconds or place.outbox.has_news(self._spent):
            return True
        return since >= _EARLY_SECONDS and self._has_moved(place.rates)

    def _has_moved(self, told: Mapping[str, float]) -> bool:
        rates = {service: self._own.of(service) or 0.0 for service in self._services}
        return any(abs(rate - told.get(service, 0.0)) > _MOVED * max(rate, 1.0) for service, rate in rates.items())

    async def _tell(self, name: str, place: _Addressee) -> None:
        self._number += 1
        place.rates = {service: self._own.of(service) or 0.0 for service in self._services}
        message = place.outbox.message(
            self._number, name=self._options.name, zone=self._zone(), totals=self._totals, spent=self._spent
        )
        data = encode(message)
        self._bytes["sent"] += len(data)
        try:
            zone = await self._teller.tell(name, data)
            place.outbox.arrived()
            place.outbox.is_near = zone == self._zone()
            self._counted["sent"] += 1
        except NotHeard as problem:
            place.is_own = problem.is_own
            self._counted["failed"] += not problem.is_own
            _LOG.debug("replica %s did not take a message: %s", name, problem)
        finally:
            place.sending = None


def services_by_traffic(model: RoutingModel) -> frozenset[str]:
    """The Services (`namespace/name`) for which requests by zone decide something: those under `proportional`."""
    keys = {
        branch.backend
        for host in model.hosts
        for route in (*host.routes, host.default)
        if route is not None
        for branch in route.branches
        if branch.zone_policy is not None and branch.zone_policy.name is ZonePolicyName.PROPORTIONAL
    }
    return frozenset(
        f"{backend.namespace}/{backend.service}"
        for backend in model.backends
        if backend.zone_policy.name is ZonePolicyName.PROPORTIONAL or backend.key in keys
    )


def shared_limits(model: RoutingModel) -> dict[int, RateLimit]:
    """The limits that replicas share, by their numbers."""
    gates = (gate for host in model.hosts for route in (*host.routes, host.default) if route for gate in route.gates)
    return {number_of(gate): gate for gate in gates if isinstance(gate, RateLimit) and gate.scope is LimitScope.FLEET}
