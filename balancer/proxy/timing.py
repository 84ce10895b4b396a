"""How long a request and each of its attempts may take, by its route and by what the client of a gRPC call says.

The alarm of a request knows one limit: whichever time ends first.
"""

from __future__ import annotations

import time

from balancer.errors import ErrorKind
from balancer.http import grpc
from balancer.proxy import holding
from balancer.proxy.context import RequestContext
from balancer.runtime.deadlines import NEVER


def request_left(context: RequestContext, now: float) -> float:
    """The seconds that a request has left as a whole at `now`, none from 0 on. Endless if nothing bounds them."""
    seconds = context.policy.request_seconds or NEVER
    if context.is_call:
        said = grpc.timeout_seconds(context.outgoing.request.fields)
        seconds = seconds if said is None else min(seconds, said)
    return seconds - (now - context.account.started)


def bound(context: RequestContext, now: float) -> None:
    """Bounds the rate of the response and the time of the request, by the policy of its route."""
    policy = context.policy
    if policy.body_rate:
        holding.pace(context, policy)
    if policy.request_seconds or policy.attempt_seconds:
        hold_limit(context, now)


def begin_call(context: RequestContext, now: float) -> None:
    """The request is a gRPC call, which ends when the time is over that its client gives it."""
    context.is_call = True
    if grpc.timeout_seconds(context.outgoing.request.fields) is not None:
        hold_limit(context, now)


def hold_limit(context: RequestContext, now: float) -> None:
    """`limit`, until the request is over."""
    limit(context, now)
    alarm = context.alarm
    holding.hold(context, lambda: alarm.unlimit())  # noqa: PLW0108 -- a typed method itself cannot be handed out


def limit(context: RequestContext, now: float) -> None:
    """Limits what is left of the request, and its attempt that begins at `now`."""
    alarm = context.alarm
    alarm.limit_to(min(request_left(context, now), context.policy.attempt_seconds or NEVER))


def limit_passed(context: RequestContext) -> ErrorKind:
    """What has failed when a limit is over: the endpoint took too long, unless the request has no time left either."""
    is_whole = not context.policy.attempt_seconds or request_left(context, time.perf_counter()) <= 0
    return ErrorKind.CALL_TIMEOUT if is_whole else ErrorKind.ENDPOINT_TIMEOUT
