"""Decides which endpoints are silent: a connection to one is pending for long, and others have been heard meanwhile.

Relative evidence only. If nobody answers, nobody is silent. A silent endpoint is ejected at once, within the bound of
ejections, and is back as soon as a connection to it is made. Time in which the own loop did not turn does not count.
Does not know sockets, requests or retries. Time is an argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from typing import Final

from balancer.model.zones import Zone
from balancer.picking.ejections import Cause, Ejected
from balancer.picking.endpoint_health import Change
from balancer.picking.health import BackendHealth
from balancer.picking.members import Member
from balancer.picking.outcomes import Outcome
from balancer.runtime.absences import NEVER_ABSENT, Absences

UNKNOWN_SECONDS: Final = 1.0
"""How long a request waits for a connection before it is known how long connections of its backend take."""

LEAST_SECONDS: Final = 0.25
"""A pending connect of less is no evidence. Ten times what a connect takes between regions of a continent."""

ZONE_LEAST_SECONDS: Final = 0.05
"""The least of a pending connect to an endpoint whose zone has another silent endpoint."""

ZONE_SECONDS: Final = 10.0
"""After so long without news, a silent endpoint says nothing about its zone any more."""

_USUAL_TIMES = 4.0
_SLOW_TIMES = 2.0  # of connects that usually take longer than half a second
_WEIGHT = 1 / 8  # of a new connect in the average, as in TCP's estimate of round trips (RFC 6298 2.3)

_WHY: Final = Ejected(Cause.SILENCE)
_NEVER: Final = float("-inf")

Told = tuple[tuple[Member, Change], ...]
"""What has changed about which members."""


class _Pending:
    """The pending connects of one member: when each began, and when the member was heard last."""

    __slots__ = ("began", "heard_at")

    def __init__(self) -> None:
        self.began: list[float] = []
        self.heard_at = _NEVER


# For all backends without any: what one keeps is replaced, and only its own is changed.
_NOBODY: Final[dict[Member, _Pending]] = {}
_NOWHERE: Final[dict[Zone, float]] = {}


class BackendSilence:
    """What one worker has learned from the connects of one backend. Outlives changes of the backend."""

    __slots__ = (
        "_absences",
        "_health",
        "_last_at",
        "_last_from",
        "_other_at",
        "_pending",
        "_usual_seconds",
        "_zones",
        "_zones_heard",
    )

    def __init__(self, health: BackendHealth, absences: Absences = NEVER_ABSENT) -> None:
        self._absences = absences
        self._health = health
        self._pending = _NOBODY
        self._usual_seconds: float | None = None
        self._last_from: Member | None = None  # who was heard last, and when the last other one was
        self._last_at = _NEVER
        self._other_at = _NEVER
        self._zones = _NOWHERE  # where an endpoint was silent, and when that was seen
        self._zones_heard = _NOWHERE

    def patience(self, member: Member, now: float) -> float:
        """The seconds that a request waits for a connection to `member` before it looks for another endpoint.

        At most a second, unless connects of the backend usually take longer than half a second.
        """
        usual = self._usual_seconds
        if usual is None:
            return UNKNOWN_SECONDS
        least = ZONE_LEAST_SECONDS if self._is_suspect(member.endpoint.zone, now) else LEAST_SECONDS
        return max(least, min(_USUAL_TIMES * usual, UNKNOWN_SECONDS), _SLOW_TIMES * usual)

    def began(self, member: Member, now: float) -> None:
        """A connect to `member` begins."""
        pending = self._pending.get(member)
        if pending is None:
            pending = _Pending()
            self._pending = self._pending or {}
            self._pending[member] = pending
        pending.began.append(now)

    def ended(self, member: Member, began: float) -> None:
        """The connect that had begun at `began` is over, however it ended."""
        pending = self._pending[member]
        pending.began.remove(began)
        if not pending.began:
            del self._pending[member]

    def is_oldest(self, member: Member, began: float) -> bool:
        """Whether no connect to `member` is pending for longer than the one that began at `began`."""
        pending = self._pending.get(member)
        return pending is None or min(pending.began) >= began

    def connected(self, member: Member, seconds: float, now: float) -> Told:
        """Learns that a connection to `member` was made in `seconds`. Returns what that changes."""
        usual = self._usual_seconds
        self._usual_seconds = seconds if usual is None else usual + (seconds - usual) * _WEIGHT
        return (*self._back(member, now), *self.heard(member, now))

    def heard(self, member: Member, now: float) -> Told:
        """Learns that `member` has answered. Returns which other members are silent by comparison."""
        if member is not self._last_from:
            self._last_from = member
            self._other_at = self._last_at
        self._last_at = now
        zone = member.endpoint.zone
        if zone is not None:
            if zone in self._zones:
                del self._zones[zone]
            self._zones_heard = self._zones_heard or {}
            self._zones_heard[zone] = now
        if not self._pending:
            return ()
        if (own := self._pending.get(member)) is not None:
            own.heard_at = now
        return self.judge(now)

    def judge(self, now: float) -> Told:
        """Ejects the members that are silent at `now`, as far as the backend's rules allow. Returns them."""
        told: list[tuple[Member, Change]] = []
        silent = self._silent(now)
        for member in silent:
            # Requests leave a silent member also where it cannot be ejected: it has left the backend, or too many are.
            member.is_silent = self._health.is_on
            if self._health.eject(member.health, now, _WHY):
                told.append((member, Change.FELL_SILENT))
        return tuple(told)

    def _silent(self, now: float) -> list[Member]:
        """Looks again when a zone has become suspect, because less is enough there."""
        while True:
            silent = [member for member, pending in self._pending.items() if self._is_silent(member, pending, now)]
            zones = {each.endpoint.zone for each in silent if self._speaks_for_zone(each)}
            fresh = [zone for zone in zones if not self._is_suspect(zone, now)]
            self._zones = self._zones or {}
            self._zones.update((zone, now) for zone in zones if zone is not None)
            if not fresh:
                return silent

    def _speaks_for_zone(self, member: Member) -> bool:
        """Whether nobody in the zone of a silent member was heard since its connect began."""
        zone = member.endpoint.zone
        if zone is None:
            return False
        return min(self._pending[member].began) > self._zones_heard.get(zone, _NEVER)

    def _is_silent(self, member: Member, pending: _Pending, now: float) -> bool:
        oldest = min(pending.began)
        others_at = self._other_at if self._last_from is member else self._last_at
        seconds = self._absences.attended(oldest, now)
        return seconds >= self.patience(member, now) and others_at > oldest > pending.heard_at

    def _back(self, member: Member, now: float) -> Told:
        if not member.is_silent:
            return ()
        member.is_silent = False
        why = member.health.why
        if why is None or why.cause is not Cause.SILENCE:
            return ()
        change = self._health.report(member.health, Outcome.ANSWERED, now, True)
        return ((member, Change.HEARD),) if change is Change.RETURNED else ()

    def _is_suspect(self, zone: Zone | None, now: float) -> bool:
        return zone is not None and now - self._zones.get(zone, _NEVER) < ZONE_SECONDS
