"""Names the ways in which a request that was forwarded ends, and decides which one it is. No I/O."""

from __future__ import annotations

from enum import Enum

from balancer.errors import AttemptError, ErrorKind


class Ending(Enum):
    """What the client gets in the end."""

    WHOLE = "the whole response of an endpoint"
    CUT = "a part of a response; it must never look complete"
    PAGE = "the error page of the route, in place of the response of an endpoint"
    STATUS = "a small page with the status of the error whose page could not be fetched"
    ERROR = "what went wrong"


def ending_of(error: AttemptError | None, page_status: int) -> Ending:
    """How a request ends whose last attempt failed with `error`, None if it did not fail.

    `page_status` is the status of the error whose page was fetched, 0 if the request itself was forwarded.
    """
    if error is None:
        return Ending.WHOLE
    if error.answered:
        return Ending.CUT
    if error.kind is ErrorKind.PASSED_OVER:
        return Ending.PAGE
    return Ending.STATUS if page_status and error.kind is not ErrorKind.CLIENT_LEFT else Ending.ERROR
