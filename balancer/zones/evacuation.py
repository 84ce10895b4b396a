"""Decides which zones requests of one backend leave because their answers fail, and how many requests leave.

A zone is left if a larger share of its answers fails than of other zones, for the same backend at the same time. If all
are alike, nobody leaves. Where other zones get no requests, a few requests go there to compare. All workers of a
replica decide by what they know together (`judged.py`). Does not know endpoints or randomness; time is an argument, in
seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import Enum
from typing import Final, NamedTuple

from balancer.runtime.absences import NEVER_ABSENT, Absences
from balancer.sharing.peers import NO_OTHERS, Others
from balancer.sharing.zone_peers import zone_key
from balancer.zones.departure import DepartureStep
from balancer.zones.failures import FailureCount, FailureWindow, total
from balancer.zones.judged import Beginning, JudgedZone
from balancer.zones.strain import Average
from balancer.zones.weighing import Weighing

# Shares are reconsidered this often while answers come.
_TICK_SECONDS = 0.1
# Without a failure for so long, and if nothing leaves, nothing is counted until the next failure.
_CALM_SECONDS = 30.0
# While the own loop misses this share of the last second, how long answers take says nothing about zones.
_LATE_SHARE, _LATE_SECONDS = 0.2, 1.0

_UNJUDGED: Final[dict[str, JudgedZone]] = {}  # one for all backends: the zones of a backend are replaced, not added to


class ZoneTurn(Enum):
    """What changed about a zone. `BEGUN`: requests begin to leave it. `ENDED`: all are back."""

    BEGUN = "begun"
    ENDED = "ended"


class ZoneChange(NamedTuple):
    """A zone is left, or no longer, with the figures that decided. `seconds` is how long requests left it."""

    zone: str
    turn: ZoneTurn
    own: FailureCount
    others: FailureCount
    seconds: float = 0.0


class ZoneState(NamedTuple):
    """What is known about a zone now.

    `share` of the requests avoids the zone. `seconds` is how long requests have left it, or how long the step has
    lasted. `begun` is what decided; None if the zone is not left.
    """

    zone: str
    step: DepartureStep
    share: float
    own: FailureCount
    others: FailureCount
    seconds: float
    begun: ZoneChange | None = None


ZONES_MOST: Final = 16
"""Each zone is compared with all others, so what a look costs grows with the square. No region of a cloud has more than
seven zones; an EndpointSlice may name thousands."""


class Evacuation:
    """The zones of one backend, as one worker sees them. Nothing is counted while nothing fails (`is_awake`).

    `left` are basis points by zone: of 10,000 requests so many avoid the zone. It is empty while no zone is left, and
    always the same object. `version` grows with each change of it. `is_on`: some policy of the backend obeys.
    """

    __slots__ = (
        "_absences",
        "_at",
        "_failed_at",
        "_key",
        "_leaving",
        "_names",
        "_news",
        "_sharing",
        "_zones",
        "is_awake",
        "is_on",
        "left",
        "version",
    )

    def __init__(self, key: str = "", others: Others = NO_OTHERS, absences: Absences = NEVER_ABSENT) -> None:
        """`key` names the backend for the `others`. `absences` are those of the loop."""
        self._absences = absences
        self._key = key
        self._sharing = others
        self._names: tuple[str, ...] = ()
        self._leaving: Collection[str] = ()
        self._zones = _UNJUDGED
        self._news: tuple[ZoneChange, ...] = ()
        self._at = 0.0
        self._failed_at = 0.0
        self.is_awake = False
        self.is_on = False
        self.left: dict[str, int] = {}
        self.version = 0

    def ended(self, zone: str, *, failed: bool, seconds: float, now: float, client: bytes = b"") -> None:
        """Learns that an attempt on `zone` for a client ended after `seconds`; only while awake, or if it failed."""
        if not self.is_on:
            return
        if failed:
            self._failed_at = now
            if not self.is_awake:
                self._wake(now)
        seen = self._zones.get(zone)
        if seen is None:
            return  # its last endpoint has left
        seen.note(failed=failed, seconds=seconds, place=self._sharing.place_of(client), client=client, now=now)
        if now - self._at >= _TICK_SECONDS:
            self._tick(now)

    def news(self) -> ZoneChange | None:
        """The oldest change that was not told yet."""
        if not self._news:
            return None
        oldest, *rest = self._news
        self._news = tuple(rest)
        return oldest

    def follow(self, zones: Iterable[str], *, leaving: Collection[str] = ()) -> None:
        """The endpoints are in these `zones` from now on. What was known of other zones is forgotten. Without zones
        nothing is judged, and with more than `ZONES_MOST` neither. Of zones that are said to be `leaving`, less
        evidence is enough.
        """
        names = frozenset(zones)
        self._names = tuple(sorted(names)) if len(names) <= ZONES_MOST else ()
        self._leaving = leaving
        self.is_on = len(self._names) > 1
        if self._zones:
            self._judge_those_named()
        if not self._zones:
            self.is_awake = False  # so that the next failure begins to count anew
        if self.left:
            self._show()

    def states(self, now: float) -> tuple[ZoneState, ...]:
        """Every zone that is judged, sorted; nothing while nothing fails."""
        if not self.is_awake:
            return ()
        return tuple(self._state(name, zone, now) for name, zone in self._zones.items())

    def _judge_those_named(self) -> None:
        """Only while something fails, or after: the endpoints of most backends never do."""
        before = self._zones
        self._zones = {name: before.get(name) or self._judged(name) for name in self._names}
        for name, zone in self._zones.items():
            zone.is_leaving = name in self._leaving

    def _judged(self, zone: str) -> JudgedZone:
        return JudgedZone(self._sharing.zone_peers_of(zone_key(self._key, zone)))

    def _state(self, name: str, zone: JudgedZone, now: float) -> ZoneState:
        departure = zone.departure
        seconds = now - (zone.begun.at if departure.is_leaving else departure.since)
        begun = _told(name, zone.begun) if departure.is_leaving else None
        return ZoneState(name, departure.step, departure.share, zone.window.lately, self._others(name), seconds, begun)

    def _wake(self, now: float) -> None:
        """What came before is not known, so counting begins with this failure, and with what other workers know."""
        self.is_awake = True
        self._at = now
        self._judge_those_named()
        for zone in self._zones.values():
            zone.wake(now)
        for name, zone in self._zones.items():
            self._take_over(name, zone, now)
        self._show()

    def _tick(self, now: float) -> None:
        elapsed = now - self._at
        self._at = now
        is_late = self._absences.missed(now - _LATE_SECONDS, now) > _LATE_SHARE * _LATE_SECONDS
        for zone in self._zones.values():
            zone.pass_time(elapsed, now, is_late=is_late)
        for name, zone in self._zones.items():
            if not self._take_over(name, zone, now):
                self._judge(name, zone, now)
            zone.tell(now)
        self._show()
        self.is_awake = bool(self.left) or now - self._failed_at < _CALM_SECONDS

    def _take_over(self, name: str, zone: JudgedZone, now: float) -> bool:
        """Takes over the step of another worker, if there is a newer one than the own."""
        if not zone.takes_over(now):
            return False
        for each in self._receiving(name):
            each.latency = Average()
        return True

    def _judge(self, name: str, zone: JudgedZone, now: float) -> None:
        departure, others = zone.departure, self._receiving(name)
        was_leaving, weighing = departure.is_leaving, Weighing(zone.window, others, is_leaving=zone.is_leaving)
        if not departure.judge(weighing, now):
            return
        zone.window.restart()
        for each in others:
            each.latency = Average()
        if departure.is_leaving and not was_leaving:
            zone.begun = Beginning(now, weighing.mine, weighing.theirs)
            self._news += (_told(name, zone.begun),)
        elif was_leaving and not departure.is_leaving:
            self._news += (ZoneChange(name, ZoneTurn.ENDED, weighing.mine, weighing.theirs, now - zone.begun.at),)

    def _receiving(self, name: str) -> tuple[FailureWindow, ...]:
        """The zones where requests go that leave `name`: all that are not left themselves."""
        return tuple(
            zone.window for other, zone in self._zones.items() if other != name and not zone.departure.is_leaving
        )

    def _others(self, name: str) -> FailureCount:
        return total(window.lately for window in self._receiving(name))

    def _show(self) -> None:
        left = {name: points for name, zone in self._zones.items() if (points := zone.departure.basis_points)}
        if len(left) == len(self._zones) > 0:
            del left[min(left, key=lambda name: left[name])]  # until the next look: some zone is always open
        if left != self.left:
            self.left.clear()
            self.left.update(left)
            self.version += 1


def _told(zone: str, begun: Beginning) -> ZoneChange:
    return ZoneChange(zone, ZoneTurn.BEGUN, begun.own, begun.others)
