"""Computes from running totals which share of the requests of a Service comes in at which zone. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from balancer.model.zones import Zone, ZoneTraffic

# Rates are averaged over so many seconds.
_RATE_SECONDS: Final = 5.0
# With fewer requests a second in all zones together, shares are chance.
_RATE_LEAST: Final = 3.0
_WHOLE: Final = 10_000
# A change of a share by so many basis points is worth a new model.
_STEP: Final = 200


class Rates:
    """The requests a second of each Service at one replica."""

    __slots__ = ("_at", "_known", "_rates", "_totals")

    def __init__(self) -> None:
        self._at: float | None = None
        self._known: dict[str, float] = {}
        self._totals: dict[str, int] = {}
        self._rates: dict[str, float] = {}

    def learn(self, totals: Mapping[str, int], now: float) -> None:
        """Takes the running totals at `now`. A Service that is new begins without a rate."""
        elapsed = 0.0 if self._at is None else now - self._at
        if self._at is not None and elapsed <= 0.0:
            return
        for service in self._totals.keys() - totals.keys():
            del self._totals[service], self._rates[service], self._known[service]
        for service, total in totals.items():
            before = self._totals.get(service)
            if before is None or total < before:
                self._rates[service] = self._known[service] = 0.0
            else:
                # Until the window is full, the average is the mean of all that came.
                known = self._known[service] = self._known[service] + elapsed
                weight = max(-math.expm1(-elapsed / _RATE_SECONDS), elapsed / known)
                rate = self._rates[service]
                self._rates[service] = rate + weight * ((total - before) / elapsed - rate)
            self._totals[service] = total
        self._at = now

    def of(self, service: str) -> float | None:
        """Requests a second of a Service; None while that is unknown."""
        return self._rates[service] if self._known.get(service) else None


def traffic_by_zone(rates: Iterable[tuple[Zone, Rates]], services: Iterable[str]) -> dict[str, ZoneTraffic]:
    """Which share of the requests of each of `services` comes in at which zone, in basis points, sorted by zone.

    `rates` are those of all replicas, with their zones. A zone with a replica has at least one basis point. A Service
    with too few requests is left out, and so is one whose requests at some replica are unknown.
    """
    by_replica = list(rates)
    found: dict[str, ZoneTraffic] = {}
    for service in services:
        known = [(zone, rate) for zone, its_rates in by_replica if (rate := its_rates.of(service)) is not None]
        sums: dict[Zone, float] = {}
        for zone, rate in known:
            sums[zone] = sums.get(zone, 0.0) + rate
        whole = sum(sums.values())
        if whole >= _RATE_LEAST and len(known) == len(by_replica):
            found[service] = tuple(sorted((zone, max(1, round(_WHOLE * rate / whole))) for zone, rate in sums.items()))
    return found


def differs(before: Mapping[str, ZoneTraffic], after: Mapping[str, ZoneTraffic]) -> bool:
    """Whether `after` is worth a new model: another Service or zone, or a share that has moved by two points."""
    if before.keys() != after.keys():
        return True
    return any(_has_moved(dict(before[service]), dict(shares)) for service, shares in after.items())


def _has_moved(before: dict[Zone, int], after: dict[Zone, int]) -> bool:
    return before.keys() != after.keys() or any(abs(after[zone] - share) >= _STEP for zone, share in before.items())
