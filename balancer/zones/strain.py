"""Measures how slow the own zone is, and from which latency on it counts as strained.

Keeps averages of latencies and the baseline to which they are compared. Does not know what is done about a strain.
Every constant was chosen with the simulator, `tests/bench/zones`.
"""

from __future__ import annotations

import math

# The most answers that an average remembers, and the least seconds of answers that it remembers if there are more
# answers. Latencies of one service vary by half of their mean, so 800 answers leave an error of 2 %.
_QUICK = (60, 0.1)
_STEADY = (800, 1.0)
_CALM = (4000, 5.0)
_REMOTE = (800, 0.5)
_REST = (800, 20.0)

# The time after which 63 % of an average's weight is gone if answers are rare. The last answers (the floors) stay.
_QUICK_FADE_SECONDS, _QUICK_FLOOR = 1.0, 20
_FADE_SECONDS, _FLOOR = 6.0, 50
_REMOTE_FLOOR = 30

# Answers before anything is known. The first answers are the shortest, because the others are still under way.
_FIRST_ANSWERS = 50
# After so many answers in unstrained times, the baseline only follows downwards.
_YOUNG_ANSWERS = 2000
# A new, lower baseline needs so many answers.
_BASELINE_ANSWERS = 1000
# With so many answers in one tick, the mean of the tick counts as a peak.
_PEAK_ANSWERS = 25
# The most that a young baseline may lie above any average so far, in standard errors.
_YOUNG_ERRORS = 2.7
# The same for other zones of which few answers are known. Where few requests come, more are never known at a time, and
# a baseline that was learned in a queue is far above that.
_FEW_ERRORS = 5.4
# This bound loosens with time, because a quick second may have been luck.
_YOUNG_RELIEF_PER_SECOND = 0.1
# Standard deviation of one latency, as a share of the mean.
_SPREAD = 0.5

# The quick and the steady average differ by so many standard errors only if something has changed. Then the past counts
# for little.
_CHANGE_ERRORS = 3.0
_CHANGE_ANSWERS = 60

# A minute of a worse latency makes one per cent of it normal, because a new release may be slower for good.
_RISE_PER_SECOND = 0.01 / 60
# The share of the strain that is forgiven if other zones turn out to be no quicker.
_FORGIVEN = 0.5
# The zone's own variation of latency, tracked over seconds. Twice the mean deviation is not yet a strain, up to 10 %.
_NOISE_SECONDS, _NOISE_WEIGHT, _NOISE_MAX = 5.0, 2.0, 0.05
# A latency counts for at most so many baselines, so that one very slow endpoint does not decide for a zone.
_CLAMP = 4.0


