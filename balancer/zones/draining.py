"""The operator's drain: zones that are to be left, how far that has come, and which endpoints it concerns.

A drain begins when the data plane first sees it and is ramped, so that the load moves no faster than others can take it
over. Time comes in as seconds of a clock that never goes back.
"""

from __future__ import annotations

from math import inf

import msgspec

from balancer.model import Endpoint, Zone, ZoneFacts


class Drain(msgspec.Struct, frozen=True):
    """The drained zones, sorted, each with when its drain began; `-inf`: before there was any load to move."""

    zones: tuple[tuple[Zone, float], ...] = ()
    ramp_seconds: float = 30.0


class Stage(msgspec.Struct, frozen=True):
    """From `since` on a growing share of requests sees these `zones` drained, those of earlier stages among them."""

    since: float
    zones: tuple[Zone, ...]


def drain_after(before: Drain | None, facts: ZoneFacts, now: float) -> Drain:
    """The drain that `facts` ask for at `now`. `before` None: nothing is served yet, so there is nothing to ramp."""
    begun = dict(before.zones) if before is not None else {}
    since = -inf if before is None else now
    return Drain(
        zones=tuple((zone, begun.get(zone, since)) for zone in facts.drained),
        ramp_seconds=facts.drain_ramp_seconds,
    )


def share(*, since: float, now: float, ramp_seconds: float) -> float:
    """The share of requests, 0 to 1, for which a drain that began at `since` holds at `now`."""
    if since == -inf or now - since >= ramp_seconds:
        return 1.0
    return (now - since) / ramp_seconds if now > since else 0.0


def stages(drain: Drain) -> tuple[Stage, ...]:
    """The steps from what every request sees to what none sees before the last drain began.

    The first holds for all. The share of each later one is at most that of the one before it, and it drains at least as
    much: one draw between 0 and 1 says for a request which one is its own.
    """
    begins = sorted({since for _, since in drain.zones} | {-inf})
    return tuple(
        Stage(since=begin, zones=tuple(zone for zone, since in drain.zones if since <= begin)) for begin in begins
    )


def apart(ready: tuple[Endpoint, ...], drained: tuple[Zone, ...]) -> tuple[tuple[Endpoint, ...], tuple[Endpoint, ...]]:
    """The endpoints that stay in use, and those in drained zones. Where nothing would stay, all do."""
    staying = tuple(endpoint for endpoint in ready if endpoint.zone not in drained)
    if not drained or not staying:
        return ready, ()
    return staying, tuple(endpoint for endpoint in ready if endpoint.zone in drained)
