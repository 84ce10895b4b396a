"""Decides which endpoints of a backend are healthy: consecutive failures eject one, a single probe brings it back.

Judges what attempts and active checks report. Does not know what an endpoint is, nor how one is picked. Time is an
argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import Final

from balancer.errors import AttemptError, ErrorKind
from balancer.http.grpc import UNAVAILABLE
from balancer.model.endpoints import Ejection

# At the default ejection time of 10 s a repaired endpoint returns within half a minute, however often it failed before.
_EJECTIONS_COUNTED_MAX = 3
# After so many ejection times without a failure one ejection is forgiven: a minute at the default.
_QUIET_TIMES = 6

_ENDPOINT_FAULTS = frozenset(
    (
        ErrorKind.CONNECT_REFUSED,
        ErrorKind.CONNECT_TIMEOUT,
        ErrorKind.ENDPOINT_TLS,
        ErrorKind.ENDPOINT_CLOSED,
        ErrorKind.ENDPOINT_TIMEOUT,
        ErrorKind.INVALID_RESPONSE,
    )
)


class Outcome(Enum):
    """What an attempt says about its endpoint. `UNKNOWN`: the end of the attempt says nothing about the endpoint."""

    ANSWERED = "answered"
    ANSWERED_5XX = "answered_5xx"
    FAILED = "failed"
    UNKNOWN = "unknown"


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


_ANSWERED: Final = Outcome.ANSWERED  # a global name costs less than a member of a class


def outcome_of(error: AttemptError | None, status: int, grpc_status: int | None = None) -> Outcome:
    """The outcome of an attempt that ended with `error`, or with a response of `status`.

    `grpc_status` is the grpc-status of a gRPC call, else None. UNAVAILABLE counts as a failure, because gRPC reports a
    failed connection to the service with this status.
    """
    if error is not None and error.kind is not ErrorKind.PASSED_OVER:
        return Outcome.FAILED if error.kind in _ENDPOINT_FAULTS else Outcome.UNKNOWN
    if grpc_status == UNAVAILABLE:
        return Outcome.FAILED
    return Outcome.ANSWERED_5XX if status >= 500 else _ANSWERED


class EndpointHealth:
    """The state of one endpoint, which only `BackendHealth` changes. `ejected_until` None: not ejected."""

    __slots__ = (
        "ejected_until",
        "ejections",
        "failed_checks",
        "fails_checks",
        "failures",
        "probe_until",
        "returned_at",
    )

    def __init__(self) -> None:
        self.failures = self.ejections = self.failed_checks = 0
        self.ejected_until: float | None = None
        self.probe_until = self.returned_at = 0.0
        self.fails_checks = False

    @property
    def is_well(self) -> bool:
        return self.ejected_until is None and not self.fails_checks


def awaits_probe(endpoint: EndpointHealth, now: float) -> bool:
    """Whether the endpoint's ejection time is over, and no request probes it yet."""
    until = endpoint.ejected_until
    return until is not None and not endpoint.fails_checks and now >= until and now >= endpoint.probe_until


