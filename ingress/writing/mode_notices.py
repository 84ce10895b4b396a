"""Turns changes of zone modes into notices, which become Events of their Services.

Does not know how a mode is found, nor how an Event is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from ingress.following.zone_modes import ModeChange
from ingress.objects.kinds import Kind
from ingress.sources.inventory import Inventory
from ingress.writing.notices import Notice


def mode_notices(changes: Iterable[ModeChange], inventory: Inventory, *, epoch_seconds: float) -> tuple[Notice, ...]:
    """The changes as notices about existing Services. The time in the note makes every notice a new one."""
    at = datetime.fromtimestamp(epoch_seconds, UTC).strftime("%H:%M:%S UTC")
    return tuple(
        Notice(
            kind=Kind.SERVICE.value,
            namespace=change.namespace,
            name=change.service,
            uid=service.metadata.uid,
            reason="ZoneModeEntered" if change.mode.zonal else "ZoneModeLeft",
            note=f"Since {at} {change.sentence}",
        )
        for change in changes
        if (service := inventory.service(change.namespace, change.service)) is not None
    )
