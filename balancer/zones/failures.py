"""Counts which share of the answers of a zone fails, lately, and says when one share is worse than another for sure.

Evidence is relative: a zone is compared with other zones at the same time. Does not know what follows. Time is an
argument, in seconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from balancer.sharing.namesakes import Namesakes
from balancer.sharing.zone_peers import ZoneSeen
from balancer.zones.strain import Average

# What came in about so many seconds counts, if that is enough; else what came in the longer time.
_QUICK_SECONDS, _QUICK_ENOUGH = 2.0, 40.0
_SLOW_SECONDS = 10.0
# Where answers are rare, this many are remembered, for a minute at most.
_RARE_ANSWERS, _RARE_SECONDS = 40.0, 60.0
# Of the clients who ask lately, this part is left out if they meet the most failures: one at least, unless only one
# asks. A client is present while this much of an answer is remembered.
_LOUD, _PRESENT = 4, 0.5
# The mean latency of a zone forgets in about so many answers.
_LATENCY_ANSWERS = 800.0


class FailureCount(NamedTuple):
    """How many answers of a zone there were lately, and how many of them failed."""

    answers: float = 0.0
    failed: float = 0.0

    @property
    def ratio(self) -> float:
        """The share that failed, 0 to 1."""
        return self.failed / self.answers if self.answers else 0.0

    @property
    def words(self) -> str:
        """How many answers failed, for a person to read."""
        return f"{self.failed:.0f} of {self.answers:.0f} ({self.ratio:.0%})"


_NOTHING = FailureCount()


def total(counts: Iterable[FailureCount]) -> FailureCount:
    """What several zones or clients have together."""
    some = tuple(counts)
    return FailureCount(sum(each.answers for each in some), sum(each.failed for each in some))


def surely_worse(one: FailureCount, other: FailureCount, *, margin: float, errors: float) -> bool:
    """Whether `one` fails more often than `other` by more than `margin`, with so many standard errors to spare.

    The error is that of a difference of two shares with a common variance, each with one success and one failure more
    than was seen: few answers that are all alike are no certainty (Agresti and Caffo, 2000).
    """
    if not one.answers or not other.answers:
        return False
    count, others = one.answers + 2.0, other.answers + 2.0
    common = (one.failed + other.failed + 2.0) / (count + others)
    error = math.sqrt(common * (1.0 - common) * (1.0 / count + 1.0 / others))
    return one.ratio - other.ratio > margin + errors * error


def surely_worse_than_before(now: FailureCount, before: FailureCount, *, margin: float, errors: float) -> bool:
    """Whether answers fail more often `now` than they did, by more than `margin` with so many standard errors to spare.

    Few answers from before are taken for what they say, with one failure more, so that they hide no harm.
    """
    if not now.answers:
        return False
    error = math.sqrt(now.ratio * (1.0 - now.ratio) / now.answers)
    return now.ratio > (before.failed + 1.0) / (before.answers + 2.0) + margin + errors * error


class FailureWindow:
    """The answers of one zone. `latency` is that of answers that did not fail; `run` counts those since the last
    failure.
    """

    __slots__ = (
        "_answers",
        "_by_place",
        "_callers",
        "_failed",
        "_failing",
        "_quick",
        "_seconds",
        "_slow",
        "_well",
        "latency",
        "run",
    )

    def __init__(self) -> None:
        self._quick = FailureCount()
        self._slow = self._quick
        self._answers = 0.0
        self._failed = 0.0
        self._well = 0.0
        self._seconds = 0.0
        self.run = 0
        self._by_place: dict[int, FailureCount] = {}
        self._callers = Namesakes()
        self._failing = Namesakes()
        self.latency = Average()

    def note(self, *, failed: bool, seconds: float, place: int = 0, client: bytes = b"", now: float = 0.0) -> None:
        """An answer for a client came at `now`, after `seconds`. `place` is one of a few, by which clients are told
        apart.
        """
        self._callers.note(place, client, now)
        if failed:
            self._failing.note(place, client, now)
        self._answers += 1
        self._by_place[place] = total((self._by_place.get(place, _NOTHING), FailureCount(1.0, float(failed))))
        if failed:
            self._failed += 1
            self.run = 0
        else:
            self._well += 1
            self.run += 1
            self._seconds += seconds

    def add(self, seen: ZoneSeen, part: float) -> None:
        """Others saw these answers, of which this `part` counts, in an order that nobody knows."""
        answers, failed = sum(seen.answers) * part, sum(seen.failed) * part
        if not answers:
            return
        follows_failure = self._failed > 0.0  # of these answers, nobody knows which came after it
        self._answers += answers
        self._failed += failed
        self._well += answers - failed
        self._seconds += seen.seconds * part
        if failed:
            self.run = 0
        elif not follows_failure:
            self.run += round(answers)
        for place, (its_answers, its_failed) in enumerate(zip(seen.answers, seen.failed, strict=True)):
            if its_answers:
                count = FailureCount(its_answers * part, its_failed * part)
                self._by_place[place] = total((self._by_place.get(place, _NOTHING), count))

    def pass_time(self, elapsed: float, *, is_late: bool = False) -> None:
        """`elapsed` seconds have passed, in which came what was noted since the last call.

        `is_late`: the own process was late to read it, so that the seconds of answers say nothing.
        """
        came = FailureCount(self._answers, self._failed)
        rare = max(elapsed / _RARE_SECONDS, came.answers / _RARE_ANSWERS)
        weight = math.exp(-elapsed / _SLOW_SECONDS)
        self._by_place = {
            place: FailureCount(count.answers * weight, count.failed * weight)
            for place, count in self._by_place.items()
            if count.answers >= _PRESENT
        }
        self._quick = _faded(self._quick, elapsed / _QUICK_SECONDS, came)
        self._slow = _faded(self._slow, min(elapsed / _SLOW_SECONDS, rare), came)
        if not is_late:
            self.latency.take(self._well, self._seconds, memory=_LATENCY_ANSWERS)
        self._answers = 0.0
        self._failed = 0.0
        self._well = 0.0
        self._seconds = 0.0

    @property
    def lately(self) -> FailureCount:
        """What counts now: the latest seconds if enough came in them."""
        return self._quick if self._quick.answers >= _QUICK_ENOUGH else self._slow

    @property
    def quiet(self) -> FailureCount:
        """What clients met without the quarter of them who met the most failures; everything, if only one asks.

        So no client can make a zone look bad alone: others must meet failures there, too. That holds for several that
        have one place as well.
        """
        counts = sorted(self._by_place.values(), key=lambda count: count.failed)
        if len(counts) > 1:
            return total(counts[: -math.ceil(len(counts) / _LOUD)])
        if any(self._callers.are_several(each) and not self._failing.are_several(each) for each in self._by_place):
            return FailureCount(counts[0].answers)
        return total(counts)

    @property
    def rate(self) -> float:
        """Answers a second, about."""
        return self._quick.answers / _QUICK_SECONDS

    def restart(self) -> None:
        """The zone gets another share of the requests: what came before says little about it from now on."""
        self._quick = FailureCount()
        self._slow = self._quick
        self._by_place.clear()
        self.run = 0
        self.latency = Average()


def _faded(count: FailureCount, by: float, came: FailureCount) -> FailureCount:
    kept = math.exp(-by)
    return FailureCount(count.answers * kept + came.answers, count.failed * kept + came.failed)
