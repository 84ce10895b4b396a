"""What one request holds until it is over: counts of gates, and the pace of its response."""

from __future__ import annotations

from collections.abc import Callable

from balancer.errors import AttemptError
from balancer.model.policies import RoutePolicy
from balancer.proxy.context import RequestContext
from balancer.proxy.pacing import PacedStream


def hold(context: RequestContext, release: Callable[[], None]) -> None:
    """Calls `release` when the request is over, however it ends."""
    context.held += (release,)


def pace(context: RequestContext, policy: RoutePolicy) -> None:
    """The response body must not be sent faster than `policy` says."""
    if not isinstance(context.stream, PacedStream):
        stream = PacedStream(context.stream, policy, context.alarm)
        context.stream = stream
        hold(context, stream.stop)


def lets_go(context: RequestContext, delivered: Callable[[AttemptError | None], None]) -> bool:
    """Gives back what is held. False: the response is still being written, and `delivered` is called after that."""
    stream = context.stream
    if isinstance(stream, PacedStream) and not stream.is_delivered(delivered):
        return False
    held = context.held
    context.held = ()
    for release in held:
        release()
    return True
