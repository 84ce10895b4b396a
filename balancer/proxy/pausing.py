"""The pause of a route between an attempt that has failed and the next one.

The client may leave meanwhile, and the time of the request may end. Does not know who is tried next, nor why.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from balancer.errors import ErrorKind
from balancer.picking.members import Pick
from balancer.proxy import timing
from balancer.proxy.context import RequestContext

Resume = Callable[[Pick, float, ErrorKind | None], None]
"""Goes on with the pick at that time (of `time.perf_counter`), unless it says why the request has to end instead."""


def pause(context: RequestContext, following: Pick, resume: Resume, now: float) -> None:
    """Calls `resume` with `following` after the pause that the policy of the route asks for.

    A pause is no longer than what is left of the request at `now`. An error of `resume` breaks the request off.
    """
    context.waiting.waits()
    seconds = min(context.policy.retry_pause_seconds, max(timing.request_left(context, now), 0.0))
    context.supplies.loop.call_later(seconds, _resumed, context, following, resume)


def _resumed(context: RequestContext, following: Pick, resume: Resume) -> None:
    now = time.perf_counter()
    try:
        resume(following, now, _obstacle(context, now))
    except Exception:
        context.break_off()
    finally:
        context.waiting.waited()


def _obstacle(context: RequestContext, now: float) -> ErrorKind | None:
    """Why there is no next attempt after the pause."""
    if context.stream.closed:
        return ErrorKind.CLIENT_LEFT
    return ErrorKind.CALL_TIMEOUT if timing.request_left(context, now) <= 0 else None
