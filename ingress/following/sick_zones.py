"""Decides what is reported about zones that requests leave because their answers fail: one finding for each Service.

The text stays the same from the beginning to the end, because every new text would be another Event and another line.
So it has the figures that decided, and not those of now. Time is an argument. Does not know who is told.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Final

import msgspec

from balancer.workers.messages import ZoneEvidence, ZoneReport
from balancer.zones.departure import LEVELS
from ingress.findings import Finding, Findings, Severity, Subject
from ingress.objects.kinds import Kind

REASON: Final = "ZoneSick"
_Place = tuple[str, str, str]


class _LeftZone(msgspec.Struct, frozen=True):
    """A zone that is left. `dry_run`: no request really leaves. `staying` names those whose requests stay."""

    since_epoch_seconds: float
    evidence: ZoneEvidence
    dry_run: bool
    staying: str


class SickZones:
    """The zones that are left now, by namespace, Service and zone; of several ports of a Service the one that is left
    furthest counts.
    """

    __slots__ = ("_findings", "_left")

    def __init__(self) -> None:
        self._left: dict[_Place, _LeftZone] = {}
        self._findings: tuple[Finding, ...] = ()

    def follow(self, zones: Iterable[ZoneReport], *, at_epoch_seconds: float) -> tuple[Finding, ...]:
        """The findings after `zones` were reported at this Unix time. The same object as long as nothing has changed.

        A zone that is missing is no longer left. A finding ends with the last zone of its Service.
        """
        before = self._left
        self._left = {}
        for report in sorted(zones, key=lambda each: each.share, reverse=True):
            if report.begun is not None:
                place = report.namespace, report.service, report.zone
                new = _LeftZone(at_epoch_seconds - report.seconds, report.begun, report.dry_run, report.staying)
                self._left.setdefault(place, _continued(before.get(place), new))
        if before != self._left:
            self._findings = _findings(self._left)
        return self._findings


def _continued(before: _LeftZone | None, new: _LeftZone) -> _LeftZone:
    if before is None or (before.dry_run, before.staying) != (new.dry_run, new.staying):
        return new
    return before


def _findings(left: dict[_Place, _LeftZone]) -> tuple[Finding, ...]:
    services: dict[tuple[str, str], dict[str, _LeftZone]] = {}
    for (namespace, service, zone), each in sorted(left.items()):
        services.setdefault((namespace, service), {})[zone] = each
    found = Findings()
    for (namespace, name), zones in services.items():
        found.add(
            Subject(Kind.SERVICE.value, namespace, name),
            reason=REASON,
            message=f"{' '.join(_sentence(zone, each) for zone, each in zones.items())} {_WHAT_TO_DO}",
            effect=_effect(all(each.dry_run for each in zones.values())),
            severity=Severity.DEGRADED,
        )
    return found.frozen()


_WHAT_TO_DO: Final = "Find out what fails there; docs/zones.md#when-a-zone-is-sick says how."


def _sentence(zone: str, left: _LeftZone) -> str:
    at = datetime.fromtimestamp(left.since_epoch_seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    seen = left.evidence
    own, others = _share(seen.failed, seen.answers), _share(seen.other_failed, seen.other_answers)
    what = "would leave (dry run)" if left.dry_run else "leave"
    stay = f" Requests of {left.staying} stay: settings there leave no zone." if left.staying else ""
    return f"Since {at} requests {what} {zone}: {own} of its answers failed, of other zones {others}.{stay}"


def _share(failed: int, answers: int) -> str:
    return f"{failed} of {answers} ({failed / max(1, answers):.0%})"


def _effect(dry_run: bool) -> str:
    if dry_run:
        return 'No request leaves in a dry run, so clients get these failures. zone-evacuation "true" lets them leave.'
    return (
        f"Up to {LEVELS[-1]:.0%} of the zone's requests go to other zones, in steps. They return by themselves when "
        "its answers are well; nothing must be done for that."
    )