class BackendHealth:
    """The health of one backend, shared by all that pick from it.

    `impaired` holds the unhealthy endpoints. `version` grows with every change of `impaired`.
    """

    __slots__ = ("_endpoints", "_rules", "impaired", "version")

    def __init__(self, rules: Ejection, endpoints: Iterable[EndpointHealth]) -> None:
        self._rules = rules
        self._endpoints = set(endpoints)
        self.impaired: set[EndpointHealth] = set()
        self.version = 0

    def follow(self, rules: Ejection, endpoints: Iterable[EndpointHealth], *, checked: bool) -> None:
        """Takes over the rules and endpoints of the changed backend. Without active checks (`checked`), forgets the
        results of earlier checks.
        """
        self._rules = rules
        self._endpoints = set(endpoints)
        if not checked:
            for endpoint in self._endpoints:
                endpoint.fails_checks, endpoint.failed_checks = False, 0
        if self.impaired:
            self.impaired.intersection_update(endpoint for endpoint in self._endpoints if not endpoint.is_well)
        self.version += 1

    def report(self, endpoint: EndpointHealth, outcome: Outcome, now: float, probe: bool = False) -> Change | None:
        """Learns from an attempt. Returns what the attempt changed, if anything. `probe`: it was a probe."""
        if outcome is _ANSWERED and not probe:
            endpoint.failures = 0
            return None
        if endpoint not in self._endpoints or outcome is Outcome.UNKNOWN:
            if probe:
                endpoint.probe_until = 0.0
            return None
        failed = outcome is Outcome.FAILED or (outcome is Outcome.ANSWERED_5XX and self._rules.on_5xx)
        if probe and endpoint.ejected_until is not None:
            return self._judge_probe(endpoint, failed=failed, now=now)
        return self._count(endpoint, failed=failed, now=now)

    def checked(self, endpoint: EndpointHealth, *, passed: bool, threshold: int) -> Change | None:
        """Learns from an active check. Returns what the check changed, if anything.

        `threshold` failures in a row make an endpoint unhealthy. One success makes it healthy.
        """
        endpoint.failed_checks = 0 if passed else endpoint.failed_checks + 1
        fails = not passed and (endpoint.fails_checks or endpoint.failed_checks >= threshold)
        if fails == endpoint.fails_checks or endpoint not in self._endpoints:
            return None
        endpoint.fails_checks = fails
        self._note(endpoint)
        return Change.FAILS_CHECKS if fails else Change.PASSES_CHECKS

    def eject(self, endpoint: EndpointHealth, now: float) -> bool:
        """Ejects an endpoint on the evidence of the caller. Returns whether the rules allow that.

        Rules by which no failures in a row eject allow none of this either.
        """
        is_free = endpoint in self._endpoints and endpoint.ejected_until is None
        if not is_free or not self._rules.consecutive_errors or not self._may_eject():
            return False
        self._eject(endpoint, now)
        return True

    def take_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """Whether the endpoint's ejection time is over and the caller's request is its probe.

        Until that request is reported, or has taken as long as an ejection, no other request gets the probe.
        """
        if not awaits_probe(endpoint, now):
            return False
        endpoint.probe_until = now + self._rules.seconds
        return True

    def ejected(self) -> int:
        """The number of ejected endpoints."""
        return sum(endpoint.ejected_until is not None for endpoint in self.impaired)

    def _count(self, endpoint: EndpointHealth, *, failed: bool, now: float) -> Change | None:
        endpoint.failures = endpoint.failures + 1 if failed else 0
        is_due = 0 < self._rules.consecutive_errors <= endpoint.failures
        if not is_due or endpoint.ejected_until is not None or not self._may_eject():
            return None
        self._eject(endpoint, now)
        return Change.EJECTED

    def _judge_probe(self, endpoint: EndpointHealth, *, failed: bool, now: float) -> Change:
        if failed:
            self._eject(endpoint, now)
            return Change.EJECTED_AGAIN
        endpoint.ejected_until = None
        endpoint.failures = 0
        endpoint.returned_at = now
        self._note(endpoint)
        return Change.RETURNED

    def _may_eject(self) -> bool:
        """Whether one more endpoint may be ejected. `max_percent` is a share of all endpoints of the backend. Unless it
        is 0, one of two or more endpoints may always be ejected.
        """
        count, percent = len(self._endpoints), self._rules.max_percent
        least = 1 if count > 1 and percent else 0
        return self.ejected() < max(least, count * percent // 100)

    def _eject(self, endpoint: EndpointHealth, now: float) -> None:
        seconds = self._rules.seconds
        if endpoint.ejected_until is None and seconds > 0:
            forgiven = int((now - endpoint.returned_at) / (seconds * _QUIET_TIMES))
            endpoint.ejections = max(endpoint.ejections - forgiven, 0)
        endpoint.ejections = min(endpoint.ejections + 1, _EJECTIONS_COUNTED_MAX)
        endpoint.ejected_until = now + seconds * endpoint.ejections
        endpoint.probe_until = 0.0
        endpoint.failures = 0
        self._note(endpoint)

    def _note(self, endpoint: EndpointHealth) -> None:
        if endpoint.is_well:
            self.impaired.discard(endpoint)
        else:
            self.impaired.add(endpoint)
        self.version += 1
