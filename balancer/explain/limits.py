"""Collects the limits of a route in one value, for people and tools.

Does not know how limits are enforced.
"""

from __future__ import annotations

import msgspec

from balancer.model.endpoints import Backend
from balancer.model.policies import RoutePolicy


class Limits(msgspec.Struct, frozen=True):
    """The limits of a request of a route. Sizes in bytes, durations in seconds; 0 means no limit.

    `tries` includes the first one, and `retry_seconds` bounds all tries together. Concurrency counts requests of each
    worker.
    """

    max_body_bytes: int
    connect_timeout_seconds: float
    send_timeout_seconds: float
    read_timeout_seconds: float
    tries: int
    retry_seconds: float
    max_concurrency: int
    max_concurrency_per_endpoint: int


def limits_of(policy: RoutePolicy, backend: Backend) -> Limits:
    """The limits of a route with `policy` that leads to `backend`."""
    return Limits(
        max_body_bytes=policy.max_body_bytes,
        connect_timeout_seconds=policy.connect_timeout_seconds,
        send_timeout_seconds=policy.send_timeout_seconds,
        read_timeout_seconds=policy.read_timeout_seconds,
        tries=policy.tries,
        retry_seconds=policy.retry_seconds,
        max_concurrency=backend.max_concurrency,
        max_concurrency_per_endpoint=backend.max_concurrency_per_endpoint,
    )
