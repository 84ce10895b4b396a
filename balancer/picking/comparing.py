"""Decides whether one endpoint fails far more often than the other endpoints of its backend.

Evidence is relative only: a bad release or a broken dependency makes all endpoints alike, and nobody is worse then.
Works on counts, which may have faded. Knows neither endpoints nor time.
"""

from __future__ import annotations

import math
from typing import Final, NamedTuple

ANSWERS_LEAST: Final = 5.0
"""The fewest answers of the endpoint, and of the others together, with which the two are compared."""

ERRORS: Final = 5.0
"""How many standard errors two shares must differ. Endpoints are compared many times a minute, so chance
gets many tries.
"""

PAUSE_POINTS: Final = 50
"""An endpoint that asks for a pause gets one if its share of failures is higher by so many points of per cent."""


_ROW_CHANCE: Final = 1e-6
"""Chance makes a row of failures that counts about once in so many answers."""


class Score(NamedTuple):
    """Failures among answers. Both fade, so neither is a whole number."""

    failures: float
    answers: float

    @property
    def share(self) -> float:
        return self.failures / self.answers if self.answers > 0.0 else 0.0


class Comparison(NamedTuple):
    """What clients met at one endpoint and at the others.

    `rest` is what remains at the endpoint without the clients who met most of the failures; the same as `own` if there
    was no other client. No client alone can make an endpoint look bad, because others must meet failures there, too.
    """

    own: Score
    rest: Score
    others: Score

    @property
    def is_known(self) -> bool:
        """Whether there are answers of both, few as they may be: more than one of the endpoint."""
        return self.own.answers >= 1.5 and self.others.answers >= 1.0

    def is_worse(self, points: float) -> bool:
        """Whether the endpoint fails by so many points of per cent more often than the others, whoever asks it."""
        least = self.others.share + points / 100.0
        return self.own.share >= least and self.rest.share >= least

    def is_far_worse(self, points: float) -> bool:
        """Whether it `is_worse`, and chance does not explain that."""
        if self.own.answers < ANSWERS_LEAST or self.others.answers < ANSWERS_LEAST or not self.is_worse(points):
            return False
        return errors_apart(self.own, self.others) >= ERRORS


def row_least(others: Score) -> float:
    """So many failures in a row say something about an endpoint, while the other endpoints fail as `others` do.

    One where the others do not fail, and endless where they always do. What is known of few answers counts for less.
    """
    share = others.failures / (others.answers + ANSWERS_LEAST)
    return math.log(_ROW_CHANCE) / math.log(share) if share > _ROW_CHANCE else 1.0


def errors_apart(one: Score, other: Score) -> float:
    """By how many standard errors two shares differ: the root of twice the logarithm of their likelihood ratio.

    For many answers that is the usual quotient of difference and standard error. It holds for few answers, too, where
    the distribution of failures is skewed (Wilks 1938).
    """
    answers = one.answers + other.answers
    both = (one.failures + other.failures) / answers if answers > 0.0 else 0.0
    return math.sqrt(2.0 * (_surprise(one, both) + _surprise(other, both)))


def _surprise(score: Score, share: float) -> float:
    """How much less likely `score` is if `share` of all answers are failures, as a logarithm; never negative."""
    failures, good = score.failures, score.answers - score.failures
    surprise = 0.0
    if failures > 0.0:
        surprise += failures * math.log(score.share / share)
    if good > 0.0:
        surprise += good * math.log((1.0 - score.share) / (1.0 - share))
    return max(surprise, 0.0)
