"""Holds the health of one endpoint: whether it is ejected or fails its checks, and what led there.

Values only, which `health.py` changes. Time is seconds of a clock that never goes back.
"""

from __future__ import annotations

from enum import Enum
from typing import Final

from balancer.picking.ejections import NO_TESTIMONY, Cause, Ejected, EjectionStep, State
from balancer.picking.evidence import Experience

# An ejected endpoint counts as one that failed so often.
_EJECTED_FAILURES: Final = 5


class Change(Enum):
    """What a report changed about an endpoint. `EJECTED_AGAIN`: its probe failed, so it stays ejected for longer.

    `FELL_SILENT`: it is ejected because a connect to it is pending for long; `HEARD`: it returns because one was made.
    """

    EJECTED = "ejected"
    FELL_SILENT = "fell_silent"
    EJECTED_AGAIN = "ejected_again"
    RETURNED = "returned"
    HEARD = "heard"
    FAILS_CHECKS = "fails_checks"
    PASSES_CHECKS = "passes_checks"


class TroubleRecord:
    """What happened to an endpoint that failed, was ejected, or was suspected by others.

    `failures` are those in a row; the endpoint had given `row_began` good answers when the row began, at
    `row_began_at`. `why` None: it is not ejected. `ejections` is how often it was, lately; until `counted_until` a
    further one counts as the last one, which has not lasted its time. `failed_checks` are active checks in a row.
    `stepped_at` is when it was ejected or came back last, here or in another worker. No other request
    probes it before `probe_until`. Other replicas suspect it until `suspected_until`; it had given `suspected_answers`
    when that began, and `doubted_answers` when another worker of this replica met a failure. `told` is what that one
    met, while the endpoint is doubted.
    """

    __slots__ = (
        "counted_until",
        "doubted_answers",
        "ejections",
        "failed_checks",
        "failures",
        "probe_until",
        "returned_at",
        "row_began",
        "row_began_at",
        "stepped_at",
        "suspected_answers",
        "suspected_until",
        "told",
        "why",
    )

    def __init__(self) -> None:
        self.failures = 0
        self.ejections = 0
        self.counted_until = 0.0
        self.failed_checks = 0
        self.row_began = 0
        self.row_began_at = 0.0
        self.why: Ejected | None = None
        self.stepped_at = 0.0
        self.doubted_answers = 0
        self.suspected_answers = 0
        self.suspected_until = 0.0
        self.probe_until = 0.0
        self.returned_at = 0.0
        self.told = NO_TESTIMONY


class EndpointHealth(Experience):
    """The state of one endpoint, which only `BackendHealth` changes. `ejected_until` None: it is not ejected.

    `trouble` None: there was none yet, as with most of thousands of endpoints.
    """

    __slots__ = ("ejected_until", "fails_checks", "trouble")

    def __init__(self) -> None:
        super().__init__()
        self.ejected_until: float | None = None
        self.fails_checks = False
        self.trouble: TroubleRecord | None = None

    def record(self) -> TroubleRecord:
        """The record of the endpoint's trouble, to be written to; made if there is none."""
        trouble = self.trouble
        if trouble is None:
            trouble = TroubleRecord()
            self.trouble = trouble
        return trouble

    @property
    def is_well(self) -> bool:
        return self.ejected_until is None and not self.fails_checks

    @property
    def why(self) -> Ejected | None:
        """Why the endpoint is ejected; None if it is not."""
        return None if self.trouble is None else self.trouble.why

    @property
    def failures_in_a_row(self) -> int:
        """Failures here since the last good answer; many if it is ejected by what was seen here."""
        trouble = self.trouble
        if trouble is None:
            return 0
        if self.ejected_until is not None:
            return 0 if trouble.why is not None and trouble.why.cause is Cause.REPLICAS else _EJECTED_FAILURES
        return trouble.failures if self.answers == trouble.row_began else 0

    @property
    def step(self) -> EjectionStep | None:
        """The last step, for other workers to take over; None if there was none, or if all workers know it anyway."""
        trouble = self.trouble
        if trouble is None or not trouble.stepped_at:
            return None
        until, why = self.ejected_until, trouble.why
        if until is None or why is None:
            return EjectionStep(trouble.stepped_at)
        if why.cause is Cause.REPLICAS:
            return None
        return EjectionStep(trouble.stepped_at, until, why.cause, trouble.ejections, why.testimony)

    @property
    def state(self) -> State:
        if self.fails_checks:
            return State.FAILS_CHECKS
        return State.WELL if self.ejected_until is None else State.EJECTED

    def is_suspected(self, now: float) -> bool:
        """Whether other replicas have seen it fail lately."""
        return self.trouble is not None and now < self.trouble.suspected_until


def awaits_probe(endpoint: EndpointHealth, now: float) -> bool:
    """Whether the endpoint's ejection time is over, and no request probes it yet."""
    until = endpoint.ejected_until
    return until is not None and not endpoint.fails_checks and now >= until and now >= endpoint.record().probe_until
