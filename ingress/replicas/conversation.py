"""Runs the conversation of one replica: hears and tells others, and makes their totals count.

Adds clock, port and turns of the event loop to what the modules beside it decide. No request waits for anything here.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from aiohttp import web

from balancer.model.publication import RoutingModel
from balancer.model.zones import FleetUse
from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.sharing.books import SharedLimits
from balancer.workers.messages import SuspectRow
from ingress.replicas.facts import FleetFacts
from ingress.replicas.failures import FailureSharing, ReplicaView
from ingress.replicas.limiting import TURN_SECONDS, LimitSharing
from ingress.replicas.messages import FailureRow, MessageRefusal, encode
from ingress.replicas.others import OtherReplicas, ReplicaState
from ingress.replicas.outbox import Outbox, Sections
from ingress.replicas.port import NotHeard, Teller, open_port
from ingress.replicas.spending import TICK_SECONDS
from ingress.replicas.traffic_sharing import TotalsOf, TrafficSharing, UseTraffic
from ingress.replicas.trust import ReplicaCredentials

_LOG = logging.getLogger(__name__)

# How often to look where other replicas are.
_FIND_SECONDS: Final = 1.0
# A message comes early, but not earlier than this, if a rate has moved.
_EARLY_SECONDS: Final = 1.0
# News of failing endpoints come early as well, but not earlier than this after a regular message.
_FAILING_SECONDS: Final = 0.2


class ConversationOptions(NamedTuple):
    """Where to hear others, where others are (`HOST:PORT`), and what this replica calls itself."""

    address: str
    port: int
    places: tuple[str, ...]
    name: str


class Ends(NamedTuple):
    """What the conversation reads and whom it tells.

    `places` returns where other replicas are now, beside those of the options; the own place may be among them.
    `failing` returns how endpoints do that failed lately, by worker; `suspect` tells workers what others say.
    `totals` returns the requests of these Services so far. `model` returns the model in use. `use` makes the requests
    by zone count. `limits` are those that replicas share.
    """

    totals: TotalsOf
    model: Callable[[], RoutingModel]
    use: UseTraffic
    limits: SharedLimits
    failing: Callable[[], Sequence[Mapping[EndpointPlace, FailingRow]]]
    suspect: Callable[[tuple[SuspectRow, ...]], None]
    places: Callable[[], tuple[str, ...]]


class _Addressee:
    """One address of another replica."""

    __slots__ = ("identity", "is_own", "outbox", "rates", "sending", "told_at")

    def __init__(self) -> None:
        self.outbox = Outbox()
        self.identity = ""
        self.rates: dict[str, float] = {}  # as last told
        self.told_at = float("-inf")
        self.is_own = False
        self.sending: asyncio.Task[None] | None = None


class Conversation:
    """The conversation of one replica. Must be made inside the running loop."""

    def __init__(self, options: ConversationOptions, credentials: ReplicaCredentials, ends: Ends) -> None:
        self._options = options
        self._credentials = credentials
        self._ends = ends
        self._members = OtherReplicas(credentials.identity)
        self._traffic = TrafficSharing(ends.totals, ends.use)
        self._limits = LimitSharing(ends.limits)
        self._failures = FailureSharing()
        self._places: dict[str, _Addressee] = {}
        self._found_at = float("-inf")
        self._counted = Counter[str]()
        self._bytes = Counter[str]()
        self._failing: tuple[FailureRow, ...] = ()
        self._number = 0
        self._model = RoutingModel()
        self._runner: web.AppRunner
        self._teller: Teller

    async def start(self) -> None:
        """Opens the port. Raises `CannotListen`."""
        options, credentials = self._options, self._credentials
        runner, port = await open_port(options.address, options.port, credentials=credentials, hear=self._hear)
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
            await asyncio.sleep(TICK_SECONDS)

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
        self._traffic.hear(identity, member.picks, now)
        self._limits.hear(identity, member.news)
        return self._zone()

    def _zone(self) -> str:
        return self._ends.model().own_zone.zone or ""

    def _turn(self, now: float) -> None:
        self._members.forget(now)
        if now - self._found_at >= _FIND_SECONDS:
            self._found_at = now
            self._find()
        model = self._ends.model()
        if model is not self._model:
            self._model = model
            self._traffic.follow(model)
            self._limits.follow(model)
        believed = dict(self._members.up(now))
        up = {identity: member.last.zone for identity, member in believed.items()}
        self._limits.turn(now, others=len(up), counts=model.zones.fleet is FleetUse.ON)
        self._share_failures([ReplicaView(member.last.zone, member.failing) for member in believed.values()], now)
        if model.zones.fleet is FleetUse.OFF:
            self._traffic.end(now)
            return
        self._traffic.turn(now, up=up, own_zone=self._zone())
        for name, place in self._places.items():
            if place.sending is None and not place.is_own:
                sections = self._due(place, now)
                if sections is not None:
                    place.sending = asyncio.create_task(self._tell(name, place, sections))

    def _find(self) -> None:
        """Knows the places of all other replicas. What was told to one that is gone is forgotten."""
        wanted = {*self._options.places, *self._ends.places()}
        for place in self._places.keys() - wanted:
            sending = self._places.pop(place).sending
            if sending is not None:
                sending.cancel()
        for place in sorted(wanted - self._places.keys()):
            self._places[place] = _Addressee()

    def _share_failures(self, others: Sequence[ReplicaView], now: float) -> None:
        facts = self._model.zones
        if FleetUse.OFF in (facts.fleet, facts.fleet_failures):
            self._failing = ()
            return
        suspects = self._failures.turn(self._ends.failing(), others, self._zone(), now)
        self._failing = tuple(self._failures.rows.values())
        if suspects and facts.fleet is facts.fleet_failures is FleetUse.ON:
            self._ends.suspect(suspects)

    def _due(self, place: _Addressee, now: float) -> Sections | None:
        """What to tell now; None if nothing is due. Of new clients of limits everybody hears at once."""
        since = now - place.told_at
        is_due = (
            since >= place.outbox.seconds
            or (since >= TURN_SECONDS and place.outbox.has_news("spent", self._limits.spent))
            or (since >= _EARLY_SECONDS and self._traffic.has_moved(place.rates))
        )
        if is_due:
            place.told_at = now
            place.rates = self._traffic.rates()
            return {"picks": self._traffic.picks, "spent": self._limits.spent}
        if self._limits.fresh:
            return {"spent": self._limits.fresh}
        return {} if place.outbox.has_failing_news(self._failing) and since >= _FAILING_SECONDS else None

    async def _tell(self, name: str, place: _Addressee, sections: Sections) -> None:
        self._number += 1
        message = place.outbox.message(
            self._number, name=self._options.name, zone=self._zone(), sections=sections, failing=self._failing
        )
        data = encode(message)
        self._bytes["sent"] += len(data)
        try:
            heard = await self._teller.tell(name, data)
            place.outbox.arrived()
            place.outbox.is_near = heard.zone == self._zone()
            if heard.identity != place.identity:
                place.outbox.forget()  # another replica is there, or it has started anew
                place.identity = heard.identity
            self._counted["sent"] += 1
        except NotHeard as problem:
            place.is_own = problem.is_own
            self._counted["failed"] += not problem.is_own
            _LOG.debug("replica %s did not take a message: %s", name, problem)
        finally:
            place.sending = None
