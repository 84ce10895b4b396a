"""Decides which endpoints of a backend are healthy. One that fails is ejected, and a single probe brings it back.

An endpoint is ejected when it fails several times in a row, or far more often than the other endpoints of the backend,
when it asks for a pause, or on the evidence of others. While others suspect it, fewer failures in a row are enough.
Judges what attempts and active checks report. Does not know what an endpoint is, nor how one is picked. Time is an
argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from balancer.model.endpoints import Ejection
from balancer.picking.comparing import PAUSE_POINTS
from balancer.picking.ejections import NO_TESTIMONY, Cause, Ejected, EjectionStep
from balancer.picking.endpoint_health import Change, EndpointHealth, TroubleRecord, awaits_probe
from balancer.picking.evidence import MEMORY_SECONDS, Witness
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

_BY_REPLICAS: Final = Ejected(Cause.REPLICAS)
_BY_COMPARISON: Final = frozenset((Cause.SHARE, Cause.PAUSE))
_NONE_IMPAIRED: Final[set[EndpointHealth]] = set()  # one for all backends, and always empty
_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class


class BackendHealth:
    """The health of one backend, shared by all that pick from it.

    `impaired` are the unhealthy endpoints; who keeps them takes `own_impaired`. `version` grows with every change of
    them.
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
        self.impaired = _NONE_IMPAIRED
        self.version = 0

    def own_impaired(self) -> set[EndpointHealth]:
        """`impaired`, which is the same object from now on. Most of thousands of backends never need one."""
        if self.impaired is _NONE_IMPAIRED:
            self.impaired = set()
        return self.impaired

    def follow(self, rules: Ejection, endpoints: Iterable[EndpointHealth], *, checked: bool) -> None:
        """Takes over the rules and endpoints of the changed backend. Without active checks (`checked`), forgets the
        results of earlier checks. Whoever was ejected by a rule that is switched off now is back.
        """
        self._rules = rules
        self._endpoints = set(endpoints)
        self._witness.follow(self._endpoints)
        for endpoint in self.impaired:
            if endpoint.ejected_until is not None and not self._is_ejected_by_rule(endpoint):
                self._let_in(endpoint)
        if not checked:
            for endpoint in self._endpoints:
                endpoint.fails_checks = False
                if endpoint.trouble is not None:
                    endpoint.trouble.failed_checks = 0
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
                endpoint.record().probe_until = 0.0
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
        fails = False
        if not passed:
            trouble = endpoint.record()
            trouble.failed_checks += 1
            fails = endpoint.fails_checks or trouble.failed_checks >= threshold
        elif endpoint.trouble is not None:
            endpoint.trouble.failed_checks = 0
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
        trouble = endpoint.record()
        if trouble.suspected_until <= now:
            trouble.suspected_answers = endpoint.answers
        trouble.suspected_until = until

    def eject_suspect(self, endpoint: EndpointHealth, now: float) -> bool:
        """Ejects an endpoint about which other replicas agree, unless it has answered here since they suspect it."""
        trouble = endpoint.record()
        is_contradicted = trouble.suspected_until <= now or endpoint.answers != trouble.suspected_answers
        return not is_contradicted and self.eject(endpoint, now, _BY_REPLICAS)

    def hear(self, endpoint: EndpointHealth, step: EjectionStep | None, now: float, *, fails: bool) -> bool:
        """Another worker of this replica tells its last step, and whether the endpoint `fails` there without one.

        The latest step of all workers is taken over. An endpoint that is well here is ejected only if what this
        worker has seen since it first heard of those failures agrees. Returns whether a step was taken over.
        """
        if endpoint not in self._endpoints:
            return False
        trouble = endpoint.record()
        if step is not None and step.at > trouble.stepped_at:
            return self._take_over(endpoint, trouble, step, now)
        if fails and endpoint.ejected_until is None:
            trouble.doubted_answers = endpoint.answers
            self._witness.doubt(endpoint, now, now + MEMORY_SECONDS)
        return False

    def take_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """Whether the endpoint's ejection time is over and the caller's request is its probe.

        Until that request is reported, or has taken as long as an ejection, no other request gets the probe.
        """
        if not awaits_probe(endpoint, now):
            return False
        endpoint.record().probe_until = now + self._rules.seconds
        return True

    def take_early_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """Whether the caller's request is the probe, before the ejection time is over.

        An endpoint that has asked for a pause gets no early probe.
        """
        trouble = endpoint.trouble
        if trouble is None or endpoint.ejected_until is None or endpoint.fails_checks or now < trouble.probe_until:
            return False
        if trouble.why is not None and trouble.why.cause is Cause.PAUSE:
            return False
        trouble.probe_until = now + self._rules.seconds
        return True

    def ejected(self) -> int:
        """The number of ejected endpoints."""
        return sum(endpoint.ejected_until is not None for endpoint in self.impaired)

    def _count(self, endpoint: EndpointHealth, outcome: Outcome, now: float) -> Change | None:
        """Counts failures in a row."""
        if not self._fails(outcome):
            if endpoint.trouble is not None:
                endpoint.trouble.failures = 0
            return None
        trouble = endpoint.record()
        if endpoint.answers != trouble.row_began or not trouble.failures:
            trouble.failures = 0
            trouble.row_began = endpoint.answers
            trouble.row_began_at = now
        trouble.failures += 1
        most = self._rules.consecutive_errors
        if most > SUSPECTED_FAILURES and now < trouble.suspected_until:
            most = SUSPECTED_FAILURES
        if not 0 < most <= trouble.failures or not self._may_eject():
            return None
        witness = self._witness
        if outcome is not Outcome.UNREACHED and (
            witness.is_chance(endpoint, trouble.failures)
            or not witness.is_believed(endpoint, now - trouble.row_began_at)
        ):
            return None
        return self._eject(endpoint, now, Ejected(Cause.IN_A_ROW))

    def _compare(self, endpoint: EndpointHealth, outcome: Outcome, now: float, pause_seconds: float) -> Change | None:
        """Compares an endpoint that failed with the others."""
        points = self._rules.failure_percent
        if not points or outcome not in FAILURES or not self._may_eject():
            return None
        told = endpoint.record().told if endpoint.is_doubted(now) else NO_TESTIMONY
        comparison = self._witness.compare(endpoint, told)
        if pause_seconds > 0.0 and comparison.is_known and comparison.is_worse(PAUSE_POINTS):
            why = Ejected(Cause.PAUSE, comparison, self._witness.testimony(endpoint))
            return self._eject(endpoint, now, why, min(pause_seconds, PAUSE_SECONDS_MAX))
        if comparison.is_far_worse(points):
            return self._eject(endpoint, now, Ejected(Cause.SHARE, comparison, self._witness.testimony(endpoint)))
        return None

    def _take_over(self, endpoint: EndpointHealth, trouble: TroubleRecord, step: EjectionStep, now: float) -> bool:
        until = step.until
        if until is None and endpoint.ejected_until is not None:
            self._take_back(endpoint, step.at)
        elif until is not None and now < until:
            why = trouble.why if endpoint.ejected_until is not None else self._borne_out(endpoint, trouble, step, now)
            if why is None:
                return False
            if endpoint.ejected_until is None:
                self._leave_out(endpoint, trouble, why)
            trouble.ejections = step.ejections
            trouble.counted_until = until
            endpoint.ejected_until = until + _AFTER_OTHERS_SECONDS
            self._note(endpoint)
        trouble.stepped_at = step.at
        return True

    def _borne_out(
        self, endpoint: EndpointHealth, trouble: TroubleRecord, step: EjectionStep, now: float
    ) -> Ejected | None:
        """Why the endpoint is ejected here as well; None unless what was seen here agrees with the other worker."""
        if not self._may_eject():
            return None
        if step.cause not in _BY_COMPARISON:
            return Ejected(step.cause) if endpoint.answers == trouble.doubted_answers else None
        trouble.told = step.testimony
        self._witness.doubt(endpoint, now, now + MEMORY_SECONDS)
        comparison, points = self._witness.compare(endpoint, step.testimony), self._rules.failure_percent
        is_worse = comparison.is_worse(PAUSE_POINTS) if step.cause is Cause.PAUSE else comparison.is_far_worse(points)
        return Ejected(step.cause, comparison, step.testimony) if points and is_worse else None

    def _fails(self, outcome: Outcome) -> bool:
        """Whether an outcome is one of the failures that are counted in a row."""
        return outcome in UNANSWERED or (outcome is Outcome.ANSWERED_5XX and self._rules.on_5xx)

    def _judge_probe(self, endpoint: EndpointHealth, outcome: Outcome, now: float) -> Change | None:
        """A probe fails by what would have counted for the ejection. An early one that fails changes nothing."""
        why = endpoint.why
        is_compared = why is not None and why.comparison is not None
        if outcome in FAILURES if is_compared else self._fails(outcome):
            if endpoint.ejected_until is not None and now < endpoint.ejected_until:
                endpoint.record().probe_until = 0.0
                return None
            self._eject(endpoint, now, why)
            return Change.EJECTED_AGAIN
        self._take_back(endpoint, now)
        return Change.RETURNED

    def _is_ejected_by_rule(self, endpoint: EndpointHealth) -> bool:
        """Whether the rules still have the one by which the endpoint was ejected."""
        rules, why = self._rules, endpoint.why
        is_compared = why is not None and why.cause in _BY_COMPARISON
        return bool(rules.max_percent and (rules.failure_percent if is_compared else rules.consecutive_errors))

    def _let_in(self, endpoint: EndpointHealth) -> None:
        self._witness.take_back(endpoint)
        endpoint.ejected_until = None
        trouble = endpoint.record()
        trouble.why = None
        trouble.failures = 0

    def _take_back(self, endpoint: EndpointHealth, at: float) -> None:
        self._let_in(endpoint)
        trouble = endpoint.record()
        trouble.returned_at = at
        trouble.stepped_at = at
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
        seconds, trouble = self._rules.seconds, endpoint.record()
        if endpoint.ejected_until is None and seconds > 0:
            forgiven = int((now - trouble.returned_at) / (seconds * _QUIET_TIMES))
            trouble.ejections = max(trouble.ejections - forgiven, 0)
        if pause_seconds is None:
            if now >= trouble.counted_until:  # else an early probe brought it back, and it has failed again
                trouble.ejections = min(trouble.ejections + 1, _EJECTIONS_COUNTED_MAX)
                trouble.counted_until = now + seconds * trouble.ejections
            pause_seconds = seconds * trouble.ejections
        endpoint.ejected_until = now + pause_seconds
        trouble.stepped_at = now
        self._leave_out(endpoint, trouble, why)
        self._note(endpoint)
        return Change.EJECTED

    def _leave_out(self, endpoint: EndpointHealth, trouble: TroubleRecord, why: Ejected | None) -> None:
        trouble.why = why
        trouble.told = NO_TESTIMONY
        trouble.probe_until = 0.0
        trouble.failures = 0
        self._witness.take_out(endpoint)

    def _note(self, endpoint: EndpointHealth) -> None:
        impaired = self.own_impaired()
        if endpoint.is_well:
            impaired.discard(endpoint)
        else:
            impaired.add(endpoint)
        self.version += 1
