"""Keeps the findings that requests, other replicas and Leases have shown, beside those about objects. No I/O."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from balancer.workers.messages import ZoneReport
from ingress.findings import Finding
from ingress.following.fleet_findings import finding_of_crowd, findings_of_events, findings_of_expired
from ingress.following.sick_zones import SickZones
from ingress.replicas.others import REPLICAS_MOST


class Observed:
    """All such findings. `see` is told all of them after each change.

    `left` are the zones that requests leave here, each with its backend.
    """

    __slots__ = ("_crowd", "_events", "_expired", "_leases", "_sick", "_zones", "left", "see")

    def __init__(self) -> None:
        self._zones = SickZones()
        self._sick: tuple[Finding, ...] = ()
        self._events: tuple[Finding, ...] = ()
        self._leases: tuple[Finding, ...] = ()
        self._crowd: tuple[Finding, ...] = ()
        self._expired: tuple[Finding, ...] = ()
        self.left: frozenset[tuple[str, str]] = frozenset()
        self.see: Callable[[tuple[Finding, ...]], object] = lambda _: None

    def reported(self, zones: Iterable[ZoneReport], *, at_epoch_seconds: float) -> None:
        """Workers have reported these zones."""
        reports = tuple(zones)
        self.left = frozenset((zone.backend, zone.zone) for zone in reports if zone.begun is not None)
        self._sick = self._zones.follow(reports, at_epoch_seconds=at_epoch_seconds)
        self._tell()

    def sick_for_all(self, zones: Iterable[str]) -> None:
        """These zones are sick for the fleet."""
        self._events = findings_of_events(zones)
        self._tell()

    def leases(self, findings: tuple[Finding, ...]) -> None:
        """This is what is wrong with the Leases of replicas."""
        self._leases = findings
        self._tell()

    def crowded(self, is_crowded: bool) -> None:
        """Whether there are more replicas than tell each other."""
        self._crowd = (finding_of_crowd(REPLICAS_MOST),) if is_crowded else ()
        self._tell()

    def expired(self, places: tuple[str, ...]) -> None:
        """The certificates of the replicas at these places have expired."""
        self._expired = findings_of_expired(places)
        self._tell()

    def _tell(self) -> None:
        self.see((*self._sick, *self._events, *self._leases, *self._crowd, *self._expired))
