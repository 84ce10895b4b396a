"""Which endpoints of a backend are well: failing in a row ejects one, a single probe request brings it back.

Responsible for what attempts and active checks say about endpoints. It must not know what an endpoint is, nor how one
is picked; time comes in with each report, as seconds of a clock that never goes back.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from balancer.errors import AttemptError, ErrorKind
from balancer.model import Ejection

# At the default ejection time of 10 s a repaired endpoint is back within half a minute, however often it failed before.
_EJECTIONS_COUNTED_MAX = 3
# Ejection times without a failure after which one ejection is forgiven: a minute at the default.
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
    """What an attempt tells about its endpoint; `UNKNOWN` is one that ended for another's reasons."""

    ANSWERED = "answered"
    ANSWERED_5XX = "answered_5xx"
    FAILED = "failed"
    UNKNOWN = "unknown"


def outcome_of(error: AttemptError | None, *, status: int) -> Outcome:
    """The outcome of an attempt that ended with `error`, or with a response of `status`."""
    if error is not None and error.kind is not ErrorKind.PASSED_OVER:
        return Outcome.FAILED if error.kind in _ENDPOINT_FAULTS else Outcome.UNKNOWN
    return Outcome.ANSWERED_5XX if status >= 500 else Outcome.ANSWERED


class EndpointHealth:
    """The state of one endpoint; only `BackendHealth` changes it. `ejected_until` None: not ejected."""

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
    """Whether the endpoint has served its time, and nobody tries it yet."""
    until = endpoint.ejected_until
    return until is not None and not endpoint.fails_checks and now >= until and now >= endpoint.probe_until


class BackendHealth:
    """The health of one backend, shared by all that pick from it.

    `impaired` holds the endpoints that are not well, and `version` grows with every change of it.
    """

    __slots__ = ("_endpoints", "_rules", "impaired", "version")

    def __init__(self, rules: Ejection, endpoints: Iterable[EndpointHealth]) -> None:
        self._rules = rules
        self._endpoints = set(endpoints)
        self.impaired: set[EndpointHealth] = set()
        self.version = 0

    def follow(self, rules: Ejection, endpoints: Iterable[EndpointHealth], *, checked: bool) -> None:
        """The backend has changed. Without active checks (`checked`), what they said no longer counts."""
        self._rules = rules
        self._endpoints = set(endpoints)
        if not checked:
            for endpoint in self._endpoints:
                endpoint.fails_checks, endpoint.failed_checks = False, 0
        if self.impaired:
            self.impaired.intersection_update(endpoint for endpoint in self._endpoints if not endpoint.is_well)
        self.version += 1

    def report(self, endpoint: EndpointHealth, outcome: Outcome, *, now: float, probe: bool = False) -> bool:
        """Learn from an attempt; whether it ejected the endpoint. `probe`: the attempt was that of `take_probe`."""
        if outcome is Outcome.ANSWERED and not probe:
            endpoint.failures = 0
            return False
        if endpoint not in self._endpoints or outcome is Outcome.UNKNOWN:
            if probe:
                endpoint.probe_until = 0.0
            return False
        failed = outcome is Outcome.FAILED or (outcome is Outcome.ANSWERED_5XX and self._rules.on_5xx)
        if probe and endpoint.ejected_until is not None:
            return self._judge_probe(endpoint, failed=failed, now=now)
        if not failed:
            endpoint.failures = 0
            return False
        endpoint.failures += 1
        if not 0 < self._rules.consecutive_errors <= endpoint.failures:
            return False
        return endpoint.ejected_until is None and self._may_eject() and self._eject(endpoint, now)

    def checked(self, endpoint: EndpointHealth, *, passed: bool, threshold: int) -> None:
        """Learn from an active check: `threshold` failures in a row make an endpoint unwell, one success well."""
        endpoint.failed_checks = 0 if passed else endpoint.failed_checks + 1
        fails = not passed and (endpoint.fails_checks or endpoint.failed_checks >= threshold)
        if fails != endpoint.fails_checks and endpoint in self._endpoints:
            endpoint.fails_checks = fails
            self._note(endpoint)

    def take_probe(self, endpoint: EndpointHealth, now: float) -> bool:
        """Whether the endpoint has served its time and the caller's request is the one to try it.

        Until that request is reported, or has taken as long as an ejection, nobody else gets the probe.
        """
        if not awaits_probe(endpoint, now):
            return False
        endpoint.probe_until = now + self._rules.seconds
        return True

    def ejected(self) -> int:
        """How many endpoints are ejected."""
        return sum(endpoint.ejected_until is not None for endpoint in self.impaired)

    def _judge_probe(self, endpoint: EndpointHealth, *, failed: bool, now: float) -> bool:
        if failed:
            return self._eject(endpoint, now)
        endpoint.ejected_until = None
        endpoint.failures = 0
        endpoint.returned_at = now
        self._note(endpoint)
        return False

    def _may_eject(self) -> bool:
        """The cap counts the whole backend; where two or more are left, one may always go."""
        count, percent = len(self._endpoints), self._rules.max_percent
        least = 1 if count > 1 and percent else 0
        return self.ejected() < max(least, count * percent // 100)

    def _eject(self, endpoint: EndpointHealth, now: float) -> bool:
        seconds = self._rules.seconds
        if endpoint.ejected_until is None and seconds > 0:
            forgiven = int((now - endpoint.returned_at) / (seconds * _QUIET_TIMES))
            endpoint.ejections = max(endpoint.ejections - forgiven, 0)
        endpoint.ejections = min(endpoint.ejections + 1, _EJECTIONS_COUNTED_MAX)
        endpoint.ejected_until = now + seconds * endpoint.ejections
        endpoint.probe_until = 0.0
        endpoint.failures = 0
        self._note(endpoint)
        return True

    def _note(self, endpoint: EndpointHealth) -> None:
        if endpoint.is_well:
            self.impaired.discard(endpoint)
        else:
            self.impaired.add(endpoint)
        self.version += 1
