"""Documents of `/debug/overview` as a replica would serve them, with what a test cares about."""

from __future__ import annotations

from typing import Any

import msgspec

from ingress.admin.overview.document import FORMAT, Flow, LocalityCounts, Mode, Overview, ReplicaFacts, ServiceRow
from ingress.admin.overview.document import DurationCounts as Durations

BOUNDS = (0.001, 0.01, 0.1)


def overview(at: float = 100.0, *, started: float = 1.0, facts: Any = None, **parts: Any) -> Overview:
    """A document with these parts."""
    replica = msgspec.structs.replace(ReplicaFacts(version="1.2.3"), started_at_epoch_seconds=started, **(facts or {}))
    return Overview(format=FORMAT, at_epoch_seconds=at, bounds_seconds=BOUNDS, replica=replica, **parts)


def flow(to: str, requests: int, *, own: str = "zone-a", errors: int = 0, size: int = 0, price: float = 0.0) -> Flow:
    """The traffic from a zone to another, with the bytes that were received."""
    return Flow(own, to, requests=requests, errors=errors, received_bytes=size, received_price=price)


def service(name: str, local: int = 0, remote: int = 0, **fields: Any) -> ServiceRow:
    """A Service with so many requests."""
    given = {"mode": Mode.ZONAL, "reason": "zone_local", "policy": "prefer-zone", **fields}
    return ServiceRow("shop", name, requests=LocalityCounts(local, remote), **given)


def durations(local: tuple[int, ...] = (), remote: tuple[int, ...] = ()) -> Durations:
    """Counts of durations for `BOUNDS`, and one more for longer ones."""
    return Durations(local, remote)
