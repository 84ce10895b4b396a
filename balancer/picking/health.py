"""Decides which endpoints of a backend are healthy. One that fails is ejected, and a single probe brings it back.

An endpoint is ejected when it fails several times in a row, or far more often than the other endpoints of the backend,
when it asks for a pause, or on the evidence of others. While others suspect it, fewer failures in a row are enough.
Judges what attempts and active checks report. Does not know what an endpoint is, nor how one is picked. Time is an
argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import Final

from balancer.model.endpoints import Ejection
from balancer.picking.comparing import PAUSE_POINTS
from balancer.picking.ejections import NO_TESTIMONY, Cause, Ejected, EjectionStep, State
from balancer.picking.evidence import MEMORY_SECONDS, Experience, Witness
from balancer.picking.outcomes import FAILURES, NOBODY, UNANSWERED, Asker, Outcome
from balancer.sharing.peers import NO_OTHERS

PAUSE_SECONDS_MAX: Final = 30.0
"""The longest pause that an endpoint gets for its Retry-After."""

# At the default ejection time of 10 s a repaired endpoint returns within half a minute, however often it failed before.
_EJECTIONS_COUNTED_MAX = 3
# After so many ejection times without a failure one ejection is forgiven: a minute at the default.
_QUIET_TIMES = 6

SUSPECTED_FAILURES: Final = 2
"""So many failures in a row eject an endpoint that others suspect."""

# Whoever took over an ejection probes so much later than the worker that ejected, whose probe is enough.
_AFTER_OTHERS_SECONDS: Final = 1.0

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


_BY_REPLICAS: Final = Ejected(Cause.REPLICAS)
_BY_COMPARISON: Final = frozenset((Cause.SHARE, Cause.PAUSE))
_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class


class EndpointHealth(Experience):
    """The state of one endpoint, which only `BackendHealth` changes. `ejected_until` and `why` None: not ejected.

    `failures` are those in a row; `answers` was `row_began` when the row began, at `row_began_at`. Other replicas
    suspect it until `suspected_until`; `answers` was `suspected_answers` when that began, and `doubted_answers` when
    another worker of this replica met a failure. `told` is what that one met, until `doubted_until`. `stepped_at` is
    when it was ejected or came back last, here or in another worker.
    """

    __slots__ = (
        "doubted_answers",
        "ejected_until",
        "ejections",
        "failed_checks",
        "fails_checks",
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
        super().__init__()
        self.failures = 0
        self.ejections = 0
        self.failed_checks = 0
        self.row_began = 0
        self.row_began_at = 0.0
        self.ejected_until: float | None = None
        self.why: Ejected | None = None
        self.stepped_at = 0.0
        self.doubted_answers = 0
        self.suspected_answers = 0
        self.suspected_until = 0.0
        self.probe_until = 0.0
        self.returned_at = 0.0
        self.fails_checks = False
        self.told = NO_TESTIMONY

    @property
    def is_well(self) -> bool:
        return self.ejected_until is None and not self.fails_checks

    @property
    def failures_in_a_row(self) -> int:
        """Failures here since the last good answer; many if it is ejected by what was seen here."""
        if self.ejected_until is not None:
            return 0 if self.why is not None and self.why.cause is Cause.REPLICAS else _EJECTED_FAILURES
        return self.failures if self.answers == self.row_began else 0

    @property
    def step(self) -> EjectionStep | None:
        """The last step, for other workers to take over; None if there was none, or if all workers know it anyway."""
        if not self.stepped_at:
            return None
        until, why = self.ejected_until, self.why
        if until is None or why is None:
            return EjectionStep(self.stepped_at)
        if why.cause is Cause.REPLICAS:
            return None
        return EjectionStep(self.stepped_at, until, why.cause, self.ejections, why.testimony)

    @property
    def state(self) -> State:
        if self.fails_checks:
            return State.FAILS_CHECKS
        return State.WELL if self.ejected_until is None else State.EJECTED


def awaits_probe(endpoint: EndpointHealth, now: float) -> bool:
    """Whether the endpoint's ejection time is over, and no request probes it yet."""
    until = endpoint.ejected_until
    return until is not None and not endpoint.fails_checks and now >= until and now >= endpoint.probe_until


