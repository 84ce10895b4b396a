"""Defines the state of an endpoint, why it is ejected, and what one worker tells the others of a replica about that.

Values only. Decides nothing: the rules are in `health.py`, and what clients met in `evidence.py`.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from balancer.picking.comparing import Comparison, Score


class Cause(Enum):
    """Why an endpoint is ejected: it failed in a row, failed far more often than the others, asked for a pause, was
    silent (`silence.py`), or failed for other replicas.
    """

    IN_A_ROW = "in_a_row"
    REPLICAS = "replicas"
    SILENCE = "silence"
    SHARE = "share"
    PAUSE = "pause"


class State(Enum):
    """The one state of an endpoint, from requests and active checks together. Failed checks are told first."""

    WELL = "well"
    EJECTED = "ejected"
    FAILS_CHECKS = "fails_checks"


class Testimony(NamedTuple):
    """What clients of one worker met at an endpoint (`own`) and at the others of its backend, before it was ejected.

    `good_by` and `bad_by` are answers of the endpoint by the place of the client, `everyone_by` the good answers of all
    endpoints.
    """

    own: Score = Score(0.0, 0.0)
    others: Score = Score(0.0, 0.0)
    good_by: tuple[float, ...] = ()
    bad_by: tuple[float, ...] = ()
    everyone_by: tuple[float, ...] = ()


NO_TESTIMONY: Final = Testimony()


class Ejected(NamedTuple):
    """Why an endpoint is ejected. `comparison` is what decided, and `testimony` what it was made of; without both:
    failures in a row, silence, or the word of other replicas.
    """

    cause: Cause
    comparison: Comparison | None = None
    testimony: Testimony = NO_TESTIMONY


class EjectionStep(NamedTuple):
    """The last step in the state of an endpoint, as other workers can take it over.

    `at` and `until` are seconds on the clock of picks, which all workers of a replica share. `until` None: it is back.
    """

    at: float
    until: float | None = None
    cause: Cause = Cause.IN_A_ROW
    ejections: int = 0
    testimony: Testimony = NO_TESTIMONY


def cause_of(why: Ejected | None) -> str:
    """What an endpoint did that is ejected for `why`, as the rest of a sentence about it."""
    cause, comparison, _ = why or Ejected(Cause.IN_A_ROW)
    if cause is Cause.SILENCE:
        return "left a connection pending, while other endpoints answered"
    if cause is Cause.REPLICAS:
        return "failed for other replicas"
    if comparison is None:
        return "failed too often in a row"
    own, others = comparison.own, comparison.others
    did = "asked for a pause (Retry-After) and failed" if cause is Cause.PAUSE else "failed"
    return f"{did} in {own.share:.0%} of about {own.answers:.0f} requests, the other endpoints in {others.share:.0%}"
