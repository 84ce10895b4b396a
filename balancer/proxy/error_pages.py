"""Fetches an error page for a client, in place of a response that an endpoint or the proxy itself has given.

Decides which errors have a page, and what happens if the page cannot be had. Which statuses a route replaces, and with
what, is in `balancer/matching/stand_ins.py`.
"""

from __future__ import annotations

import time

from balancer.errors import AttemptError, ErrorKind
from balancer.http.edits import ResponseEditor
from balancer.http.streams import Outgoing
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.stand_ins import RouteStandIns
from balancer.model.routes import Route
from balancer.proxy.attempts import Forwarder, Job, Underway
from balancer.proxy.bodies import KeptBody

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
        ErrorKind.METHOD_NOT_ALLOWED,
        ErrorKind.EXPECTATION_FAILED,
        # A closed path reaches no endpoint of anybody.
        ErrorKind.PATH_CLOSED,
    )
)


def has_page(stand_ins: RouteStandIns | None, kind: ErrorKind, status: int) -> bool:
    """Whether an error page replaces the proxy's own answer to an error of this kind."""
    return stand_ins is not None and status in stand_ins.statuses and kind not in _WITHOUT_PAGE


class PageOwner(Underway):
    """The request that an error page answers."""

    __slots__ = ()

    def answer_plainly(self, status: int, kind: ErrorKind | None) -> None:
        """Answers with a small page of the proxy. `kind` is the error that the log names, None for none."""
        raise NotImplementedError


class ErrorPage(Underway):
    """One error page under way, in place of a response of `status`."""

    __slots__ = ("_owner", "_status", "account", "alarm", "editors", "stream", "view")

    def __init__(self, owner: PageOwner, status: int, editors: tuple[ResponseEditor, ...]) -> None:
        self._owner, self._status = owner, status
        self.account, self.alarm, self.stream, self.view = owner.account, owner.alarm, owner.stream, owner.view
        self.editors = editors

    def fetch(self, forwarder: Forwarder, outgoing: Outgoing, route: Route, kept: KeptBody | None) -> None:
        """Forwards `outgoing` on `route`. `kept` is the part of the client's body that has come already."""
        account = self.account
        if len(account.tried) > len(account.failed_attempts):  # the log knows each try
            attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
            account.failed_attempts = (*account.failed_attempts, attempt)
        job = Job(self, forwarder, outgoing, route, None)
        job.kept = kept
        job.begin(time.perf_counter())

    def connection_wanted(self, job: Job) -> None:
        self._owner.connection_wanted(job)

    def forwarded(self, error: AttemptError | None) -> None:
        if error is None or error.answered or error.kind is ErrorKind.CLIENT_LEFT:
            self._owner.forwarded(error)
        else:
            self._owner.answer_plainly(self._status, error.kind)
