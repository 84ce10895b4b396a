"""The life of a request, top to bottom: read, match, forward or answer, account.

One task per client connection runs `serve`. It decides through the core and does the little that is left itself; bodies
do not pass through here.
"""

from __future__ import annotations

import logging
import random
from email.utils import formatdate

from balancer.errors import ErrorKind, Refusal
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

    __slots__ = ("_accounting", "_forwarder", "_live")

    def __init__(self, *, live: LiveTable, forwarder: Forwarder, accounting: Accounting) -> None:
        self._live = live
        self._forwarder = forwarder
        self._accounting = accounting

    async def serve(self, client: ClientConnection) -> None:
        """Serve the requests of one connection, one after the other, until it ends."""
        try:
            while await self._serve_one(client):
                pass
            client.close()
            await client.until_closed()
        except Exception:
            _LOG.exception("a connection failed")  # ours to mend; the client must not wait for its time-out
            self._accounting.recorder.error(ErrorKind.INTERNAL.value)
            client.abort()

    async def _serve_one(self, client: ClientConnection) -> bool:
        """Serve the next request; whether the connection goes on."""
        try:
            request = await client.next_request()
        except Refusal as refusal:
            self._answer(client, Account(client=client.peer, request=None), refusal.kind, keep_alive=False)
            return False
        if request is None:
            return False
        view = self._live.view
        account = Account(client=client.peer, request=request)
        keep_alive = request.keep_alive and client.requests < view.model.proxy.keep_alive_requests
        account.request_id = field_value(request.fields, b"x-request-id") or b""
        if not account.request_id and view.model.proxy.generate_request_id:
            account.request_id = b"%032x" % random.getrandbits(128)
        route = account.route = view.routes.match(request.host_name, request.path)
        if route is None:
            return self._answer(client, account, ErrorKind.NO_ROUTE, keep_alive=keep_alive)
        if route.policy.redirect_to_https and not client.secure and request.host_name:
            return self._redirect(client, account, keep_alive=keep_alive)
        if request.upgrade and not may_upgrade(request, route.policy.upgrade_protocols):
            request.upgrade = b""
        if 0 < route.policy.max_body_bytes < request.framing:
            return self._answer(client, account, ErrorKind.BODY_TOO_LARGE, keep_alive=False)
        return await self._forward(client, account, route=route, view=view, keep_alive=keep_alive)

    async def _forward(
        self, client: ClientConnection, account: Account, *, route: Route, view: View, keep_alive: bool
    ) -> bool:
        request = account.request
        assert request is not None
        branch = None
        if view.routes.junctions and (junction := view.routes.junctions.get(id(route))) is not None:
            branch = junction.choose(request, has_endpoints=view.has_endpoints, random_below=random.randrange)
            route = account.route = branch.route
        job = Job(client, request, route, view, account, keep_alive, branch)
        keep_alive, error, _ = await self._forwarder.forward(job)
        if error is None:
            self._accounting.close(account, from_zone=view.own_zone.zone or UNKNOWN_ZONE)
            return keep_alive
        if not error.answered:
            return self._answer(client, account, error.kind, keep_alive=keep_alive)
        client.abort()  # a response cut short must never look like a whole one
        account.error = error.kind
        self._accounting.close(account, from_zone=view.own_zone.zone or UNKNOWN_ZONE)
        return False

    def _answer(self, client: ClientConnection, account: Account, kind: ErrorKind, *, keep_alive: bool) -> bool:
        """Say what went wrong; whether the connection goes on."""
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
        self._accounting.close(account, from_zone=self._live.view.own_zone.zone or UNKNOWN_ZONE)
        return keep_alive

    def _redirect(self, client: ClientConnection, account: Account, *, keep_alive: bool) -> bool:
        request = account.request
        assert request is not None
        keep_alive = keep_alive and not client.ending and _body_is_read(request)
        location = https_location(host_name=request.host_name, target=request.target)
        account.status = 308
        client.write(
            redirect_response(location, head_only=request.method == b"HEAD", keep_alive=keep_alive, date=_date())
        )
        self._accounting.close(account, from_zone=self._live.view.own_zone.zone or UNKNOWN_ZONE)
        return keep_alive


def _body_is_read(request: RequestHead | None) -> bool:
    """Whether the next bytes of the connection are a request: an answer of ours leaves a body unread."""
    return request is not None and request.framing == 0


def _date() -> bytes:
    return formatdate(usegmt=True).encode("ascii")