class Average:
    """The mean of the latest latencies. `count` is the number of answers in it."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0.0
        self.seconds = 0.0

    def take(self, count: float, total_seconds: float, *, memory: float) -> None:
        """Adds `count` answers that took `total_seconds` together. Of all answers, at most `memory` count."""
        if count:
            self.count += count
            self.seconds += (total_seconds / count - self.seconds) * count / self.count
            self.count = min(self.count, memory)

    def fade(self, elapsed: float, *, over_seconds: float, floor: float) -> None:
        """Notes that `elapsed` seconds passed: the past counts for less, but for `floor` answers at least."""
        self.count = max(min(self.count, floor), self.count * math.exp(-elapsed / over_seconds))

    @property
    def error(self) -> float:
        """The standard error as a share of the mean."""
        return _SPREAD / math.sqrt(max(self.count, 1.0))


class RemoteLatency(Average):
    """The latency of requests that left the zone, while there are such requests."""

    __slots__ = ()

    def learn(self, count: float, total_seconds: float, *, elapsed: float, rate: float) -> None:
        """Adds `count` answers of `elapsed` seconds, during which `rate` requests a second came in all."""
        self.fade(elapsed, over_seconds=_FADE_SECONDS, floor=_REMOTE_FLOOR)
        self.take(count, total_seconds, memory=_memory(_REMOTE, rate))

    @property
    def is_known(self) -> bool:
        return self.count >= _REMOTE_FLOOR

    def bearable_seconds(self, *, toll_ratio: float, toll_seconds: float) -> float:
        """The latency of the own zone above which leaving pays; 0 while nothing is known about other zones."""
        return self.seconds * (1.0 + toll_ratio) + toll_seconds if self.is_known else 0.0


class Strain:
    """The latency of the own zone, and its `limit_seconds`, above which the zone is strained.

    The limit is the baseline (a slowly rising minimum of times without strain), plus the toll, plus the zone's own
    variation. `quick_seconds` follows within a tenth of a second. `peak_seconds` is the mean of the last tick only.
    """

    __slots__ = (
        "_calm",
        "_noise",
        "_quick",
        "_rest",
        "_seen",
        "_steady",
        "_toll",
        "_upper",
        "baseline",
        "limit_seconds",
        "peak_seconds",
    )

    def __init__(self, *, toll_ratio: float, toll_seconds: float) -> None:
        self._toll = (toll_ratio, toll_seconds)
        self._quick = Average()
        self._steady = Average()
        self._calm = Average()
        self._rest = Average()
        self._seen = 0.0
        self._noise = 0.0
        self._upper = math.inf
        self.baseline = 0.0
        self.limit_seconds = math.inf
        self.peak_seconds = 0.0

    @property
    def is_known(self) -> bool:
        """Whether there are enough answers to judge strain."""
        return self.baseline > 0.0

    @property
    def is_young(self) -> bool:
        """Whether the baseline rests on few answers of unstrained times."""
        return self._seen < _YOUNG_ANSWERS

    @property
    def quick_seconds(self) -> float:
        return self._quick.seconds

    @property
    def steady_seconds(self) -> float:
        return self._steady.seconds

    @property
    def is_falling(self) -> bool:
        """Whether the latest latency is below the average by more than the average's standard error."""
        return self._quick.seconds < self._steady.seconds * (1.0 - self._steady.error)

    def surely_above(self, seconds: float, *, errors: float) -> bool:
        """Whether the latency is above `seconds` by so many standard errors, lately or since the last `restart`."""
        return any(each.seconds * (1.0 - errors * each.error) > seconds for each in (self._steady, self._rest))

    def at_most(self, *, errors: float) -> float:
        """The latency since the last `restart` with so many standard errors added; infinite without answers."""
        return self._rest.seconds * (1.0 + errors * self._rest.error) if self._rest.count else math.inf

    def restart(self) -> None:
        """The share has moved: what was seen before says little about the zone as it is now."""
        self._rest = Average()

    @property
    def clamp_seconds(self) -> float:
        """The most for which a single latency counts."""
        return _CLAMP * self.baseline if self.is_known else math.inf

    def learn(
        self, count: float, total_seconds: float, *, elapsed: float, rate: float, spilling: bool, remote: Average
    ) -> None:
        """Adds `count` answers of the own zone in `elapsed` seconds, which is about `rate` a second."""
        self._average(count, total_seconds, elapsed=elapsed, rate=rate)
        if not spilling or self._seen < _FIRST_ANSWERS:
            self._seen += count
        if self._seen < _FIRST_ANSWERS:
            return
        steady = self._steady.seconds
        if not self.is_known:
            self.baseline = steady
        elif steady < 2.0 * self.limit_seconds - self.baseline:
            self._calm.take(count, total_seconds, memory=_memory(_CALM, rate))
        else:
            self._calm.count = 0.0
        self._move_baseline(elapsed, spilling=spilling, remote=remote)
        if not spilling and self._calm.count and self._calm.seconds:
            deviation = min(abs(steady - self._calm.seconds) / self._calm.seconds, _NOISE_MAX)
            self._noise += min(elapsed / _NOISE_SECONDS, 1.0) * (deviation - self._noise)
        ratio, seconds = self._toll
        self.limit_seconds = self.baseline * (1.0 + ratio + _NOISE_WEIGHT * self._noise) + seconds

    def adopt(self, baseline: float) -> None:
        """Begins with a baseline that others have measured."""
        self.baseline = baseline
        self._seen = _FIRST_ANSWERS

    def forgive(self) -> None:
        """Other zones are no quicker, so the latency comes from the service and not from the load of this zone."""
        self.baseline += _FORGIVEN * max(0.0, self._steady.seconds - self.baseline)

    def _average(self, count: float, total_seconds: float, *, elapsed: float, rate: float) -> None:
        quick, steady = self._quick, self._steady
        quick.fade(elapsed, over_seconds=_QUICK_FADE_SECONDS, floor=_QUICK_FLOOR)
        steady.fade(elapsed, over_seconds=_FADE_SECONDS, floor=_FLOOR)
        quick.take(count, total_seconds, memory=_memory(_QUICK, rate))
        steady.take(count, total_seconds, memory=_memory(_STEADY, rate))
        self.peak_seconds = total_seconds / count if count >= _PEAK_ANSWERS else quick.seconds
        self._rest.take(count, total_seconds, memory=_memory(_REST, rate))
        for each in (steady, self._rest):
            differs = abs(quick.seconds - each.seconds) > _CHANGE_ERRORS * quick.error * each.seconds
            if differs and quick.count >= _CHANGE_ANSWERS:
                each.count = min(each.count, _CHANGE_ANSWERS)

    def _move_baseline(self, elapsed: float, *, spilling: bool, remote: Average) -> None:
        calm = self._calm
        young = self.is_young
        if young:
            if not spilling:
                self._upper *= 1.0 + _YOUNG_RELIEF_PER_SECOND * elapsed
            bounds = (
                (self._steady, 2 * _FLOOR, _YOUNG_ERRORS),
                (remote, 2 * _FLOOR, _YOUNG_ERRORS),
                (remote, _REMOTE_FLOOR, _FEW_ERRORS),
            )
            for average, answers, errors in bounds:
                if average.count >= answers:
                    self._upper = min(self._upper, average.seconds * (1.0 + errors * average.error))
            follows = calm.count >= 2 * _FLOOR and not spilling
            self.baseline = min(calm.seconds if follows else self.baseline, self._upper)
        if calm.count >= _BASELINE_ANSWERS and (spilling or not young) and calm.seconds < self.baseline:
            self.baseline = calm.seconds
        elif not young and not spilling and calm.count:
            rise = min(calm.seconds - self.baseline, self.baseline * _RISE_PER_SECOND * elapsed)
            self.baseline += max(0.0, rise)


def _memory(at: tuple[int, float], rate: float) -> float:
    answers, seconds = at
    return max(answers, seconds * rate)
