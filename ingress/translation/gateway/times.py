"""From the timeouts and retries of a rule to a policy. What a rule does not say is as the operator says.

Calls of gRPC pass an HTTPRoute as well: endpoints get them in HTTP/2, because HTTP/1.1 has no place for them.
"""

from __future__ import annotations

from typing import Final

import msgspec

from balancer.model.policies import RoutePolicy
from ingress.objects.gateway_routes import GrpcRule, HttpRule
from ingress.translation.gateway.durations import duration_seconds

_BROKEN: Final = ("error", "timeout")
"""What every `retry` is for beside its codes: connections that break, and attempts that take too long."""


def timed(policy: RoutePolicy, rule: HttpRule | GrpcRule) -> RoutePolicy:
    """`policy` with the times and retries of a rule that can be carried out, and how calls go on. `0s` is no bound."""
    if isinstance(rule, GrpcRule):
        return policy
    policy = msgspec.structs.replace(
        policy,
        request_seconds=duration_seconds(rule.timeouts.request) or 0.0,
        attempt_seconds=duration_seconds(rule.timeouts.backend_request) or 0.0,
        calls_in_http2=True,
    )
    if rule.retry is None:
        # The time of an attempt is no reason for another one unless `retry` asks for one (HTTPRouteRetry).
        without = tuple(each for each in policy.retry_on if each != "timeout" or not policy.attempt_seconds)
        return msgspec.structs.replace(policy, retry_on=without)
    attempts = 1 if rule.retry.attempts is None else max(0, rule.retry.attempts)
    return msgspec.structs.replace(
        policy,
        tries=attempts + 1,
        retry_on=tuple(dict.fromkeys((*(each for each in policy.retry_on if each != "off"), *_BROKEN))),
        retry_codes=tuple(sorted(set(rule.retry.codes))),
        retry_pause_seconds=duration_seconds(rule.retry.backoff) or 0.0,
        repeats_endpoints=True,
    )
