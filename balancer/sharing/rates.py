"""Limits how often something may happen, by the generic cell rate algorithm. No I/O, no clock.

Source: ITU-T I.371 (virtual scheduling), with the numbers of nginx's `limit_req burst=N nodelay`: of requests that come
at once, 1 + burst pass, and after that one for each interval. Refused requests do not count.
"""

from __future__ import annotations

from typing import NamedTuple

from balancer.model.limits import Rate

_SECOND_NS = 1_000_000_000
# 73 years: times to come fit into eight bytes whatever the burst.
_LONGEST_NS = 2**61


class Schedule(NamedTuple):
    """A rate in nanoseconds: the `interval` between two requests, and how far ahead of time a request may come."""

    interval: int
    tolerance: int


def schedule_of(rate: Rate) -> Schedule:
    """The schedule of a rate of at least one request."""
    interval = rate.seconds * _SECOND_NS // rate.requests
    return Schedule(interval, min(interval * rate.burst, _LONGEST_NS))


def due_after(schedule: Schedule, due: int, now: int) -> int | None:
    """The time at which the request after this one is due; None if this one comes too early and is refused.

    `due` is the time at which this one is due. Any time up to `now` stands for a client without earlier requests.
    """
    if due - now > schedule.tolerance:
        return None
    return (due if due > now else now) + schedule.interval
