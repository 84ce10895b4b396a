"""Weighs one zone against the zones that would receive its requests: what is known of both, and what that proves.

Does not know shares, nor what follows from the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import Final

from balancer.zones.failures import FailureCount, FailureWindow, surely_worse, surely_worse_than_before, total
from balancer.zones.strain import Average

MARGIN: Final = 0.05
"""A zone whose failures exceed those of others by less is not worth leaving: 2 % of errors cost less than the way."""

# A difference of so many standard errors is evidence: chance alone reaches it in one of 160 comparisons.
_ERRORS: Final = 2.5
# The least that is compared: answers of the zone, failures among them, and answers of the others.
_OWN_LEAST, _FAILED_LEAST, _OTHERS_LEAST = 8.0, 5.0, 8.0
# For a zone whose nodes are said to go away. The word of the cluster is a hint, so some failures are needed still.
_LEAVING_ERRORS, _LEAVING_OWN_LEAST, _LEAVING_FAILED_LEAST = 1.5, 4.0, 2.0
# So many answers of others that are no better say that all are alike: a bad release is the same everywhere.
_ALIKE_ANSWERS = 60.0
# Those who receive are worse off if their answers take so much longer than before, or fail by `MARGIN` more.
# That needs so many answers before, and so many since.
_SLOWER, _SLOWER_SECONDS = 1.2, 0.005
_LATENCY_LEAST, _SLOWER_ANSWERS = 8.0, 40.0


class Weighing:
    """One zone (`mine`) beside the zones that receive what leaves it (`theirs`), lately. `latency` is that of the
    others. `is_leaving`: the nodes of the zone are said to go away, so less evidence is enough.
    """

    __slots__ = ("_errors", "_failed_least", "_others", "_own", "_own_least", "latency", "mine", "theirs")

    def __init__(self, own: FailureWindow, others: Sequence[FailureWindow], *, is_leaving: bool = False) -> None:
        self._own = own
        self._others = others
        self._errors = _ERRORS
        self._own_least = _OWN_LEAST
        self._failed_least = _FAILED_LEAST
        if is_leaving:
            self._errors = _LEAVING_ERRORS
            self._own_least = _LEAVING_OWN_LEAST
            self._failed_least = _LEAVING_FAILED_LEAST
        self.mine = own.lately
        self.theirs = total(each.lately for each in others)
        self.latency = Average()
        for each in others:
            count = each.latency.count
            self.latency.take(count, each.latency.seconds * count, memory=inf)

    @property
    def is_alone(self) -> bool:
        """Whether no other zone could receive anything."""
        return not self._others

    @property
    def run(self) -> int:
        """The answers of the zone since its last failure."""
        return self._own.run

    @property
    def rate(self) -> float:
        """Answers of the zone a second, about."""
        return self._own.rate

    @property
    def others_rate(self) -> float:
        """Answers of the others a second, about."""
        return sum(each.rate for each in self._others)

    @property
    def is_sick(self) -> bool:
        """Whether the zone fails often enough to be compared with others, and not for a few clients only."""
        mine = self.mine
        fails = mine.answers >= self._own_least and mine.failed >= self._failed_least and mine.ratio > MARGIN
        return fails and self._own.quiet.ratio > MARGIN

    @property
    def is_worse(self) -> bool:
        """Whether the zone fails more often than the others, for sure, whoever asks it."""
        if self.theirs.answers < _OTHERS_LEAST or not self.is_sick:
            return False
        is_sure = surely_worse(self.mine, self.theirs, margin=MARGIN, errors=self._errors)
        return is_sure and self._own.quiet.ratio > self.theirs.ratio + MARGIN

    @property
    def is_alike(self) -> bool:
        """Whether enough is known of the others to say that they are no better."""
        return self.theirs.answers >= _ALIKE_ANSWERS and self.mine.ratio <= self.theirs.ratio + MARGIN

    def may_be_burden(self, before: FailureCount, latency: Average) -> bool:
        """Whether the others may fail more often than `before`, or may have a higher `latency`."""
        if self.theirs.ratio > before.ratio + MARGIN:
            return True
        is_known = min(latency.count, self.latency.count) >= _LATENCY_LEAST
        return is_known and self.latency.seconds > latency.seconds * _SLOWER + _SLOWER_SECONDS

    def is_burden(self, before: FailureCount, latency: Average) -> bool:
        """Whether the others fail more often than `before`, or have a higher `latency`, for sure."""
        if surely_worse_than_before(self.theirs, before, margin=MARGIN, errors=_ERRORS):
            return True
        if latency.count < _LATENCY_LEAST or self.latency.count < _SLOWER_ANSWERS:
            return False
        limit = latency.seconds * (1.0 + _ERRORS * latency.error) * _SLOWER + _SLOWER_SECONDS
        return self.latency.seconds * (1.0 - _ERRORS * self.latency.error) > limit
