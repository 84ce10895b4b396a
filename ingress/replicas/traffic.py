"""Computes from running totals which share of the requests of a Service comes in at which zone. No I/O, no clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from itertools import compress, repeat
from operator import sub
from typing import Final

from balancer.model.zones import Zone, ZoneTraffic
from balancer.sharing.sums import Column, added, divided, is_between, lowest, nearer, scaled

# Rates are averaged over so many seconds.
_RATE_SECONDS: Final = 5.0
# With fewer requests a second in all zones together, shares are chance.
_RATE_LEAST: Final = 3.0
_WHOLE: Final = 10_000.0
# A change of a share by so many basis points is worth a new model.
_STEP: Final = 200
# A rate has moved if it is higher or lower by such a part of what it was, and by so many standard errors: the rates of
# hundreds of Services have moved by chance alone otherwise.
_HIGHER, _LOWER, _ERRORS = 1 / 4, 1 / 6, 4.0


class Rates:
    """The requests a second at one replica, by Service: those of `services`, which are sorted, stand in `column`.

    `edition` grows whenever a rate has moved since the edition before, or another Service is known.
    """

    __slots__ = ("_at", "_seconds", "_totals", "_unmoved", "_young_seconds", "column", "edition", "services")

    def __init__(self) -> None:
        self.edition = 0
        self._at: float | None = None
        self._unmoved = _Unmoved((), ())
        self._seconds: dict[str, float] = {}  # for which each of `services` is known
        self._young_seconds = 0.0  # the fewest of them
        self._totals: dict[str, int] = {}
        self.services: tuple[str, ...] = ()
        self.column: Column = ()

    def learn(self, totals: Mapping[str, int], now: float) -> None:
        """Takes the running totals at `now`. A Service that is new begins without a rate."""
        elapsed = 0.0 if self._at is None else now - self._at
        if self._at is not None and elapsed <= 0.0:
            return
        weight = -math.expm1(-elapsed / _RATE_SECONDS)
        news = self._news_of_all(totals) if self._young_seconds >= _RATE_SECONDS else None
        if news is not None:  # nearly always
            self.column = nearer(self.column, scaled(news, 1.0 / elapsed), weight)
            self._young_seconds += elapsed
        else:
            self._learn_each(totals, elapsed, weight)
        self._totals = dict(totals)
        self._at = now
        if not self._unmoved.hold(self.services, self.column):
            self._unmoved = _Unmoved(self.services, self.column)
            self.edition += 1

    def _news_of_all(self, totals: Mapping[str, int]) -> Column | None:
        """How much the total of each Service has grown; None if the Services are others, or a total has fallen."""
        if len(totals) != len(self.services) or len(totals) != len(self._totals):
            return None
        after = [*map(totals.get, self.services)]
        before = [*map(self._totals.get, self.services)]
        if None in after or None in before:
            return None
        news = [*map(sub, after, before)]
        return news if lowest(news) >= 0.0 else None

    def _learn_each(self, totals: Mapping[str, int], elapsed: float, weight: float) -> None:
        """Learns about Services of which some are new. Until the window is full, the average is the mean of all that
        came.
        """
        before, rates = self._totals, self.known
        seconds = {service: max(each, self._young_seconds) for service, each in self._seconds.items()}
        known = {
            service: (rate := rates.get(service, 0.0))
            + max(weight, elapsed / (seconds.get(service, 0.0) + elapsed)) * (new / elapsed - rate)
            for service in sorted(totals)
            if service in before and (new := totals[service] - before[service]) >= 0
        }
        self.services = tuple(known)
        self.column = [*known.values()]
        self._seconds = {service: seconds.get(service, 0.0) + elapsed for service in known}
        self._young_seconds = min(self._seconds.values(), default=0.0)

    @property
    def known(self) -> dict[str, float]:
        """The rates by Service."""
        return dict(zip(self.services, self.column, strict=True))

    def of(self, service: str) -> float | None:
        """Requests a second of a Service; None while that is unknown."""
        return self.known.get(service)


class _Unmoved:
    """The bounds around rates within which a rate counts as not moved."""

    __slots__ = ("_highest", "_lowest", "_services")

    def __init__(self, services: tuple[str, ...], rates: Column) -> None:
        errors = [_ERRORS * math.sqrt((rate + 1.0) / _RATE_SECONDS) for rate in rates]
        self._services = services
        self._highest = [rate + max(_HIGHER * rate, error) for rate, error in zip(rates, errors, strict=True)]
        self._lowest = [rate - max(_LOWER * rate, error) for rate, error in zip(rates, errors, strict=True)]

    def hold(self, services: tuple[str, ...], rates: Column) -> bool:
        """Whether these rates are of the same Services, and each is within its bounds."""
        return services == self._services and is_between(rates, self._lowest, self._highest)


def traffic_by_zone(rates: Iterable[tuple[Zone, Rates]], services: Iterable[str]) -> dict[str, ZoneTraffic]:
    """Which share of the requests of each of `services` comes in at which zone, in basis points, sorted by zone.

    `rates` are those of all replicas, with their zones. A zone with a replica has at least one basis point. A Service
    with too few requests is left out, and so is one whose requests at some replica are unknown.
    """
    by_zone: dict[Zone, list[Rates]] = {}
    for zone, each in rates:
        by_zone.setdefault(zone, []).append(each)
    everybody = [each for replicas in by_zone.values() for each in replicas]
    told = _known_to_all(everybody, frozenset(services))
    if not told:
        return {}
    columns = {
        zone: reduce(added, (_of(each, told) for each in replicas)) for zone, replicas in sorted(by_zone.items())
    }
    whole = reduce(added, columns.values())
    if lowest(whole) < _RATE_LEAST:
        are_known = [each >= _RATE_LEAST for each in whole]
        told = tuple(compress(told, are_known))
        columns = {zone: [*compress(column, are_known)] for zone, column in columns.items()}
        whole = [*compress(whole, are_known)]
    parts = [
        zip(repeat(zone), map(max, map(round, scaled(divided(column, whole), _WHOLE)), repeat(1)), strict=False)
        for zone, column in columns.items()
    ]
    return dict(zip(told, zip(*parts, strict=True), strict=True))


def _known_to_all(rates: Sequence[Rates], services: frozenset[str]) -> tuple[str, ...]:
    """The `services` of which all know rates, sorted."""
    known = rates[0].services if rates else ()
    if all(each.services == known for each in rates) and services.issuperset(known):
        return known  # nearly always
    return tuple(sorted(services.intersection(*(each.services for each in rates))))


def _of(rates: Rates, services: tuple[str, ...]) -> Column:
    if rates.services == services:
        return rates.column
    return [*map(rates.known.__getitem__, services)]


def differs(before: Mapping[str, ZoneTraffic], after: Mapping[str, ZoneTraffic]) -> bool:
    """Whether `after` is worth a new model: another Service or zone, or a share that has moved by two points."""
    if before.keys() != after.keys():
        return True
    return any(shares != before[service] and _has_moved(before[service], shares) for service, shares in after.items())


def _has_moved(before: ZoneTraffic, after: ZoneTraffic) -> bool:
    """Whether a zone has come or gone, or a share has moved by a step. Both are sorted by zone."""
    if len(before) != len(after):
        return True
    for (zone, share), (its_zone, its_share) in zip(before, after, strict=True):
        if zone != its_zone or abs(share - its_share) >= _STEP:
            return True
    return False
