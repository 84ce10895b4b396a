"""Decides when a finding is told in the log and in Events: at once, or when it has lasted some seconds.

An apply brings its objects one after the other, so for a moment an Ingress lacks what is about to come: its Service,
ready endpoints, a Secret, a permission. Such a finding is known at once, and told when it stays. Time is an argument,
in seconds of a monotonic clock. Does not know who is told.
"""

from __future__ import annotations

from collections.abc import Iterable

from ingress.findings import Finding

AGE_SECONDS = 5.0
"""How long a finding about what may come must last before it is told."""

PASSING = frozenset(
    {
        "ApiForbidden",
        "ApiRejected",
        "ApiUnreachable",
        "CanaryWithoutMain",
        "CertificateUnusable",
        "ClientTlsDenied",
        "ConfigMapMissing",
        "EndpointPortMissing",
        "EndpointSliceMissing",
        "EndpointTlsDenied",
        "EndpointZoneMissing",
        "HintsUnread",
        "IngressClassMissing",
        "NameNotResolved",
        "NoReadyEndpoint",
        "OwnZoneEmpty",
        "ServiceMissing",
        "ServicePortMissing",
        "SignInDenied",
        "ZoneOverloadUnseen",
        "ZoneWithoutReplica",
    }
)
"""The reasons of findings about objects that may be about to come, or to be read."""

_Topic = tuple[str, str, str, str]


class Ageing:
    """All findings that there are, and since when. A finding whose text has changed is as old as before."""

    __slots__ = ("_age_seconds", "_findings", "_since")

    def __init__(self, *, age_seconds: float = AGE_SECONDS) -> None:
        self._age_seconds = age_seconds
        self._findings: tuple[Finding, ...] = ()
        self._since: dict[_Topic, float] = {}

    def follow(self, findings: Iterable[Finding], now: float) -> None:
        """Takes all findings that there are from `now` on."""
        self._findings = tuple(findings)
        passing = (_topic(finding) for finding in self._findings if finding.reason in PASSING)
        self._since = {topic: self._since.get(topic, now) for topic in passing}

    def told(self, now: float) -> tuple[Finding, ...]:
        """The findings to tell at `now`, in their order."""
        young = {topic for topic, since in self._since.items() if now - since < self._age_seconds}
        return tuple(finding for finding in self._findings if _topic(finding) not in young)

    def wait_seconds(self, now: float) -> float | None:
        """Seconds from `now` until the next finding is to be told; None if all are."""
        ages = [now - since for since in self._since.values()]
        young = [age for age in ages if age < self._age_seconds]
        return self._age_seconds - max(young) if young else None


def _topic(finding: Finding) -> _Topic:
    return finding.kind, finding.namespace, finding.name, finding.reason
