"""Decides which of the operator's drains are in force at a time, when that changes, and what is told about those over.

Time is an argument, in seconds of the Unix epoch. Does not know what a drain does.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from balancer.model.zones import Zone
from ingress.findings import Report, Severity
from ingress.settings.zone_values import ZoneDrain


def zones_drained(drains: Iterable[ZoneDrain], *, now_epoch_seconds: float) -> tuple[Zone, ...]:
    """The zones whose drain is not over, in the order of `drains`."""
    return tuple(drain.zone for drain in drains if not _is_over(drain, now_epoch_seconds))


def next_end(drains: Iterable[ZoneDrain], *, now_epoch_seconds: float) -> float | None:
    """When the next drain ends by itself; None if none does."""
    ends = (drain.until_epoch_seconds for drain in drains if not _is_over(drain, now_epoch_seconds))
    return min((end for end in ends if end is not None), default=None)


def note_drains_over(drains: Iterable[ZoneDrain], report: Report, *, now_epoch_seconds: float) -> None:
    """Notes the drains that are over and still written down."""
    for drain in drains:
        if _is_over(drain, now_epoch_seconds):
            report.add(
                reason="ZoneDrainOver",
                message=(
                    f"The drain of zone {drain.zone} is over since {_written(drain.until_epoch_seconds)}: take it "
                    f"out of zone-drain (kubectl zonal undrain {drain.zone}), or give it a later time."
                ),
                effect="The zone is not drained.",
                severity=Severity.COSMETIC,
            )


def _is_over(drain: ZoneDrain, now_epoch_seconds: float) -> bool:
    return drain.until_epoch_seconds is not None and drain.until_epoch_seconds <= now_epoch_seconds


def _written(epoch_seconds: float | None) -> str:
    return datetime.fromtimestamp(epoch_seconds or 0, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
