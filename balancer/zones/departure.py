"""Decides how many requests leave one zone for its failures: in steps, each on evidence, and back in steps.

Gets the zone weighed against those that receive its requests. Time is an argument, in seconds.
"""

from __future__ import annotations

from enum import Enum
from math import inf
from typing import Final, NamedTuple

from balancer.zones.failures import FailureCount
from balancer.zones.shares import LOCAL_LEAST, MovingShare, Pause
from balancer.zones.strain import Average
from balancer.zones.weighing import Weighing

LEVELS: Final = (0.0, 0.1, 0.3, 1.0 - LOCAL_LEAST)
"""The shares that leave a zone, step by step. The least that stays is the probes."""

# While others get no requests, so many a second go there to compare, within these shares. Once that showed no
# difference, only the least goes there for a while.
_PROBES_PER_SECOND, _PROBED_LEAST, _PROBED_MOST = 10.0, 0.02, 0.08
_ALIKE_SECONDS = 10.0
# A step lasts at least so long, upwards and downwards, so that its effect is seen before the next one.
_UP_SECONDS, _DOWN_SECONDS = 0.6, 1.0
# The zone is well again after so many answers in a row without a failure. A zone that fails in two of five answers has
# such a run once in 3,500 answers.
_WELL_RUN: Final = 16
# A zone that is sick again within this time flaps: then the way back waits, twice as long each time. As does the next
# step after those who receive got worse. So a share turns twice a minute at most.
_RELAPSE_SECONDS: Final = 120.0
_PAUSE_SECONDS, _PAUSE_SECONDS_MAX = 60.0, 240.0
# A zone of which no answer is remembered is no longer left after so long: nobody would learn that it is well.
_UNHEARD_SECONDS, _UNHEARD_ANSWERS = 60.0, 0.5


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


class DepartureState(NamedTuple):
    """What a departure has come to, as words that others can take over. `stepped_at`: when the level changed."""

    stepped_at: float
    since: float
    level: float
    step: float
    direction: float
    back_until: float
    back_seconds: float
    hold_until: float
    hold_seconds: float
    before_answers: float
    before_failed: float
    latency_answers: float
    latency_seconds: float


_STEPS: Final = tuple(DepartureStep)


class Departure:
    """How far one zone is left. `since` is when the last step began, `stepped_at` when the share last changed by one.

    `heard_from`: before that nobody could have heard of the zone.
    """

    __slots__ = (
        "_alike_until",
        "_back",
        "_before",
        "_hold",
        "_latency_before",
        "_level",
        "_share",
        "heard_from",
        "since",
        "step",
        "stepped_at",
    )

    def __init__(self) -> None:
        self._share = MovingShare()
        self._level = 0
        self._back = Pause(_PAUSE_SECONDS, _PAUSE_SECONDS_MAX)
        self._hold = Pause(_PAUSE_SECONDS, _PAUSE_SECONDS_MAX)
        self._before = FailureCount()
        self._latency_before = Average()
        self._alike_until = 0.0
        self.since = 0.0
        self.stepped_at = 0.0
        self.heard_from = 0.0
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

    def judge(self, zone: Weighing, now: float) -> bool:
        """Takes a step if there is evidence for it. Returns whether it did, so that what comes is seen apart."""
        if not self._level:
            return self._stays(zone, now)
        heard_from = max(self.since, self.heard_from)
        is_unheard = zone.mine.answers < _UNHEARD_ANSWERS and now >= heard_from + _UNHEARD_SECONDS
        if zone.is_alone or is_unheard:
            return self._go(0, now, DepartureStep.WELL)
        if zone.is_burden(self._before, self._latency_before):
            self._hold.begin(now)
            return self._go(self._level - 1, now, DepartureStep.HELD)
        if zone.run >= _WELL_RUN and now >= max(self.since + _DOWN_SECONDS, self._back.until):
            return self._go(self._level - 1, now, DepartureStep.RETURNING)
        return now >= self.since + _UP_SECONDS and self._goes_on(zone, now)

    def _goes_on(self, zone: Weighing, now: float) -> bool:
        """Whether more leaves because the zone is still worse than others, or less because it is no worse."""
        if zone.is_alike and zone.is_sick:
            return self._go(self._level - 1, now, DepartureStep.RETURNING)
        if self._level == len(LEVELS) - 1 or now < self._hold.until:
            return False
        # Where others may be worse off than before the last step, more answers will say.
        return zone.is_worse and not zone.may_be_burden(self._before, self._latency_before) and self._climbs(zone, now)

    def _stays(self, zone: Weighing, now: float) -> bool:
        """Whether the zone begins to be left. If it fails and too little is known of others, a few requests ask."""
        if zone.is_alone or not zone.is_sick:
            self._ask(DepartureStep.WELL, 0.0, now)
        elif now < self._hold.until:
            self._ask(DepartureStep.HELD, 0.0, now)
        elif zone.is_worse:
            return self._climbs(zone, now)
        else:
            self._ask(DepartureStep.PROBING, self._probes(zone, now), now)
        return False

    def _probes(self, zone: Weighing, now: float) -> float:
        """The share of the requests that asks others."""
        if zone.is_alike:
            self._alike_until = now + _ALIKE_SECONDS
        if zone.others_rate >= zone.rate:
            return 0.0  # they get requests by themselves
        if now < self._alike_until:
            return _PROBED_LEAST
        return min(max(_PROBES_PER_SECOND / zone.rate, _PROBED_LEAST), _PROBED_MOST)

    def _ask(self, step: DepartureStep, share: float, now: float) -> None:
        if step is not self.step:
            self.step = step
            self.since = now
        self._share.move(share)

    def _climbs(self, zone: Weighing, now: float) -> bool:
        """A larger share leaves. After a relapse the way back waits."""
        if self._share.direction < 0 and now - self.since < _RELAPSE_SECONDS:
            self._back.begin(now)
        elif not self._level:
            self._back.shorten()
        if self._level:
            self._latency_before.take(zone.latency.count, zone.latency.seconds * zone.latency.count, memory=inf)
        else:
            self._latency_before = zone.latency
        self._before = zone.theirs
        return self._go(self._level + 1, now, DepartureStep.LEAVING)

    def _go(self, level: int, now: float, step: DepartureStep) -> bool:
        self._share.step(1 if level > self._level else -1, 0.0)
        self._share.move(LEVELS[level])
        self._level = level
        self.step = step
        self.since = now
        self.stepped_at = now
        return True

    @property
    def state(self) -> DepartureState:
        """What others can take over."""
        back, hold, before, latency = self._back, self._hold, self._before, self._latency_before
        return DepartureState(
            self.stepped_at,
            self.since,
            self._level,
            _STEPS.index(self.step),
            self._share.direction,
            back.until,
            back.seconds,
            hold.until,
            hold.seconds,
            before.answers,
            before.failed,
            latency.count,
            latency.seconds,
        )

    def take_over(self, state: DepartureState, now: float) -> None:
        """Goes on from the state of somebody else, who saw more."""
        self.stepped_at = state.stepped_at
        self.since = state.since
        self.heard_from = now
        self._level = int(state.level)
        self.step = _STEPS[int(state.step)]
        self._share.take_over(LEVELS[self._level], int(state.direction))
        self._back.take_over(state.back_until, state.back_seconds)
        self._hold.take_over(state.hold_until, state.hold_seconds)
        self._before = FailureCount(state.before_answers, state.before_failed)
        self._latency_before = Average()
        self._latency_before.take(state.latency_answers, state.latency_seconds * state.latency_answers, memory=inf)
