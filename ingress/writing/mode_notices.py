"""Changes of zone modes as notices, which become Events of their Services.

It must not know how a mode is found out, nor how an Event is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from ingress.inventory import Inventory
from ingress.objects import Kind
from ingress.writing.notices import Notice
from ingress.zone_modes import ModeChange


def mode_notices(changes: Iterable[ModeChange], inventory: Inventory, *, epoch_seconds: float) -> tuple[Notice, ...]:
    """The changes as notices about Services that exist. The time makes each another one than the last of its kind."""
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
