"""Decides which zones are sick for the fleet: those in which many backends are left by replicas that agree. No I/O.

A zone of a backend counts as sick if half of the replicas in that zone leave it, or replicas of two other zones. What a
single replica of another zone sees may be its link. Such a zone is no proof for a backend: less evidence is enough to
leave it there.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from balancer.model.publication import RoutingModel
from balancer.model.zones import UNKNOWN_ZONE, Zone
from ingress.replicas.messages import LEFT_MOST, LeftRow
from ingress.replicas.recent import namespace_of
from ingress.translation.sharing import fairly_first

# So many backends of a zone must be sick there, and never fewer than two.
_SICK_PART: Final = 0.3
_SICK_LEAST: Final = 2
# A zone that is sick stays so until fewer than this part is, so that it does not begin and end with each backend.
_WELL_PART: Final = 0.15
_OTHER_ZONES: Final = 2

LeftZone = tuple[str, str]
"""A backend, and the zone that requests leave there."""


class LeavingView(NamedTuple):
    """In which zone a replica runs, and what it leaves."""

    zone: str
    left: Collection[LeftZone]


class ZoneEvent(NamedTuple):
    """A zone that is sick for the fleet: how many of its backends are left there, of how many that could be."""

    zone: str
    sick: int
    backends: int


class ZoneEvents:
    """The zones that are sick now (`events`). `rows` is what is told of the own replica."""

    __slots__ = ("_backends", "events", "rows")

    def __init__(self) -> None:
        self._backends: Mapping[str, int] = {}
        self.events: tuple[ZoneEvent, ...] = ()
        self.rows: tuple[LeftRow, ...] = ()

    def follow(self, model: RoutingModel) -> None:
        """Knows how many backends have endpoints in each zone, and in another one, so that the zone can be left."""
        counts = Counter[str]()
        for backend in model.backends:
            zones = {endpoint.zone or UNKNOWN_ZONE for endpoint in backend.endpoints}
            if len(zones) > 1:
                counts.update(zones - {UNKNOWN_ZONE})
        self._backends = counts

    def turn(self, own: LeavingView, others: Sequence[LeavingView]) -> None:
        """Takes what this replica leaves, and what others do."""
        if not own.left and not self.rows and not self.events and not any(each.left for each in others):
            return  # nearly always
        told = fairly_first(sorted(own.left), LEFT_MOST, lambda place: namespace_of(place[0]))
        self.rows = tuple(LeftRow(*place) for place in told)
        sick = Counter(zone for _, zone in _agreed((own, *others)))
        before = {event.zone for event in self.events}
        self.events = tuple(
            ZoneEvent(zone, sick[zone], count)
            for zone, count in sorted(self._backends.items())
            if sick[zone] >= _enough(count, is_sick=zone in before)
        )

    @property
    def zones(self) -> tuple[Zone, ...]:
        """The zones that are sick, sorted."""
        return tuple(Zone(event.zone) for event in self.events)


def _enough(backends: int, *, is_sick: bool) -> int:
    part = _WELL_PART if is_sick else _SICK_PART
    return max(1 if is_sick else _SICK_LEAST, math.ceil(part * backends))


def _agreed(views: Iterable[LeavingView]) -> set[LeftZone]:
    """What the replicas agree about."""
    known = [view for view in views if view.zone]
    in_zone = Counter(view.zone for view in known)
    inside, outside = Counter[LeftZone](), dict[LeftZone, set[str]]()
    for view in known:
        for place in view.left:
            if place[1] == view.zone:
                inside[place] += 1
            else:
                outside.setdefault(place, set()).add(view.zone)
    return {place for place, count in inside.items() if 2 * count >= in_zone[place[1]]} | {
        place for place, zones in outside.items() if len(zones) >= _OTHER_ZONES
    }
