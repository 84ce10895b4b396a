"""Decides the operator's drain: which zones requests leave, how far the drain has come, and which endpoints it affects.

A drain begins when the data plane first sees it. It is ramped, so that load moves no faster than other zones can take
it. Time is an argument, in seconds of a clock that never goes back.
"""

from __future__ import annotations

from math import inf

import msgspec

from balancer.model.endpoints import Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts


class Drain(msgspec.Struct, frozen=True):
    """The drained zones, sorted, each with the start of its drain. `-inf` means that there was no load to move."""

    zones: tuple[tuple[Zone, float], ...] = ()
    ramp_seconds: float = 30.0


class DrainStage(msgspec.Struct, frozen=True):
    """From `since` on a growing share of requests treats these `zones` as drained. They include those of earlier
    stages.
    """

    since: float
    zones: tuple[Zone, ...]


def drain_after(before: Drain | None, facts: ZoneFacts, now: float) -> Drain:
    """The drain that `facts` ask for at `now`. If `before` is None nothing is served yet, so there is no ramp."""
    begun = dict(before.zones) if before is not None else {}
    since = -inf if before is None else now
    return Drain(
        zones=tuple((zone, begun.get(zone, since)) for zone in facts.drained),
        ramp_seconds=facts.drain_ramp_seconds,
    )


def share(*, since: float, now: float, ramp_seconds: float) -> float:
    """The share of requests, 0 to 1, to which a drain that began at `since` applies at `now`."""
    if since == -inf or now - since >= ramp_seconds:
        return 1.0
    return (now - since) / ramp_seconds if now > since else 0.0


def stages(drain: Drain) -> tuple[DrainStage, ...]:
    """The stages of a drain, from the one that every request sees to the one before the last drain began.

    The first stage applies to all requests. Each later stage applies to at most the share of the stage before it, and
    drains at least as much. So one random number between 0 and 1 selects the stage of a request.
    """
    begins = sorted({since for _, since in drain.zones} | {-inf})
    return tuple(
        DrainStage(since=begin, zones=tuple(zone for zone, since in drain.zones if since <= begin)) for begin in begins
    )


def leaves_load_balancers(own: OwnZone, facts: ZoneFacts) -> bool:
    """Whether a replica in the zone `own` shall say that it is not ready, so that load balancers leave it.

    Never unless a ready replica is known in a zone that is not drained: otherwise clients would reach nobody.
    """
    if not facts.drained_replicas_leave or own.zone not in facts.drained:
        return False
    return any(count > 0 and zone not in facts.drained for zone, count in facts.replicas or ())


def apart(ready: tuple[Endpoint, ...], drained: tuple[Zone, ...]) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """The endpoints that stay in use, and those in drained zones. If none would stay, all stay."""
    staying = tuple(endpoint for endpoint in ready if endpoint.zone not in drained)
    if not drained or not staying:
        return ready, ()
    return staying, tuple(endpoint for endpoint in ready if endpoint.zone in drained)
