"""The life of a request, top to bottom: read, match, forward or answer, account.

A request is served in callbacks: its head comes, an endpoint is written to, the response comes, the client is written
to. Only where no connection to an endpoint is idle, and one has to be made, is there a task. Bodies do not pass
through here.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable
from email.utils import formatdate

from balancer.errors import AttemptError, ErrorKind, Refusal
from balancer.http1.client import ClientConnection
from balancer.http1.fields import field_value, may_upgrade
from balancer.http1.heads import RequestHead
from balancer.live import LiveTable, View
from balancer.members import UNKNOWN_ZONE
from balancer.model import Route
from balancer.proxy.accounting import Account, Accounting
from balancer.proxy.answers import ANSWERS, error_response, https_location, redirect_response
from balancer.proxy.attempts import Forwarder, Job

_LOG = logging.getLogger(__name__)


class Proxy:
    """Serves client connections from the newest view."""

    __slots__ = ("accounting", "forwarder", "live")

    def __init__(self, *, live: LiveTable, forwarder: Forwarder, accounting: Accounting) -> None:
        self.live = live
        self.forwarder = forwarder
        self.accounting = accounting

    def serve(self, client: ClientConnection, ended: Callable[[ClientConnection], None]) -> None:
        """Serve the requests of one connection, one after the other; `ended` is called when nothing of it is left."""
        client.start(_Service(self, client, ended))


class _Service:
    """Serves one client connection: what `ClientConnection` and `Job` call."""

    __slots__ = ("_client", "_connecting", "_ended", "_proxy", "_waiting")

    def __init__(self, proxy: Proxy, client: ClientConnection, ended: Callable[[ClientConnection], None]) -> None:
        self._proxy = proxy
        self._client = client
        self._ended = ended
        self._waiting: Job | None = None
        self._connecting: asyncio.Task[None] | None = None

    # What becomes of a request.

    def request_came(self, request: RequestHead) -> None:
        try:
            self._serve(request)
        except Exception:
            self.break_off()

    def _serve(self, request: RequestHead) -> None:
        client, view = self._client, self._proxy.live.view
        account = Account(client.peer, request, time.perf_counter())
        keep_alive = request.keep_alive and client.requests < view.model.proxy.keep_alive_requests
        account.request_id = request.repeated.request_id
        if not account.request_id and view.model.proxy.generate_request_id:
            account.request_id = new_request_id()
        route = account.route = view.routes.match(request.host_name, request.path)
        if route is None:
            return self._answer(account, ErrorKind.NO_ROUTE, keep_alive=keep_alive)
        if route.policy.redirect_to_https and not client.secure and request.host_name:
            return self._redirect(account, request, keep_alive=keep_alive)
        if request.upgrade and not may_upgrade(request, route.policy.upgrade_protocols):
            request.upgrade = b""
        if 0 < route.policy.max_body_bytes < request.framing:
            return self._answer(account, ErrorKind.BODY_TOO_LARGE, keep_alive=False)
        self._forward(account, request, route=route, view=view, keep_alive=keep_alive)

    def _forward(self, account: Account, request: RequestHead, *, route: Route, view: View, keep_alive: bool) -> None:
        branch = None
        if view.routes.junctions and (junction := view.routes.junctions.get(id(route))) is not None:
            branch = junction.choose(request, has_endpoints=view.has_endpoints, random_below=random.randrange)
            route = account.route = branch.route
        Job(self, self._proxy.forwarder, self._client, request, route, view, account, keep_alive, branch).begin()

    def forwarded(self, job: Job) -> None:
        """The client has its answer, or there is none to be had."""
        try:
            if job.error is None:
                self._close(job.account, job.view, keep_alive=job.goes_on)
            else:
                self._fail(job, job.error)
        except Exception:
            self.break_off()

    def _fail(self, job: Job, error: AttemptError) -> None:
        if not error.answered:
            return self._answer(job.account, error.kind, keep_alive=job.goes_on)
        self._client.abort()  # a response cut short must never look like a whole one
        job.account.error = error.kind
        self._close(job.account, job.view, keep_alive=False)

    def _close(self, account: Account, view: View, *, keep_alive: bool) -> None:
        """The request has ended: account for it, and go on to the next."""
        self._proxy.accounting.close(account, view.own_zone.zone or UNKNOWN_ZONE)
        if keep_alive:
            self._client.expect_request()
        else:
            request = account.request
            self._client.close(expected=request is not None and not request.keep_alive and request.framing == 0)

    # What the proxy says itself.

    def _answer(self, account: Account, kind: ErrorKind, *, keep_alive: bool) -> None:
        """Say what went wrong."""
        client = self._client
        answer = ANSWERS[kind]
        account.error, account.status = kind, answer.status
        request = account.request
        keep_alive = keep_alive and not (answer.close or client.ending) and _body_is_read(request)
        if kind is not ErrorKind.CLIENT_LEFT:
            head_only = request is not None and request.method == b"HEAD"
            accept = field_value(request.fields, b"accept") or b"" if request is not None else b""
            client.write(
                error_response(answer, accept=accept, head_only=head_only, keep_alive=keep_alive, date=_date())
            )
        self._close(account, self._proxy.live.view, keep_alive=keep_alive)

    def _redirect(self, account: Account, request: RequestHead, *, keep_alive: bool) -> None:
        client = self._client
        keep_alive = keep_alive and not client.ending and _body_is_read(request)
        location = https_location(host_name=request.host_name, target=request.target)
        account.status = 308
        client.write(
            redirect_response(location, head_only=request.method == b"HEAD", keep_alive=keep_alive, date=_date())
        )
        self._close(account, self._proxy.live.view, keep_alive=keep_alive)

    # When there is no request.

    def request_refused(self, refusal: Refusal) -> None:
        account = Account(self._client.peer, None, time.perf_counter())
        self._answer(account, refusal.kind, keep_alive=False)

    def requests_ended(self) -> None:
        self._client.close()

    def client_closed(self) -> None:
        if self._connecting is None:
            self._ended(self._client)

    # What has to be waited for.

    def connection_wanted(self, job: Job) -> None:
        self._waiting = job
        if self._connecting is None:
            self._connecting = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        """Make connections for the job that waits for one, until it wants no other."""
        try:
            while (job := self._waiting) is not None:
                self._waiting = None
                try:
                    await job.connect()
                except Exception:
                    self.break_off()
        finally:
            self._connecting = None
            if self._client.closed:
                self._ended(self._client)

    def break_off(self) -> None:
        """A mistake of ours, in the handling of an exception: the client must not wait for its time-out."""
        _LOG.exception("a connection failed")
        self._proxy.accounting.recorder.error(ErrorKind.INTERNAL.value)
        self._client.abort()


def new_request_id() -> bytes:
    """In the form of nginx's `$request_id`."""
    return b"%032x" % random.getrandbits(128)


def _body_is_read(request: RequestHead | None) -> bool:
    """Whether the next bytes of the connection are a request: an answer of ours leaves a body unread."""
    return request is not None and request.framing == 0


def _date() -> bytes:
    return formatdate(usegmt=True).encode("ascii")
