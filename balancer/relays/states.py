"""How far a relay has come, and what follows from what happens on its two connections. No I/O, no clock."""

from __future__ import annotations

from enum import Enum
from typing import Final

from balancer.errors import ErrorKind


class Fault(Enum):
    """Why a relay was cut although both sides could have gone on. The values are metric labels and log words."""

    IDLE = "stream_idle"
    REVOKED = "stream_revoked"
    DRAINED = "stream_drained"
    NO_ROUTE = "stream_no_route"


End = ErrorKind | Fault | None
"""How a relay ended. None: both sides have said everything."""

_STATUSES: Final = {
    None: 200,
    ErrorKind.CLIENT_LEFT: 200,
    Fault.IDLE: 200,
    Fault.REVOKED: 403,
    Fault.DRAINED: 200,
    Fault.NO_ROUTE: 404,
    ErrorKind.NO_BACKEND: 503,
    ErrorKind.BACKEND_INVALID: 500,
    ErrorKind.NO_ENDPOINT: 503,
    ErrorKind.OVERLOADED: 503,
    ErrorKind.CONNECT_TIMEOUT: 504,
}


def status_of(end: End) -> int:
    """The status of the line in the access log, in the words of nginx's stream module where that has one."""
    return _STATUSES.get(end, 502)


class AfterEnd(Enum):
    """What follows from the end of what one side says."""

    NOTHING = 0
    HALF_CLOSE = 1
    """The other side is told that no more will come."""
    CLOSE = 2
    """Both sides have said everything."""


class Halves:
    """Which side has said everything."""

    __slots__ = ("client_ended", "endpoint_ended")

    def __init__(self) -> None:
        self.client_ended = False
        self.endpoint_ended = False

    def ended(self, *, is_client: bool) -> AfterEnd:
        """One side says no more."""
        if self.has_ended(is_client=is_client):
            return AfterEnd.NOTHING
        if is_client:
            self.client_ended = True
        else:
            self.endpoint_ended = True
        return AfterEnd.CLOSE if self.client_ended and self.endpoint_ended else AfterEnd.HALF_CLOSE

    def has_ended(self, *, is_client: bool) -> bool:
        """Whether one side has said everything."""
        return self.client_ended if is_client else self.endpoint_ended


_ELSEWHERE: Final = frozenset((ErrorKind.CONNECT_REFUSED, ErrorKind.CONNECT_TIMEOUT, ErrorKind.ENDPOINT_TLS))


def may_go_elsewhere(kind: ErrorKind, *, tried: int, tries: int) -> bool:
    """Whether another endpoint may be tried after a connect that failed. Nothing was sent, so it is always safe.

    `tried` endpoints were tried so far, of at most `tries`; 0: any number.
    """
    return kind in _ELSEWHERE and not tried >= tries > 0
