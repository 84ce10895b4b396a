"""Decides which errors of the proxy have an error page, and asks for it in place of the request. No I/O.

Which statuses a route replaces, and with what, is in `balancer/matching/stand_ins.py`.
"""

from __future__ import annotations

from balancer.errors import ErrorKind
from balancer.http.origin import Origin
from balancer.http.passing import Passing
from balancer.http.streams import Outgoing
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.stand_ins import RouteStandIns
from balancer.proxy.account import Account

_WITHOUT_PAGE = frozenset(
    (
        # Nobody reads an answer, or none can be given.
        ErrorKind.CLIENT_LEFT,
        ErrorKind.INTERNAL,
        # The request cannot be passed on.
        ErrorKind.BAD_REQUEST,
        ErrorKind.REQUEST_TIMEOUT,
        ErrorKind.TARGET_TOO_LONG,
        ErrorKind.HEAD_TOO_LARGE,
        ErrorKind.LOOP,
        ErrorKind.METHOD_NOT_ALLOWED,
        ErrorKind.EXPECTATION_FAILED,
        # A closed path reaches no endpoint of anybody.
        ErrorKind.PATH_CLOSED,
    )
)


def has_page(stand_ins: RouteStandIns | None, kind: ErrorKind, status: int) -> bool:
    """Whether an error page replaces the proxy's own answer to an error of this kind."""
    return stand_ins is not None and status in stand_ins.statuses and kind not in _WITHOUT_PAGE


def page_request(
    stand_ins: RouteStandIns, status: int, account: Account, origin: Origin, *, passing: Passing, with_body: bool
) -> Outgoing:
    """The request for the error page of `status`, in place of the request of `account`; fields as in `Outgoing`."""
    assert account.request is not None
    asked = Outgoing(account.request, origin, account.request_id or None, passing=passing)
    return stand_ins.ask_for_page(status, asked, with_body=with_body)


def note_attempt(account: Account) -> None:
    """Notes the last attempt, if there was one, as a failed one, because the attempt for the error page follows."""
    if len(account.tried) > len(account.failed_attempts):
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)
