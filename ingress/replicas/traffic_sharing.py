"""Makes `proportional` divide by where requests come in at all replicas. No I/O, no clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from balancer.model.publication import RoutingModel
from balancer.model.zones import Zone, ZonePolicyName, ZoneTraffic
from ingress.replicas.messages import Picks
from ingress.replicas.recent import remembered
from ingress.replicas.traffic import Rates, differs, traffic_by_zone

# How often own counters are read and shares are computed.
_LEARN_SECONDS: Final = 1.0
# Between two models because of others' traffic.
_PUBLISH_SECONDS: Final = 2.0
# Rates that have not moved change shares little by little.
_UNMOVED_SECONDS: Final = 5.0
# The first shares wait so long at most for replicas whose rates are not known yet.
_FIRST_SECONDS: Final = 5.0

TotalsOf = Callable[[frozenset[str]], Mapping[str, int]]
"""The requests of these Services so far, at this replica."""
UseTraffic = Callable[[tuple[tuple[str, ZoneTraffic], ...]], None]
"""Makes the requests by zone count."""


class TrafficSharing:
    """The requests of Services under `proportional`, here and at others. `picks` is what is told of them.

    `edition` is another number whenever a rate here has moved, so that others shall hear it early.
    """

    __slots__ = (
        "_editions",
        "_heard",
        "_judged_at",
        "_learned_at",
        "_own",
        "_rates",
        "_services",
        "_totals_of",
        "_use",
        "_used",
        "_waits_until",
        "picks",
    )

    def __init__(self, totals_of: TotalsOf, use: UseTraffic) -> None:
        self._totals_of = totals_of
        self._use = use
        self._services: frozenset[str] = frozenset()
        self._own = Rates()
        self._rates = dict[str, Rates]()
        self._heard: dict[str, tuple[Mapping[str, int], float]] = {}
        self._editions: Mapping[str, int] = {}  # of the rates by which shares were computed last
        self._used: dict[str, ZoneTraffic] = {}
        self._waits_until: float | None = None
        self._judged_at = float("-inf")
        self._learned_at = float("-inf")
        self.picks: dict[str, Picks] = {}

    @property
    def edition(self) -> int:
        """The edition of the own rates."""
        return self._own.edition

    def follow(self, model: RoutingModel) -> None:
        """These Services are shared from now on."""
        self._services = remembered(services_by_traffic(model))

    def hear(self, identity: str, totals: Mapping[str, int], now: float) -> None:
        """Takes the totals of another replica, which the next turn learns from."""
        self._heard[identity] = (totals, now)

    def turn(self, now: float, *, up: Mapping[str, str], own_zone: str) -> None:
        """Learns, and makes shares count. `up` are the zones of replicas that are up, by their identities."""
        if now - self._learned_at < _LEARN_SECONDS:
            return
        self._learned_at = now
        totals = self._totals_of(self._services)
        self.picks = {service: Picks(service, total) for service, total in totals.items()}
        self._own.learn(totals, now)
        for identity, (others, heard_at) in self._heard.items():
            self._rates.setdefault(identity, Rates()).learn(others, heard_at)
        self._heard.clear()
        self._rates = {identity: rates for identity, rates in self._rates.items() if identity in up}
        editions = {identity: rates.edition for identity, rates in self._rates.items()} | {"": self._own.edition}
        since = now - self._judged_at
        if since >= _UNMOVED_SECONDS or (since >= _PUBLISH_SECONDS and editions != self._editions):
            self._judged_at = now
            self._editions = editions
            self._publish(traffic_by_zone(self._everybody(up, own_zone, now), self._services))

    def end(self) -> None:
        """Requests of others count no more."""
        self._heard.clear()
        self._publish({})

    def _everybody(self, up: Mapping[str, str], own_zone: str, now: float) -> list[tuple[Zone, Rates]]:
        """The replicas by whose requests shares are computed; none: by none.

        A replica that has just come is left out until its rates are known, so one that starts anew again and again
        makes nobody forget the requests of the others.
        """
        known = [(Zone(up[each]), rates) for each, rates in self._rates.items() if up[each] and rates.services]
        if self._used or len(known) == sum(map(bool, up.values())):
            self._waits_until = None
        elif self._waits_until is None:
            self._waits_until = now + _FIRST_SECONDS
        waits = self._waits_until is not None and now < self._waits_until
        return [(Zone(own_zone), self._own), *known] if known and own_zone and not waits else []

    def _publish(self, traffic: dict[str, ZoneTraffic]) -> None:
        if not differs(self._used, traffic):
            return
        self._used = traffic
        self._use(tuple(sorted(traffic.items())))


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
