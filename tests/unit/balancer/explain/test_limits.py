"""The limits of a route come from its policy and its backend."""

from __future__ import annotations

import msgspec

from balancer.explain.limits import Limits, limits_of
from balancer.model.policies import RoutePolicy
from tests import builders as build


def test_limits_are_those_of_the_policy_and_the_backend() -> None:
    policy = RoutePolicy(1.0, 2.0, 3.0, max_body_bytes=4, tries=5, retry_seconds=6.0)
    backend = msgspec.structs.replace(build.backend(), max_concurrency=7, max_concurrency_per_endpoint=8)
    assert limits_of(policy, backend) == Limits(
        max_body_bytes=4,
        connect_timeout_seconds=1.0,
        send_timeout_seconds=3.0,
        read_timeout_seconds=2.0,
        tries=5,
        retry_seconds=6.0,
        max_concurrency=7,
        max_concurrency_per_endpoint=8,
    )