class BackendHealth:
    """The health of one backend, shared by all that pick from it.

    `impaired` holds the unhealthy endpoints. `version` grows with every change of `impaired`.
    """

    __slots__ = ("_endpoints", "_rules", "_witness", "impaired", "version")

    def __init__(
        self,
        rules: Ejection,
        endpoints: Iterable[EndpointHealth],
        place_of: Callable[[bytes], int] = NO_OTHERS.place_of,
    ) -> None:
        """`place_of` says where a client is counted; see `Others`."""
        self._rules = rules
        self._endpoints = set(endpoints)
        self._witness = Witness(self._endpoints, place_of)
        self.impaired: set[EndpointHealth] = set()
        self.version = 0

    def follow(self, rules: Ejection, endpoints: Iterable[EndpointHealth], *, checked: bool) -> None:
        """Takes over the rules and endpoints of the changed backend. Without active checks (`checked`), forgets the
        results of earlier checks.
        """
        self._rules = rules
        self._endpoints = set(endpoints)
        self._witness.follow(self._endpoints)
        if not checked:
            for endpoint in self._endpoints:
                endpoint.fails_checks = False
                endpoint.failed_checks = 0
        if self.impaired:
            self.impaired.intersection_update(endpoint for endpoint in self._endpoints if not endpoint.is_well)
        self.version += 1

    def report(
        self, endpoint: EndpointHealth, outcome: Outcome, now: float, probe: bool = False, asker: Asker = NOBODY
    ) -> Change | None:
        """Learns from an attempt. Returns what the attempt changed, if anything. `probe`: it was a probe."""
        if outcome is _ANSWERED and not endpoint.is_watched:
            endpoint.answers += 1
            return None
        if endpoint not in self._endpoints or outcome is Outcome.UNKNOWN:
            if probe:
                endpoint.probe_until = 0.0
            return None
        if probe and endpoint.ejected_until is not None:
            return self._judge_probe(endpoint, outcome, now)
        witness = self._witness
        if outcome in FAILURES:
            witness.note_failure(endpoint, asker.client, now)
        else:
            endpoint.answers += 1
            witness.note_answer(endpoint, asker.client, now)
        if endpoint.ejected_until is not None:
            return None  # what was on its way before neither ends nor prolongs an ejection
        return self._count(endpoint, outcome, now) or self._compare(endpoint, outcome, now, asker.pause_seconds)

    def checked(self, endpoint: EndpointHealth, *, passed: bool, threshold: int) -> Change | None:
        """Learns from an active check. Returns what the check changed, if anything.

        `threshold` failures in a row make an endpoint unhealthy. One success makes it healthy.
        """
        endpoint.failed_checks = 0 if passed else endpoint.failed_checks + 1
        fails = not passed and (endpoint.fails_checks or endpoint.failed_checks >= threshold)
        if fails == endpoint.fails_checks or endpoint not in self._endpoints:
            return None
        endpoint.fails_checks = fails
        if passed and endpoint.ejected_until is None:
            self._witness.take_back(endpoint)
        self._note(endpoint)
        return Change.FAILS_CHECKS if fails else Change.PASSES_CHECKS

    def eject(self, endpoint: EndpointHealth, now: float, why: Ejected) -> bool:
        """Ejects an endpoint on the evidence of the caller. Returns whether the rules allow that.

        Rules by which no failures in a row eject allow none of this either.
        """
        is_free = endpoint in self._endpoints and endpoint.ejected_until is None
        if not is_free or not self._rules.consecutive_errors or not self._may_eject():
            return False
        self._eject(endpoint, now, why)
        return True

    @property
    def is_on(self) -> bool:
        """Whether what attempts show may eject an endpoint on the evidence of a caller."""
        return bool(self._rules.consecutive_errors)

    def suspect(self, endpoint: EndpointHealth, now: float, until: float) -> None:
        """Others have seen failures of an endpoint, which counts until `until`."""
        if endpoint.suspected_until <= now:
            endpoint.suspected_answers = endpoint.answers
        endpoint.suspected_until = until

    def eject_suspect(self, endpoint: EndpointHealth, now: float) -> bool:
        """Ejects an endpoint about which other replicas agree, unless it has answered here since they suspect it."""
        is_contradicted = endpoint.suspected_until <= now or endpoint.answers != endpoint.suspected_answers
        return not is_contradicted and self.eject(endpoint, now, _BY_REPLICAS)

    def hear(self, endpoint: EndpointHealth, step: EjectionStep | None, now: float, *, fails: bool) -> bool:
        """Another worker of this replica tells its last step, and whether the endpoint `fails` there without one.

        The latest step of all is taken over. An endpoint that is well here is ejected only if what was met here since
        it fails elsewhere bears the other worker out. Returns whether a step was taken over.
        """
        if endpoint not in self._endpoints:
            return False
        if step is not None and step.at > endpoint.stepped_at:
            return self._take_over(endpoint, step, now)
        if fails and endpoint.ejected_until is None:
            endpoint.doubted_answers = endpoint.answers
            self._witness.doubt(endpoint, now, now + MEMORY_SECONDS)
        return False

    def take_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """Whether the endpoint's ejection time is over and the caller's request is its probe.

        Until that request is reported, or has taken as long as an ejection, no other request gets the probe.
        """
        if not awaits_probe(endpoint, now):
            return False
        endpoint.probe_until = now + self._rules.seconds
        return True

    def take_early_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """The same before the ejection time is over, unless the endpoint has asked for a pause."""
        is_paused = endpoint.why is not None and endpoint.why.cause is Cause.PAUSE
        if is_paused or endpoint.ejected_until is None or endpoint.fails_checks or now < endpoint.probe_until:
            return False
        endpoint.probe_until = now + self._rules.seconds
        return True

    def ejected(self) -> int:
        """The number of ejected endpoints."""
        return sum(endpoint.ejected_until is not None for endpoint in self.impaired)

    def _count(self, endpoint: EndpointHealth, outcome: Outcome, now: float) -> Change | None:
        """Counts failures in a row."""
        if not self._fails(outcome):
            endpoint.failures = 0
            return None
        if endpoint.answers != endpoint.row_began or not endpoint.failures:
            endpoint.failures = 0
            endpoint.row_began = endpoint.answers
            endpoint.row_began_at = now
        endpoint.failures += 1
        most = self._rules.consecutive_errors
        if most > SUSPECTED_FAILURES and now < endpoint.suspected_until:
            most = SUSPECTED_FAILURES
        if not 0 < most <= endpoint.failures or not self._may_eject():
            return None
        if outcome is not Outcome.UNREACHED and not self._witness.is_believed(endpoint, now - endpoint.row_began_at):
            return None
        return self._eject(endpoint, now, Ejected(Cause.IN_A_ROW))

    def _compare(self, endpoint: EndpointHealth, outcome: Outcome, now: float, pause_seconds: float) -> Change | None:
        """Compares an endpoint that failed with the others."""
        points = self._rules.failure_percent
        if not points or outcome not in FAILURES or not self._may_eject():
            return None
        told = endpoint.told if now < endpoint.doubted_until else NO_TESTIMONY
        comparison = self._witness.compare(endpoint, told)
        if pause_seconds > 0.0 and comparison.is_known and comparison.is_worse(PAUSE_POINTS):
            why = Ejected(Cause.PAUSE, comparison, self._witness.testimony(endpoint))
            return self._eject(endpoint, now, why, min(pause_seconds, PAUSE_SECONDS_MAX))
        if comparison.is_far_worse(points):
            return self._eject(endpoint, now, Ejected(Cause.SHARE, comparison, self._witness.testimony(endpoint)))
        return None

    def _take_over(self, endpoint: EndpointHealth, step: EjectionStep, now: float) -> bool:
        until = step.until
        if until is None and endpoint.ejected_until is not None:
            self._take_back(endpoint, step.at)
        elif until is not None and now < until:
            why = endpoint.why if endpoint.ejected_until is not None else self._borne_out(endpoint, step, now)
            if why is None:
                return False
            if endpoint.ejected_until is None:
                self._leave_out(endpoint, why)
            endpoint.ejections = step.ejections
            endpoint.ejected_until = until + _AFTER_OTHERS_SECONDS
            self._note(endpoint)
        endpoint.stepped_at = step.at
        return True

    def _borne_out(self, endpoint: EndpointHealth, step: EjectionStep, now: float) -> Ejected | None:
        """Why the endpoint is ejected for what another worker has seen; None if that would not be right here (yet)."""
        if not self._may_eject():
            return None
        if step.cause not in _BY_COMPARISON:
            return Ejected(step.cause) if endpoint.answers == endpoint.doubted_answers else None
        endpoint.told = step.testimony
        self._witness.doubt(endpoint, now, now + MEMORY_SECONDS)
        comparison, points = self._witness.compare(endpoint, step.testimony), self._rules.failure_percent
        is_worse = comparison.is_worse(PAUSE_POINTS) if step.cause is Cause.PAUSE else comparison.is_far_worse(points)
        return Ejected(step.cause, comparison, step.testimony) if points and is_worse else None

    def _fails(self, outcome: Outcome) -> bool:
        """Whether an outcome is one of the failures that are counted in a row."""
        return outcome in UNANSWERED or (outcome is Outcome.ANSWERED_5XX and self._rules.on_5xx)

    def _judge_probe(self, endpoint: EndpointHealth, outcome: Outcome, now: float) -> Change:
        """A probe fails by what would have counted for the ejection."""
        why = endpoint.why
        is_compared = why is not None and why.comparison is not None
        if outcome in FAILURES if is_compared else self._fails(outcome):
            self._eject(endpoint, now, why)
            return Change.EJECTED_AGAIN
        self._take_back(endpoint, now)
        return Change.RETURNED

    def _take_back(self, endpoint: EndpointHealth, at: float) -> None:
        self._witness.take_back(endpoint)
        endpoint.ejected_until = None
        endpoint.why = None
        endpoint.failures = 0
        endpoint.returned_at = at
        endpoint.stepped_at = at
        self._note(endpoint)

    def _may_eject(self) -> bool:
        """Whether one more endpoint may be ejected. `max_percent` is a share of all endpoints of the backend. Unless it
        is 0, one of two or more endpoints may always be ejected.
        """
        count, percent = len(self._endpoints), self._rules.max_percent
        least = 1 if count > 1 and percent else 0
        return self.ejected() < max(least, count * percent // 100)

    def _eject(
        self, endpoint: EndpointHealth, now: float, why: Ejected | None, pause_seconds: float | None = None
    ) -> Change:
        """Ejects for the time of the rules, more often longer; or for `pause_seconds`."""
        seconds = self._rules.seconds
        if endpoint.ejected_until is None and seconds > 0:
            forgiven = int((now - endpoint.returned_at) / (seconds * _QUIET_TIMES))
            endpoint.ejections = max(endpoint.ejections - forgiven, 0)
        if pause_seconds is None:
            endpoint.ejections = min(endpoint.ejections + 1, _EJECTIONS_COUNTED_MAX)
            pause_seconds = seconds * endpoint.ejections
        endpoint.ejected_until = now + pause_seconds
        endpoint.stepped_at = now
        self._leave_out(endpoint, why)
        self._note(endpoint)
        return Change.EJECTED

    def _leave_out(self, endpoint: EndpointHealth, why: Ejected | None) -> None:
        endpoint.why = why
        endpoint.told = NO_TESTIMONY
        endpoint.probe_until = 0.0
        endpoint.failures = 0
        self._witness.take_out(endpoint)

    def _note(self, endpoint: EndpointHealth) -> None:
        if endpoint.is_well:
            self.impaired.discard(endpoint)
        else:
            self.impaired.add(endpoint)
        self.version += 1
