"""Decides how many requests leave one zone for its failures: in steps, each on evidence, and back in steps.

Gets what is known of the zone and of the zones that receive its requests. Time is an argument, in seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from math import inf
from typing import Final

from balancer.zones.failures import FailureCount, FailureWindow, surely_worse, surely_worse_than_before, total
from balancer.zones.shares import LOCAL_LEAST, MovingShare, Pause
from balancer.zones.strain import Average

LEVELS: Final = (0.0, 0.1, 0.3, 1.0 - LOCAL_LEAST)
"""The shares that leave a zone, step by step. The least that stays is the probes."""

MARGIN: Final = 0.05
"""A zone whose failures exceed those of others by less is not worth leaving: 2 % of errors cost less than the way."""

# A difference of so many standard errors is evidence: chance alone reaches it in one of 160 comparisons.
_ERRORS: Final = 2.5
# The least that is compared: answers of the zone, failures among them, and answers of the others.
_OWN_LEAST, _FAILED_LEAST, _OTHERS_LEAST = 16.0, 5.0, 8.0
# While others get no requests, so many a second go there to compare, within these shares. Once this many answers show
# no difference, only the least goes there for a while: a bad release is the same everywhere.
_PROBES_PER_SECOND, _PROBED_LEAST, _PROBED_MOST = 10.0, 0.02, 0.08
_ALIKE_ANSWERS, _ALIKE_SECONDS = 60.0, 10.0
# A step lasts at least so long, upwards and downwards, so that its effect is seen before the next one.
_UP_SECONDS, _DOWN_SECONDS = 0.6, 1.0
# The zone is well again after so many answers in a row without a failure. A zone that fails in two of five answers has
# such a run once in 3,500 answers.
_WELL_RUN: Final = 16
# Those who receive are worse off if their answers take so much longer than before the step, or fail by `MARGIN` more.
_SLOWER, _SLOWER_SECONDS, _SLOWER_ANSWERS = 1.2, 0.005, 50.0
# A zone that is sick again within this time flaps: then the way back waits, twice as long each time. As does the next
# step after those who receive got worse. So a share turns twice a minute at most.
_RELAPSE_SECONDS: Final = 120.0
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 60.0, 240.0


class DepartureStep(Enum):
    """How far a zone is left.

    `WELL`: not at all. `PROBING`: a few requests go elsewhere, to compare. `LEAVING`: a share leaves, which may grow.
    `HELD`: no more leaves, because those who receive got worse. `RETURNING`: the share falls.
    """

    WELL = "well"
    PROBING = "probing"
    LEAVING = "leaving"
    HELD = "held"
    RETURNING = "returning"


class Departure:
    """How far one zone is left. `since` is when the last step began."""

    __slots__ = (
        "_alike_until",
        "_back",
        "_before",
        "_before_seconds",
        "_hold",
        "_level",
        "_share",
        "since",
        "step",
    )

    def __init__(self) -> None:
        self._share = MovingShare()
        self._level = 0
        self._back, self._hold = (Pause(_PAUSE_SECONDS, _PAUSE_SECONDS_MAX) for _ in range(2))
        self._before, self._before_seconds = FailureCount(), Average()
        self._alike_until = self.since = 0.0
        self.step = DepartureStep.WELL

    @property
    def is_leaving(self) -> bool:
        """Whether requests leave the zone, beyond a few that compare."""
        return self._level > 0

    @property
    def share(self) -> float:
        """The share of the requests that avoids the zone."""
        return self._share.value

    @property
    def basis_points(self) -> int:
        """How many of 10,000 requests avoid the zone."""
        return self._share.basis_points

    def judge(self, own: FailureWindow, others: Sequence[FailureWindow], now: float) -> bool:
        """Takes a step if there is evidence for it. Returns whether it did, so that what comes is seen apart."""
        mine, theirs = own.lately, total(each.lately for each in others)
        if not self._level:
            return self._stays(own, mine, theirs, others, now)
        if not others:  # every other zone is left as well
            return self._go(0, now, DepartureStep.WELL)
        if self._is_burden(others, theirs):
            self._hold.begin(now)
            return self._go(self._level - 1, now, DepartureStep.HELD)
        if own.run >= _WELL_RUN and now >= max(self.since + _DOWN_SECONDS, self._back.until):
            return self._go(self._level - 1, now, DepartureStep.RETURNING)
        return now >= self.since + _UP_SECONDS and self._goes_on(mine, theirs, others, now)

    def _goes_on(self, mine: FailureCount, theirs: FailureCount, others: Sequence[FailureWindow], now: float) -> bool:
        """Whether more leaves because the zone is still worse than others, or less because it is no worse."""
        if _are_alike(mine, theirs) and _is_sick(mine):
            return self._go(self._level - 1, now, DepartureStep.RETURNING)
        if self._level == len(LEVELS) - 1 or now < self._hold.until or not _is_worse(mine, theirs):
            return False
        if theirs.ratio > self._before.ratio + MARGIN:
            return False  # they may be worse off than before the last step: more answers will say
        return self._climbs(others, theirs, now)

    def _stays(
        self, own: FailureWindow, mine: FailureCount, theirs: FailureCount, others: Sequence[FailureWindow], now: float
    ) -> bool:
        """Whether the zone begins to be left. If it fails and too little is known of others, a few requests ask."""
        if not others or not _is_sick(mine):
            self._ask(DepartureStep.WELL, 0.0, now)
            return False
        if now < self._hold.until:
            self._ask(DepartureStep.HELD, _PROBED_LEAST, now)
            return False
        if _is_worse(mine, theirs):
            return self._climbs(others, theirs, now)
        if _are_alike(mine, theirs):
            self._alike_until = now + _ALIKE_SECONDS
        share = _PROBED_LEAST
        if sum(each.rate for each in others) >= own.rate:
            share = 0.0  # they get requests by themselves
        elif now >= self._alike_until:
            share = min(max(_PROBES_PER_SECOND / own.rate, _PROBED_LEAST), _PROBED_MOST)
        self._ask(DepartureStep.PROBING, share, now)
        return False

    def _ask(self, step: DepartureStep, share: float, now: float) -> None:
        if step is not self.step:
            self.step, self.since = step, now
        self._share.move(share)

    def _climbs(self, others: Sequence[FailureWindow], theirs: FailureCount, now: float) -> bool:
        """A larger share leaves. After a relapse the way back waits."""
        if self._share.direction < 0 and now - self.since < _RELAPSE_SECONDS:
            self._back.begin(now)
        elif not self._level:
            self._back.shorten()
        self._before, self._before_seconds = theirs, _latency(others)
        return self._go(self._level + 1, now, DepartureStep.LEAVING)

    def _go(self, level: int, now: float, step: DepartureStep) -> bool:
        self._share.step(1 if level > self._level else -1, 0.0)
        self._share.move(LEVELS[level])
        self._level, self.step, self.since = level, step, now
        return True

    def _is_burden(self, others: Sequence[FailureWindow], theirs: FailureCount) -> bool:
        """Whether those who receive are worse off than before the last step upwards."""
        if surely_worse_than_before(theirs, self._before, margin=MARGIN, errors=_ERRORS):
            return True
        before, latency = self._before_seconds, _latency(others)
        if min(before.count, latency.count) < _SLOWER_ANSWERS:
            return False
        limit = before.seconds * (1.0 + _ERRORS * before.error) * _SLOWER + _SLOWER_SECONDS
        return latency.seconds * (1.0 - _ERRORS * latency.error) > limit


def _is_sick(tally: FailureCount) -> bool:
    """Whether a zone fails often enough to be compared with others."""
    return tally.answers >= _OWN_LEAST and tally.failed >= _FAILED_LEAST and tally.ratio > MARGIN


def _are_alike(mine: FailureCount, theirs: FailureCount) -> bool:
    """Whether enough is known of others to say that they are no better."""
    return theirs.answers >= _ALIKE_ANSWERS and mine.ratio <= theirs.ratio + MARGIN


def _is_worse(mine: FailureCount, theirs: FailureCount) -> bool:
    return (
        _is_sick(mine) and theirs.answers >= _OTHERS_LEAST and surely_worse(mine, theirs, margin=MARGIN, errors=_ERRORS)
    )


def _latency(windows: Sequence[FailureWindow]) -> Average:
    """The mean latency of the answers of several zones that did not fail."""
    average = Average()
    for each in windows:
        average.take(each.latency.count, each.latency.seconds * each.latency.count, memory=inf)
    return average
