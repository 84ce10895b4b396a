"""How slow the own zone is, and from what latency on it counts as strained.

Responsible for averages of latencies and for the baseline they are compared with. It must not know what is done about
a strain. Every constant was chosen with the simulator, `tests/bench/zones`.
"""

from __future__ import annotations

import math

# Answers that an average remembers at most, and the seconds of answers that it remembers at least when there are more
# of them. Latencies of one service differ by half their mean, so 400 answers leave an error of 2 %.
_QUICK = (60, 0.1)
_STEADY = (400, 0.5)
_CALM = (4000, 5.0)
_REMOTE = (200, 0.5)

# Seconds after which 63 % of an average's weight is gone when answers are few; the last ones (the floors) stay.
_QUICK_FADE_SECONDS, _QUICK_FLOOR = 1.0, 20
_FADE_SECONDS, _FLOOR = 3.0, 50
_REMOTE_FLOOR = 30

# Answers before anything is said at all: the first ones are the shortest, as the others are still on their way.
_FIRST_ANSWERS = 50
# Answers in unstrained times after which the baseline only follows downwards.
_YOUNG_ANSWERS = 2000
# Answers that a new, lower baseline has to rest on.
_BASELINE_ANSWERS = 1000
# Answers in one tick that make its mean a figure of its own.
_PEAK_ANSWERS = 25
# How far, in standard errors, a young baseline may lie above any average that was seen.
_YOUNG_ERRORS = 3.6
# That bound loosens: what seemed quick may have been a lucky second.
_YOUNG_RELIEF_PER_SECOND = 0.1
# Standard deviation of one latency, as a share of the mean.
_SPREAD = 0.5

# By so much do the quick and the steady average differ only if something has changed; then the past counts for little.
_CHANGE = 0.1
_CHANGE_ANSWERS = 60

# A minute of a worse latency makes one per cent of it normal: a new release may be slower for good.
_RISE_PER_SECOND = 0.01 / 60
# How much of the strain was none if other zones turn out to be no quicker.
_FORGIVEN = 0.5
# What the latency does of itself, tracked over seconds: twice the mean deviation is no strain yet, up to 10 %.
_NOISE_SECONDS, _NOISE_WEIGHT, _NOISE_MAX = 5.0, 2.0, 0.05
# A latency counts for at most so many baselines, so that one hopeless endpoint does not speak for a zone.
_CLAMP = 4.0


class Average:
    """The mean of the latest latencies; `count` is how many answers it rests on."""

    __slots__ = ("count", "seconds")

    def __init__(self) -> None:
        self.count = 0.0
        self.seconds = 0.0

    def take(self, count: int, total_seconds: float, *, memory: float) -> None:
        """`count` answers took `total_seconds` together; of all so far, `memory` count at most."""
        if count:
            self.count += count
            self.seconds += (total_seconds / count - self.seconds) * count / self.count
            self.count = min(self.count, memory)

    def fade(self, elapsed: float, *, over_seconds: float, floor: float) -> None:
        """`elapsed` seconds have passed: the past counts for less, but never for less than `floor` answers."""
        self.count = max(min(self.count, floor), self.count * math.exp(-elapsed / over_seconds))

    @property
    def error(self) -> float:
        """The standard error as a share of the mean."""
        return _SPREAD / math.sqrt(max(self.count, 1.0))


class RemoteLatency(Average):
    """The latency of requests that left the zone, for as long as some do."""

    __slots__ = ()

    def learn(self, count: int, total_seconds: float, *, elapsed: float, rate: float) -> None:
        """`count` answers in `elapsed` seconds, with `rate` requests a second in and out of the zone."""
        self.fade(elapsed, over_seconds=_FADE_SECONDS, floor=_REMOTE_FLOOR)
        self.take(count, total_seconds, memory=_memory(_REMOTE, rate))

    @property
    def is_known(self) -> bool:
        return self.count >= _REMOTE_FLOOR

    def bearable_seconds(self, *, toll_ratio: float, toll_seconds: float) -> float:
        """What the own zone may take before leaving pays; 0 while nothing is known of other zones."""
        return self.seconds * (1.0 + toll_ratio) + toll_seconds if self.is_known else 0.0


class Strain:
    """The latency of the own zone, and its `limit_seconds`: above it the zone is strained.

    The limit is the baseline (a slowly rising minimum of times without strain), the toll, and the zone's own noise.
    `quick_seconds` follows within a tenth of a second, `peak_seconds` is the mean of the last tick alone.
    """

    __slots__ = (
        "_calm",
        "_noise",
        "_quick",
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
        self._quick, self._steady, self._calm = Average(), Average(), Average()
        self._seen = 0
        self._noise = 0.0
        self._upper = math.inf
        self.baseline = 0.0
        self.limit_seconds = math.inf
        self.peak_seconds = 0.0

    @property
    def is_known(self) -> bool:
        """Whether enough answers have come to speak of strain."""
        return self.baseline > 0.0

    @property
    def quick_seconds(self) -> float:
        return self._quick.seconds

    @property
    def steady_seconds(self) -> float:
        return self._steady.seconds

    @property
    def clamp_seconds(self) -> float:
        """What a single latency counts for at most."""
        return _CLAMP * self.baseline if self.is_known else math.inf

    def learn(
        self, count: int, total_seconds: float, *, elapsed: float, rate: float, spilling: bool, remote: Average
    ) -> None:
        """`count` answers of the own zone in `elapsed` seconds, which gives about `rate` a second."""
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

    def forgive(self) -> None:
        """Other zones are no quicker, so the latency is what the service takes now, and not for this zone's load."""
        self.baseline += _FORGIVEN * max(0.0, self._steady.seconds - self.baseline)

    def _average(self, count: int, total_seconds: float, *, elapsed: float, rate: float) -> None:
        quick, steady = self._quick, self._steady
        quick.fade(elapsed, over_seconds=_QUICK_FADE_SECONDS, floor=_QUICK_FLOOR)
        steady.fade(elapsed, over_seconds=_FADE_SECONDS, floor=_FLOOR)
        quick.take(count, total_seconds, memory=_memory(_QUICK, rate))
        steady.take(count, total_seconds, memory=_memory(_STEADY, rate))
        self.peak_seconds = total_seconds / count if count >= _PEAK_ANSWERS else quick.seconds
        if abs(quick.seconds - steady.seconds) > _CHANGE * steady.seconds and quick.count >= _CHANGE_ANSWERS:
            steady.count = min(steady.count, _CHANGE_ANSWERS)

    def _move_baseline(self, elapsed: float, *, spilling: bool, remote: Average) -> None:
        calm = self._calm
        young = self._seen < _YOUNG_ANSWERS
        if young:
            if not spilling:
                self._upper *= 1.0 + _YOUNG_RELIEF_PER_SECOND * elapsed
            for average in (self._steady, remote):
                if average.count >= 2 * _FLOOR:
                    self._upper = min(self._upper, average.seconds * (1.0 + _YOUNG_ERRORS * average.error))
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
