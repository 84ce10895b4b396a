"""Decides which endpoints are silent: a connection to one is pending for long, and others have been heard meanwhile.

Relative evidence only. If nobody answers, nobody is silent. An endpoint that answers requests on other connections is
not silent either. A silent endpoint is ejected at once, within the bound of ejections, and is back as soon as a
connection to it is made. Time in which the own loop did not turn does not count. Does not know sockets, requests or
retries. Time is an argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from heapq import nlargest
from typing import Final, NamedTuple

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

HEARD_SECONDS: Final = 0.24
"""Who was heard within so many seconds is there. Less than `LEAST_SECONDS`, so that what came before a connect began,
maybe from the same machine, does not count when the connect is evidence.
"""

ASKING_MOST_SECONDS: Final = 0.4
"""A connection that is made only to ask is evidence after so long, unless connects of its backend usually take longer.
It needs one round trip. A connect for a request may need others, for TLS and HTTP/2.
"""

ZONE_SECONDS: Final = 10.0
"""After so long without news, a silent endpoint says nothing about its zone any more."""

_STEP_SECONDS_EACH = 2e-5  # between two looks at all members, for each of them: less than one per cent of a processor
_USUAL_TIMES = 4.0
_SLOW_TIMES = 2.0  # of connects that usually take longer than half a second
_WEIGHT = 1 / 8  # of a new connect in the average, as in TCP's estimate of round trips (RFC 6298 2.3)

_WHY: Final = Ejected(Cause.SILENCE)
_NEVER: Final = float("-inf")

Told = tuple[tuple[Member, Change], ...]
"""What has changed about which members."""


class _Pending(NamedTuple):
    """A pending connect: when it began, and whether it is made only to ask."""

    began: float
    asks: bool


# For all backends without any: what one keeps is replaced, and only its own is changed.
_NOBODY: Final[dict[Member, list[_Pending]]] = {}
_NOWHERE: Final[dict[Zone, float]] = {}


class BackendSilence:
    """What one worker has learned from the connects of one backend. Outlives changes of the backend."""

    __slots__ = (
        "_absences",
        "_everyone",
        "_health",
        "_latest",
        "_latest_until",
        "_pending",
        "_usual_seconds",
        "_zones",
    )

    def __init__(self, health: BackendHealth, everyone: Collection[Member], absences: Absences = NEVER_ABSENT) -> None:
        """`everyone` are the members of the backend, `health` is their health. `absences` are those of the loop."""
        self._absences = absences
        self._everyone = everyone
        self._health = health
        self._latest: tuple[Member, ...] = ()
        self._latest_until = _NEVER
        self._pending = _NOBODY
        self._usual_seconds: float | None = None
        self._zones = _NOWHERE  # where an endpoint was silent, and when that was seen

    def follow(self, everyone: Collection[Member]) -> None:
        """These are the members of the backend from now on."""
        self._everyone = everyone
        self._latest_until = _NEVER

    @property
    def is_on(self) -> bool:
        """Whether an endpoint can be silent at all, by the rules of the backend."""
        return self._health.is_on

    @property
    def pending(self) -> int:
        """To how many members connects are pending."""
        return len(self._pending)

    def patience(self, member: Member, now: float, *, asks: bool = False) -> float:
        """The seconds after which a pending connect to `member` is evidence. A request that waits for it leaves then.

        At most a second, unless connects of the backend usually take longer than half a second. `asks`: the connection
        is made only to ask; then at most `ASKING_MOST_SECONDS`, or what connects usually take.
        """
        usual = self._usual_seconds
        if usual is None:
            return ASKING_MOST_SECONDS if asks else UNKNOWN_SECONDS
        least = ZONE_LEAST_SECONDS if self._is_suspect(member.endpoint.zone, now) else LEAST_SECONDS
        if asks:
            return max(least, min(_USUAL_TIMES * usual, ASKING_MOST_SECONDS), usual)
        return max(least, min(_USUAL_TIMES * usual, UNKNOWN_SECONDS), _SLOW_TIMES * usual)

    def began(self, member: Member, now: float, *, asks: bool = False) -> None:
        """A connect to `member` begins. `asks`: no request gets the connection."""
        self._pending = self._pending or {}
        self._pending.setdefault(member, []).append(_Pending(now, asks))

    def ended(self, member: Member, began: float, *, asks: bool = False) -> None:
        """The connect that had begun at `began` is over, however it ended."""
        pending = self._pending[member]
        pending.remove(_Pending(began, asks))
        if not pending:
            del self._pending[member]

    def is_oldest(self, member: Member, began: float) -> bool:
        """Whether no connect to `member` is pending for longer than the one that began at `began`."""
        return all(each.began >= began for each in self._pending.get(member, ()))

    def is_another_heard(self, member: Member, since: float, now: float) -> bool:
        """Whether another member than this one was heard after `since`: it answered, or a connection to it was made."""
        return any(each.health.heard_at > since for each in self._latest_two(now) if each is not member)

    def connected(self, member: Member, seconds: float, now: float) -> Told:
        """Learns that a connection to `member` was made for a request in `seconds`. Returns what that changes."""
        usual = self._usual_seconds
        self._usual_seconds = seconds if usual is None else usual + (seconds - usual) * _WEIGHT
        return self.reached(member, now)

    def reached(self, member: Member, now: float) -> Told:
        """Learns that a connection to `member` was made. Returns what that changes."""
        return (*self._back(member, now), *self.heard(member, now))

    def heard(self, member: Member, now: float) -> Told:
        """Learns that `member` is there. Returns which other members are silent by comparison.

        An answer need not be told here, if it is noted in the health of the member: then the next `judge` knows it.
        """
        member.health.heard_at = now
        self._latest = (member, *[each for each in self._latest if each is not member][:1])
        zone = member.endpoint.zone
        if zone is not None and zone in self._zones:
            del self._zones[zone]
        return self.judge(now) if self._pending else ()

    def judge(self, now: float) -> Told:
        """Ejects the members that are silent at `now`, as far as the backend's rules allow. Returns them."""
        if not self._health.is_on:
            return ()
        told: list[tuple[Member, Change]] = []
        for member in self._silent(now):
            # Requests leave a silent member also where it cannot be ejected: it has left the backend, or too many are.
            member.is_silent = True
            if self._health.eject(member.health, now, _WHY):
                told.append((member, Change.FELL_SILENT))
        return tuple(told)

    def _silent(self, now: float) -> list[Member]:
        """Looks again when a zone has become suspect, because less is enough there."""
        while True:
            late = [(member, since) for member in self._pending if (since := self._late_since(member, now)) is not None]
            silent = [member for member, since in late if self.is_another_heard(member, since, now)]
            suspects = {each.endpoint.zone for each in silent if self._is_suspect(each.endpoint.zone, now)}
            fresh = self._zones_lost(silent, now)
            if zones := [zone for zone in (*suspects, *fresh) if zone is not None]:
                self._zones = {**self._zones, **dict.fromkeys(zones, now)}
            if not fresh:
                return silent

    def _late_since(self, member: Member, now: float) -> float | None:
        """Since when a connect to `member` is pending for so long that it is evidence, and nothing else was heard of
        the member; None if no connect is.
        """
        for began, asks in self._pending[member]:
            since = max(began, member.health.heard_at)
            if self._absences.attended(since, now) >= self.patience(member, now, asks=asks):
                return since
        return None

    def _zones_lost(self, silent: Iterable[Member], now: float) -> Collection[Zone | None]:
        """Where a member has just fallen silent, and nobody was heard since its connect began."""
        began: dict[Zone | None, float] = {}
        for member in silent:
            zone = member.endpoint.zone
            if zone is not None and not member.is_silent and not self._is_suspect(zone, now):
                first = min(each.began for each in self._pending[member])
                began[zone] = max(first, began.get(zone, _NEVER))
        for each in self._everyone if began else ():
            if each.health.heard_at >= began.get(each.endpoint.zone, math.inf):
                del began[each.endpoint.zone]
        return began.keys()

    def _latest_two(self, now: float) -> Collection[Member]:
        """The members that were heard last: one of two is another one than any member.

        Of thousands of endpoints, the answers of the last moment may be missing.
        """
        if now >= self._latest_until:
            self._latest = tuple(nlargest(2, self._everyone, key=_heard_at))
            self._latest_until = now + _STEP_SECONDS_EACH * len(self._everyone)
        return self._latest

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


def _heard_at(member: Member) -> float:
    return member.health.heard_at
