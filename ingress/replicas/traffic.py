"""Computes from running totals which share of the requests of a Service comes in at which zone. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import compress, repeat
from operator import add, gt, lt, mul, sub
from typing import Final

from balancer.model.zones import Zone, ZoneTraffic

# Rates are averaged over so many seconds.
_RATE_SECONDS: Final = 5.0
# With fewer requests a second in all zones together, shares are chance.
_RATE_LEAST: Final = 3.0
_WHOLE: Final = 10_000
# A change of a share by so many basis points is worth a new model.
_STEP: Final = 200
# A rate has moved if it is higher or lower by such a part of what it was, and by so many standard errors: the rates of
# hundreds of Services have moved by chance alone otherwise.
_HIGHER, _LOWER, _ERRORS = 1 / 4, 1 / 6, 4.0


class Rates:
    """The requests a second of each Service at one replica. `known` has those that are known.

    `edition` is another number whenever one of them has moved since the edition before, or another Service is known.
    """

    __slots__ = ("_at", "_seconds", "_totals", "_unmoved", "_young_seconds", "edition", "known")

    def __init__(self) -> None:
        self.edition = 0
        self._at: float | None = None
        self._unmoved = _Unmoved({})
        self._seconds: dict[str, float] = {}  # for which each of `known` is known
        self._young_seconds = 0.0  # the fewest of them
        self._totals: dict[str, int] = {}
        self.known: dict[str, float] = {}

    def learn(self, totals: Mapping[str, int], now: float) -> None:
        """Takes the running totals at `now`. A Service that is new begins without a rate."""
        elapsed = 0.0 if self._at is None else now - self._at
        if self._at is not None and elapsed <= 0.0:
            return
        news = [*map(sub, totals.values(), map(self._totals.get, totals, totals.values()))]
        weight = -math.expm1(-elapsed / _RATE_SECONDS)
        if self._young_seconds >= _RATE_SECONDS and [*totals] == [*self.known] and min(news) >= 0:  # nearly always
            kept = map(mul, self.known.values(), repeat(1.0 - weight))
            gained = map(mul, news, repeat(weight / elapsed))
            self.known = dict(zip(totals, map(add, kept, gained), strict=True))
            self._young_seconds += elapsed
        else:
            self._learn_each(zip(totals, news, strict=True), elapsed, weight)
        self._totals = dict(totals)
        self._at = now
        if not self._unmoved.hold(self.known):
            self._unmoved = _Unmoved(self.known)
            self.edition += 1

    def _learn_each(self, news: Iterable[tuple[str, int]], elapsed: float, weight: float) -> None:
        """Learns about Services of which some are new. Until the window is full, the average is the mean of all that
        came.
        """
        before, rates = self._totals, self.known
        seconds = {service: max(each, self._young_seconds) for service, each in self._seconds.items()}
        self.known = {
            service: (rate := rates.get(service, 0.0))
            + max(weight, elapsed / (seconds.get(service, 0.0) + elapsed)) * (new / elapsed - rate)
            for service, new in news
            if new >= 0 and service in before
        }
        self._seconds = {service: seconds.get(service, 0.0) + elapsed for service in self.known}
        self._young_seconds = min(self._seconds.values(), default=0.0)

    def of(self, service: str) -> float | None:
        """Requests a second of a Service; None while that is unknown."""
        return self.known.get(service)


class _Unmoved:
    """Between what rates these ones have not moved."""

    __slots__ = ("_highest", "_lowest", "_services")

    def __init__(self, rates: Mapping[str, float]) -> None:
        errors = [_ERRORS * math.sqrt((rate + 1.0) / _RATE_SECONDS) for rate in rates.values()]
        self._services = [*rates]
        self._highest = [rate + max(_HIGHER * rate, error) for rate, error in zip(rates.values(), errors, strict=True)]
        self._lowest = [rate - max(_LOWER * rate, error) for rate, error in zip(rates.values(), errors, strict=True)]

    def hold(self, rates: Mapping[str, float]) -> bool:
        """Whether these are rates of the same Services, and none has moved."""
        if [*rates] != self._services:
            return False
        told = rates.values()
        return not (any(map(gt, told, self._highest)) or any(map(lt, told, self._lowest)))


def traffic_by_zone(rates: Iterable[tuple[Zone, Rates]], services: Iterable[str]) -> dict[str, ZoneTraffic]:
    """Which share of the requests of each of `services` comes in at which zone, in basis points, sorted by zone.

    `rates` are those of all replicas, with their zones. A zone with a replica has at least one basis point. A Service
    with too few requests is left out, and so is one whose requests at some replica are unknown.
    """
    by_zone: dict[Zone, list[dict[str, float]]] = {}
    for zone, each in rates:
        by_zone.setdefault(zone, []).append(each.known)
    if not by_zone:
        return {}
    told = sorted(frozenset(services).intersection(*(known for replicas in by_zone.values() for known in replicas)))
    columns = {
        zone: [*map(sum, zip(*(map(known.__getitem__, told) for known in replicas), strict=True))]
        for zone, replicas in sorted(by_zone.items())
    }
    whole = [*map(sum, zip(*columns.values(), strict=True))]
    are_known = [each >= _RATE_LEAST for each in whole]
    by = [_WHOLE / each for each in compress(whole, are_known)]
    parts = [
        zip(repeat(zone), map(max, map(round, map(mul, compress(column, are_known), by)), repeat(1)), strict=False)
        for zone, column in columns.items()
    ]
    return dict(zip(compress(told, are_known), zip(*parts, strict=True), strict=True))


def differs(before: Mapping[str, ZoneTraffic], after: Mapping[str, ZoneTraffic]) -> bool:
    """Whether `after` is worth a new model: another Service or zone, or a share that has moved by two points."""
    if before.keys() != after.keys():
        return True
    return any(shares != before[service] and _has_moved(before[service], shares) for service, shares in after.items())


def _has_moved(before: ZoneTraffic, after: ZoneTraffic) -> bool:
    """Both are sorted by zone."""
    if len(before) != len(after):
        return True
    for (zone, share), (its_zone, its_share) in zip(before, after, strict=True):
        if zone != its_zone or abs(share - its_share) >= _STEP:
            return True
    return False
