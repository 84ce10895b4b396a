"""Decides whether an endpoint is in the own zone."""

from __future__ import annotations

from enum import Enum

from balancer.model.zones import Zone


class Locality(Enum):
    """Local, remote, or unknown if either zone is unknown."""

    LOCAL = "local"
    REMOTE = "remote"
    UNKNOWN = "unknown"


def locality_of(endpoint_zone: Zone | None, own_zone: Zone | None) -> Locality:
    """The locality of an endpoint in `endpoint_zone` as seen from `own_zone`."""
    if endpoint_zone is None or own_zone is None:
        return Locality.UNKNOWN
    return Locality.LOCAL if endpoint_zone == own_zone else Locality.REMOTE
