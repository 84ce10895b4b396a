"""Writes log lines about endpoints that were ejected, fail their checks, or returned, and about zones that are left.

Bounds how many lines endpoints can cause, because some endpoints flap, and a failing zone affects hundreds. Time is an
argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

import logging
from typing import Final

from balancer.model.endpoints import place_of
from balancer.model.zones import UNKNOWN_ZONE
from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import cause_of
from balancer.picking.endpoint_health import Change
from balancer.picking.members import Member
from balancer.zones.evacuation import ZoneChange, ZoneTurn

_LOG = logging.getLogger(__name__)

BURST: Final = 50
"""Lines that a worker may write at once."""

PER_SECOND: Final = 0.5
"""Lines that a worker may write in the long run."""

_LEVELS: Final = {
    Change.EJECTED: logging.WARNING,
    Change.FELL_SILENT: logging.WARNING,
    Change.RETURNED: logging.INFO,
    Change.HEARD: logging.INFO,
    Change.FAILS_CHECKS: logging.WARNING,
    Change.PASSES_CHECKS: logging.INFO,
}
"""A failed probe has no line, because the endpoint stays ejected."""


class HealthLog:
    """Writes the lines of one worker."""

    __slots__ = ("_at", "_left", "_left_out")

    def __init__(self) -> None:
        self._left = float(BURST)
        self._at = 0.0
        self._left_out = 0

    def tell(self, runtime: BackendRuntime, member: Member, change: Change, *, now: float, why: str = "") -> None:
        """Writes one line about a change of a member of `runtime`.

        `why` is our own name for the last failure, never text of the endpoint. Beyond the bound the line is left out,
        and the next line says how many lines were.
        """
        level = _LEVELS.get(change)
        if level is None:
            return
        if not self._may_write(now):
            self._left_out += 1
            return
        endpoint = (
            f"endpoint {member.label} ({member.endpoint.zone or UNKNOWN_ZONE}) of {place_of(runtime.backend.key)}"
        )
        left_out = f" ({self._left_out} lines about endpoints were left out before this one)" if self._left_out else ""
        self._left_out = 0
        _LOG.log(level, "%s %s%s", endpoint, _what(member, change, now=now, why=why), left_out)

    def tell_zone(self, runtime: BackendRuntime, change: ZoneChange, *, now: float) -> None:
        """Writes one line about a zone that requests of `runtime` begin to leave, or to which all are back."""
        if not self._may_write(now):
            self._left_out += 1
            return
        begins = change.turn is ZoneTurn.BEGUN
        what = "is left" if begins else f"has its requests back after {change.seconds:.0f} s"
        dry_run = "" if runtime.plans.leaves_zones else " (dry run: no request leaves)"
        _LOG.log(
            logging.WARNING if begins else logging.INFO,
            "zone %s of %s %s%s: lately %s of its answers failed, of other zones %s",
            *(change.zone, place_of(runtime.backend.key), what, dry_run, change.own.words, change.others.words),
        )

    def _may_write(self, now: float) -> bool:
        self._left = min(float(BURST), self._left + max(0.0, now - self._at) * PER_SECOND)
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


def _what(member: Member, change: Change, *, now: float, why: str) -> str:
    match change:
        case Change.EJECTED:
            seconds = (member.health.ejected_until or now) - now
            return f"is ejected for {seconds:g} s: it {cause_of(member.health.why)}, last with {why}"
        case Change.FELL_SILENT:
            seconds = (member.health.ejected_until or now) - now
            return f"is ejected for {seconds:g} s: a connection to it is pending, while other endpoints answer"
        case Change.HEARD:
            return "is back: a connection to it was made"
        case Change.RETURNED:
            return "is back: it answered the request that probed it"
        case Change.FAILS_CHECKS:
            return "fails its active health checks"
        case _:
            return "passes its active health checks again"
