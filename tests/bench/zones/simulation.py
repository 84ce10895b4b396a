"""Replays a scenario, event by event: clients ask, proxies pick, endpoints work, and what was seen is kept.

Responsible for time and for queues. It must not know how a proxy picks. Nothing in it is random twice: the same
scenario has the same requests, at the same times and of the same length, under every policy.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts
from balancer.picking.loads import Latency
from balancer.zones.verdicts import Surroundings
from tests.bench.zones.scenarios import ZONES, Phase, Scenario

LOCAL_SECONDS, REMOTE_SECONDS = 0.0003, 0.001
"""What the way to an endpoint and back takes inside a zone and between two."""

FAILURE_SECONDS = 0.001
"""What a failure takes: it comes at once, and needs no slot."""

SAMPLE_SECONDS = 0.25
"""How often the spill share of every proxy is written down."""


Waiting = tuple[int, float, float, "Member", int]
"""A request in a queue: its proxy, start and work, who it is for the proxy, and its number."""


Work = tuple[float, int, int, float, "Member"]
"""A request at work: when it will be done, its number, proxy and start, and who works on it."""

Asked = tuple[float, int, float]
"""A request to come: when, of which proxy, and the seconds of work in it."""


class Site:
    """An endpoint as it really is: its slots, who waits, and how long it was at work."""

    __slots__ = ("busy", "busy_seconds", "factors", "number", "slots", "waiting", "zone")

    def __init__(self, zone: int, number: int, slots: int) -> None:
        self.zone = zone
        self.number = number
        self.slots = slots
        self.busy = 0
        self.busy_seconds = 0.0
        self.waiting: deque[Waiting] = deque()
        self.factors: tuple[float, ...] = (1.0,)


class Member:
    """An endpoint as one proxy sees it."""

    __slots__ = ("in_flight", "is_local", "latency", "site")

    def __init__(self, site: Site, *, is_local: bool) -> None:
        self.site = site
        self.is_local = is_local
        self.in_flight = 0
        self.latency: Latency | None = None


class Router(Protocol):
    """How one proxy picks."""

    def place(self, ready: dict[Endpoint, Member], around: Surroundings) -> None:
        """From now on these are ready."""

    def pick(self, now: float) -> Member:
        """A choice for one request."""

    def ended(self, member: Member, seconds: float, now: float) -> None:
        """The request came back after `seconds`."""

    def failed(self, member: Member, now: float) -> None:
        """The request failed."""

    def share(self) -> float:
        """The share of requests that it wants to leave the zone for their load."""


MakeRouter = Callable[[Callable[[int], int]], Router]


@dataclass(slots=True)
class Record:
    """What was seen.

    `answers` are (start, seconds, whether it left its zone); `shares` one list for each proxy, a value every
    `SAMPLE_SECONDS`; `utilisations` one for each endpoint. `errors` are the starts of requests that failed and
    the zone of their client; `seconds_in` the seconds of the other requests by the zone of their client.
    """

    answers: list[tuple[float, float, bool]] = field(default_factory=list)
    shares: list[list[float]] = field(default_factory=list)
    utilisations: list[float] = field(default_factory=list)
    errors: list[tuple[float, int]] = field(default_factory=list)
    seconds_in: tuple[list[float], ...] = field(default_factory=lambda: tuple([] for _ in ZONES))


def requests(scenario: Scenario) -> list[Asked]:
    """When which proxy is asked, and the work in seconds: a Poisson stream for each zone and phase."""
    chance, service = random.Random(scenario.seed), scenario.service
    mu = math.log(service.seconds) - service.sigma**2 / 2
    first = [sum(scenario.proxies[:zone]) for zone in range(len(ZONES))]
    asked = []
    for phase, seconds in scenario.spans():
        for zone, part in enumerate(phase.traffic):
            rate = phase.load * scenario.slots * part / service.seconds
            now = phase.start + chance.expovariate(rate) if rate else math.inf
            while now < phase.start + seconds:
                proxy = first[zone] + chance.randrange(scenario.proxies[zone])
                asked.append((now, proxy, math.exp(chance.gauss(mu, service.sigma))))
                now += chance.expovariate(rate)
    asked.sort()
    return asked


def replay(scenario: Scenario, asked: list[Asked], make: MakeRouter) -> Record:
    """Run `scenario` with a router of `make` in every proxy."""
    return Replay(scenario, make).run(asked)


class Replay:
    """One run: the clock stands where the last request was made."""

    def __init__(self, scenario: Scenario, make: MakeRouter) -> None:
        chance = random.Random(scenario.seed + "!")
        self._scenario = scenario
        self._sites = [
            Site(zone, number, scenario.service.slots)
            for zone, count in enumerate(scenario.endpoints)
            for number in range(count)
        ]
        self._zones = [zone for zone, count in enumerate(scenario.proxies) for _ in range(count)]
        self._fleets = [[Member(site, is_local=site.zone == zone) for site in self._sites] for zone in self._zones]
        self._routers = [make(chance.randrange) for _ in self._zones]
        self._record = Record(shares=[[] for _ in self._zones])
        self._pending: list[Work] = []
        self._failing: dict[int, float] = {}
        self._luck = random.Random(scenario.seed + "?")
        if scenario.noise:
            for site in self._sites:
                site.factors = tuple(
                    math.exp(chance.gauss(0.0, scenario.noise)) for _ in range(math.ceil(scenario.seconds))
                )

    def run(self, asked: list[Asked]) -> Record:
        """Everything that was seen of the requests `asked`, which are in the order of their times."""
        phases = deque(self._scenario.phases)
        sampled, pending = 0.0, self._pending
        for number, (at, proxy, work) in enumerate(asked):
            while pending and pending[0][0] <= at:
                self._end()
            while phases and at >= phases[0].start:
                self._enter(phases.popleft())
            while at >= sampled:
                for router, shares in zip(self._routers, self._record.shares, strict=True):
                    shares.append(router.share())
                sampled += SAMPLE_SECONDS
            member = self._routers[proxy].pick(at)
            if self._failing and self._luck.random() < self._failing.get(member.site.zone, 0.0):
                self._routers[proxy].failed(member, at + FAILURE_SECONDS)
                self._record.errors.append((at, self._zones[proxy]))
                continue
            member.in_flight += 1
            if member.site.busy < member.site.slots:
                member.site.busy += 1
                self._start((proxy, at, work, member, number), at)
            else:
                member.site.waiting.append((proxy, at, work, member, number))
        while pending:
            self._end()
        self._record.utilisations = [_utilisation(site, self._scenario) for site in self._sites]
        return self._record

    def _start(self, waiting: Waiting, now: float) -> None:
        proxy, start, work, member, number = waiting
        site = member.site
        seconds = work * site.factors[int(now) % len(site.factors)]
        site.busy_seconds += seconds
        heapq.heappush(self._pending, (now + seconds, number, proxy, start, member))

    def _end(self) -> None:
        now, _, proxy, start, member = heapq.heappop(self._pending)
        site = member.site
        if site.waiting and site.busy <= site.slots:
            self._start(site.waiting.popleft(), now)
        else:
            site.busy -= 1
        seconds = now - start + (LOCAL_SECONDS if member.is_local else REMOTE_SECONDS)
        member.in_flight -= 1
        self._routers[proxy].ended(member, seconds, now)
        self._record.answers.append((start, seconds, not member.is_local))
        self._record.seconds_in[self._zones[proxy]].append(seconds)

    def _enter(self, phase: Phase) -> None:
        counts = zip(ZONES, self._scenario.proxies, strict=True)
        self._failing = dict(phase.failing)
        facts = ZoneFacts(replicas=tuple((Zone(name), count) for name, count in counts))
        for site in self._sites:
            for zone, number, factor in phase.slow:
                if (site.zone, site.number) == (zone, number):
                    site.factors = (factor,)
            for zone, number, count in phase.lost:
                if (site.zone, site.number) == (zone, number):
                    site.slots = self._scenario.service.slots - count
        for fleet, router, zone in zip(self._fleets, self._routers, self._zones, strict=True):
            ready = {
                _endpoint(each.site): each for each in fleet if (each.site.zone, each.site.number) not in phase.down
            }
            router.place(ready, Surroundings(OwnZone(Zone(ZONES[zone]), "flag"), facts))


def _endpoint(site: Site) -> Endpoint:
    return Endpoint(address=f"10.0.{site.zone}.{site.number}", port=80, zone=Zone(ZONES[site.zone]))


def _utilisation(site: Site, scenario: Scenario) -> float:
    """Busy time by the time of its slots while it was ready; one that works on after the end was busy all the time."""
    place, available = (site.zone, site.number), 0.0
    for phase, seconds in scenario.spans():
        if place not in phase.down:
            lost = sum(count for *other, count in phase.lost if tuple(other) == place)
            available += seconds * (scenario.service.slots - lost)
    return min(1.0, site.busy_seconds / available)
