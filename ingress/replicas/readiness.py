"""Decides whether the links of this replica are sick: what it asks fails, and the same answers other replicas. No I/O.

Namespaces are compared one by one, so that a tenant whose Services fail makes no replica leave load balancers. Only a
part of the replicas may leave at a time. No clock: times are seconds of any clock.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from balancer.zones.shares import Pause
from ingress.replicas.messages import HealthRow
from ingress.replicas.recent import RecentRows

# What counts of a namespace fades over so many seconds, and so many answers must be left.
_FADE_SECONDS: Final = 10.0
# Without news, what counts needs to fade no more often than that.
_QUIET_SECONDS: Final = 1.0
_ANSWERS_LEAST: Final = 10.0
# Here so many answers fail at least, at another replica so many at most.
_FAILING, _WELL = 0.5, 0.1
# Of the namespaces that can be compared, so many fail here alone.
_SICK_PART: Final = 0.8
# That holds for so long before the replica leaves.
_SURE_SECONDS: Final = 5.0
# A replica that has left gets no requests, so it learns nothing. It comes back after a pause, twice as long each time.
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 30.0, 240.0
_RELAPSE_SECONDS: Final = 120.0
# One of so many replicas may be away, and always one.
_AWAY_ONE_OF: Final = 4


class Health:
    """The answers of one replica lately, by namespace: how many, and how many of them failed for want of an endpoint's
    answer. `totals` are those of all time, of the namespaces that were told lately.
    """

    __slots__ = ("_at", "lately", "totals")

    def __init__(self) -> None:
        self._at: float | None = None
        self.totals = RecentRows[str, tuple[int, int]]()
        self.lately: dict[str, tuple[float, float]] = {}

    def learn(self, rows: Iterable[HealthRow], now: float) -> None:
        """Takes running totals. What a namespace had before it is told for the first time is no news."""
        told = {row.namespace: (row.answers, row.failed) for row in rows}
        if not told and self._at is not None and now - self._at < _QUIET_SECONDS:
            return
        kept = math.exp((self._at - now) / _FADE_SECONDS) if self._at is not None else 0.0
        self._at = now
        faded = {name: (answers * kept, failed * kept) for name, (answers, failed) in self.lately.items()}
        for name, (answers, failed) in told.items():
            answers_before, failed_before = self.totals.rows.get(name, (answers, failed))
            lately, failed_lately = faded.get(name, (0.0, 0.0))
            faded[name] = lately + max(0, answers - answers_before), failed_lately + max(0, failed - failed_before)
        self.totals.learn(told)
        self.lately = {name: each for name, each in faded.items() if each[0] >= 1.0}

    def ratio(self, namespace: str) -> float | None:
        """The share of answers that failed; None if there were too few."""
        answers, failed = self.lately.get(namespace, (0.0, 0.0))
        return failed / answers if answers >= _ANSWERS_LEAST else None


class OtherHealth(NamedTuple):
    """How another replica does, and whether it has left load balancers."""

    identity: str
    health: Health
    is_away: bool


class LinkJudge:
    """Whether the links of this replica are sick. `is_away`: it shall say that it is not ready.

    `sick` and `compared` count the namespaces that fail here alone, and those that can be compared.
    """

    __slots__ = ("_came_back_at", "_identity", "_pause", "_since", "compared", "is_away", "sick")

    def __init__(self, identity: str) -> None:
        self._identity = identity
        self._pause = Pause(_PAUSE_SECONDS, _PAUSE_SECONDS_MAX)
        self._since: float | None = None
        self._came_back_at = float("-inf")
        self.is_away = False
        self.sick = 0
        self.compared = 0

    def turn(self, own: Health, others: Sequence[OtherHealth], now: float) -> None:
        """Judges by what all replicas that are up have told."""
        counts = _compared(own, [each.health for each in others])
        self.compared = counts.compared
        self.sick = counts.sick
        if self.is_away:
            if now >= self._pause.until or not self._may_be_away(others):
                self.is_away = False
                self._since = None
                self._came_back_at = now
            return
        if not self.compared or self.sick < _SICK_PART * self.compared:
            self._since = None
            return
        if self._since is None:
            self._since = now
        if now - self._since >= _SURE_SECONDS and self._may_be_away(others):
            if now - self._came_back_at > _RELAPSE_SECONDS:
                self._pause.shorten()
            self._pause.begin(now)
            self.is_away = True

    def _may_be_away(self, others: Sequence[OtherHealth]) -> bool:
        """Whether few enough are away. Of those who left at one time, the first by their identities stay away."""
        if not others:
            return False
        away = sorted([self._identity, *(each.identity for each in others if each.is_away)])
        return away.index(self._identity) < max(1, (len(others) + 1) // _AWAY_ONE_OF)


class _Counts(NamedTuple):
    compared: int
    sick: int


def _compared(own: Health, others: Sequence[Health]) -> _Counts:
    """How many namespaces can be compared, and how many of them fail here while they answer most of the others."""
    compared = sick = 0
    for namespace in own.lately:
        here = own.ratio(namespace)
        there = [ratio for each in others if (ratio := each.ratio(namespace)) is not None]
        if here is None or not there:
            continue
        compared += 1
        well = sum(ratio <= _WELL for ratio in there)
        sick += here >= _FAILING and 2 * well > len(there)
    return _Counts(compared, sick)


def health_rows(totals: Mapping[str, tuple[int, int]]) -> dict[str, HealthRow]:
    """The rows of these totals by namespace: answers, and failed ones among them."""
    return {namespace: HealthRow(namespace, answers, failed) for namespace, (answers, failed) in totals.items()}
