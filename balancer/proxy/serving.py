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

from balancer.errors import WHO_MAY_PASS, AttemptError, ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.http.streams import Connection, Outgoing, RequestServer, RequestStream
from balancer.live import LiveTable, View
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.gates.verdicts import PASSED, Asked, Gate, Go, Reply
from balancer.matching.mirroring import MirrorRequests
from balancer.matching.rewriting import Rewriter
from balancer.matching.served import Match
from balancer.model.routes import Route
from balancer.proxy.account import Account, new_request_id
from balancer.proxy.accounting import Accounting, Logging
from balancer.proxy.answering import Answering
from balancer.proxy.bodies import KeptBody
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.gating import Gating
from balancer.proxy.mirroring import Mirrors
from balancer.proxy.spooling import SpooledBody, Spooling, is_received_first, with_body
from balancer.runtime.deadlines import Alarm, Deadlines

_LOG = logging.getLogger(__name__)
_INTERNAL_STATUS = 500  # in log and metrics only: what it stands for is never sent


class Proxy:
    """Serves client connections from the newest view."""

    __slots__ = ("accounting", "alarms", "deadlines", "forwarder", "live", "loop", "mirrors")

    def __init__(
        self,
        *,
        live: LiveTable,
        forwarder: Forwarder,
        accounting: Accounting,
        deadlines: Deadlines,
        mirrors: Mirrors | None = None,
    ) -> None:
        """Without `mirrors` nothing is copied, whatever routes say."""
        self.live = live
        self.mirrors = mirrors
        self.forwarder = forwarder
        self.accounting = accounting
        self.deadlines = deadlines
        # Alarms that no request uses now. The wheel may still hold them, so another request costs no place in it.
        self.alarms: list[Alarm] = []
        self.loop = asyncio.get_running_loop()

    def serve(self, client: Connection, ended: Callable[[Connection], None]) -> None:
        """Serves the requests of a connection. Calls `ended` when nothing of it is left."""
        client.start(_Server(self, client, ended))


class _Server(RequestServer):
    """Serves the requests of one connection, one after the other or many at a time.

    It ends when the connection has closed and no request waits for a connection to an endpoint any more.
    """

    __slots__ = ("_client", "_ended", "_is_closed", "_waiting", "proxy")

    def __init__(self, proxy: Proxy, client: Connection, ended: Callable[[Connection], None]) -> None:
        self.proxy = proxy
        self._client = client
        self._ended = ended
        self._waiting = 0
        self._is_closed = False

    def request_came(self, stream: RequestStream, request: RequestHead) -> None:
        serving = _Serving(self, stream, request)
        try:
            serving.begin(request)
        except Exception:
            serving.break_off()

    def request_refused(self, stream: RequestStream, refusal: Refusal, request: RequestHead | None = None) -> None:
        serving = _Serving(self, stream, request)
        try:
            serving.answer(refusal.kind)
        except Exception:
            serving.break_off()

    def connection_closed(self) -> None:
        self._is_closed = True
        self._end_if_idle()

    def waits(self) -> None:
        self._waiting += 1

    def waited(self) -> None:
        self._waiting -= 1
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if self._is_closed and not self._waiting:
            self._ended(self._client)


class _Serving(Answering):
    """Serves one request."""

    __slots__ = ("_go", "_is_over", "_server")

    def __init__(self, server: _Server, stream: RequestStream, request: RequestHead | None) -> None:
        """`request` is None if the request was refused."""
        self._server = server
        self.stream = stream
        proxy = self._server.proxy
        self.view = proxy.live.view
        self.forwarder = proxy.forwarder
        self.account = Account(self.stream.origin.peer, request, time.perf_counter())
        alarms = proxy.alarms
        self.alarm = alarms.pop() if alarms else Alarm(proxy.deadlines, proxy.loop)
        self._is_over = False
        self.held = ()
        self.page_status = 0  # that of the error whose page is fetched

    def begin(self, request: RequestHead) -> None:
        """Matches the request. It is then answered, passed to the gates of its route, or forwarded."""
        account, view = self.account, self.view
        if view.forwarded is not None:
            self.stream.origin = origin = view.forwarded.origin_of(self.stream.origin, request)
            account.client = origin.peer
        request_id = request.repeated.request_id
        if request_id:
            account.request_id = request_id
        elif view.makes_ids:
            account.request_id = new_request_id()
        origin = self.stream.origin
        routes = view.configurations.get(origin.entry_point.key)
        if routes is None:
            return self.answer(ErrorKind.NO_ROUTE)  # the entry point is gone, and so is what stood behind it
        if origin.server_name is not None and routes.misdirects(origin.server_name, request.host_name):
            return self.answer(ErrorKind.MISDIRECTED)
        try:
            match = routes.match(request.host_name, request.path, request.target)
        except Refusal as refusal:
            return self.answer(refusal.kind)
        if match is None:
            return self._turn_away(request)
        self.match = match
        served = match.served
        account.route = served.route
        self.editors = served.editors
        if not served.is_plain:
            if served.closed:
                return self.answer(served.closed_as)
            gates = served.secure_gates if self.stream.origin.https else served.plain_gates
            if gates:
                return self._pass_gates(request, match, gates)
        self._let_in(request, match, None)

    def _pass_gates(self, request: RequestHead, match: Match, gates: tuple[Gate, ...]) -> None:
        origin, secure = self.stream.origin, self.stream.secure
        asked = Asked(request, origin, secure, match.captures, self.account.request_id, (), self._is_servable)
        Gating(self, gates, asked).begin()

    def _turn_away(self, request: RequestHead) -> None:
        """Answers a request that no route serves, after gates that may block its client."""
        gates = self.view.configurations[self.stream.origin.entry_point.key].unmatched_gates
        if not gates:
            return self.answer(ErrorKind.NO_ROUTE)
        Gating(self, gates, Asked(request, self.stream.origin, self.stream.secure)).begin()

    def _let_in(self, request: RequestHead, match: Match, go: Go | None, body: SpooledBody | None = None) -> None:
        """Forwards a request that nothing has answered.

        `go` is the verdict of the gates of its route. `body` is the whole body if it was received before.
        """
        served, view, account = match.served, self.view, self.account
        if request.upgrade:
            request = served.offering(request)
        route = served.route
        if request.body_bytes != 0 and body is None and self._holds_back(request, route, go):
            return
        origin = self.stream.origin
        passing = view.passing[origin.is_trusted]
        outgoing = Outgoing(request, origin, account.request_id or None, served.host, passing)
        if served.is_plain and go is None and view.request_fields is None:
            self.forward(outgoing, route, None, account.started)
        else:
            self._forward_changed(outgoing, match, go, body)

    def _forward_changed(self, outgoing: Outgoing, match: Match, go: Go | None, body: SpooledBody | None) -> None:
        """Forwards a request with what route, gates and settings change about it and about where it goes."""
        served, request, account = match.served, outgoing.request, self.account
        route, branch, stand_ins = served.route, None, served.stand_ins
        stand_in = None if stand_ins is None else stand_ins.instead_of(route, self.view.has_endpoints)
        if stand_in is not None:
            route = stand_in  # the account keeps the route that the client asked for
        elif served.junction is not None:
            branch = served.junction.choose(
                request, has_endpoints=self.view.has_endpoints, random_below=random.randrange
            )
            route = account.route = branch.route
        if served.connection:
            outgoing.connection, outgoing.http_1_0 = served.connection, route.policy.http_1_0
        now = account.started
        if go is not None:
            outgoing.added, outgoing.removed = go.added, go.removed
            self.editors += go.editors
            now = time.perf_counter()  # a gate may have waited
        if served.rewriting is not None and not self._rewrite(outgoing, match.captures, served.rewriting):
            return
        kept: KeptBody | None = body
        if self.view.request_fields is not None or served.mirroring is not None:
            asked = Asked(request, self.stream.origin, self.stream.secure, match.captures)
            if self.view.request_fields is not None:
                self.view.request_fields.put_on(outgoing, asked, route, time.time())
            if served.mirroring is not None:
                kept = self._mirrored(asked, served.mirroring, body)
        if stand_ins is None:
            return self.forward(outgoing, route, branch, now, kept)
        self.forward(outgoing, route, branch, now, kept, stand_ins.prepare(outgoing, route))

    def _mirrored(self, asked: Asked, mirroring: MirrorRequests, body: SpooledBody | None) -> KeptBody | None:
        """Begins a copy of the request. Returns the body, or what has to get it as it passes."""
        mirrors = self._server.proxy.mirrors
        if mirrors is None or asked.request.upgrade:
            return body
        kept = mirrors.begin(mirroring, asked, body)
        if kept is not None and kept is not body:
            kept.count(self.forwarder.bodies, self.match.served.route.owner.namespace)
        return kept

    def _rewrite(self, outgoing: Outgoing, captures: tuple[bytes, ...], rewriting: Rewriter) -> bool:
        """Gives `outgoing` the rewritten target, or answers that it may not be sent. Says whether it may."""
        refused = rewriting.rewrite(outgoing, captures)
        if refused is not None:
            self.answer(refused)
        return refused is None

    # The body is received first (`spooling.SpoolingRequest`).

    def _holds_back(self, request: RequestHead, route: Route, go: Go | None) -> bool:
        """Whether no endpoint gets a request with a body now: the body is too large, or it is received first."""
        policy = route.policy
        if request.body_bytes is not None and 0 < policy.max_body_bytes < request.body_bytes:
            self.answer(ErrorKind.BODY_TOO_LARGE)
            return True
        if not is_received_first(request, policy):
            return False
        self._go = go
        seconds = self.view.proxy.client_body_timeout_seconds
        spooling = Spooling(self, route, self.forwarder.bodies, seconds)
        spooling.begin(expects_continue=request.expects_continue)
        return True

    def body_received(self, body: SpooledBody) -> None:
        request = self.account.request
        assert request is not None
        try:
            request = with_body(request, body, self.match.served.route.policy)
            self._let_in(request, self.match, self._go or Go(), body)  # a verdict makes the attempt begin now
        except Exception:
            body.drop()
            self.break_off()

    def body_refused(self, kind: ErrorKind) -> None:
        try:
            self.answer(kind)
        except Exception:
            self.break_off()

    # Results of the route's gates (`gating.GatedRequest`).

    def record_span(self, span: SpanContext) -> None:
        self.account.span = span

    def await_gate(self, gating: Gating) -> None:
        stream = self.stream
        stream.attach(gating)

    def gates_passed(self, go: Go) -> None:
        stream = self.stream
        stream.detach()
        request = self.account.request
        assert request is not None
        try:
            if self.account.route is None:
                self.answer(ErrorKind.NO_ROUTE)
            else:
                self._let_in(request, self.match, None if go is PASSED else go)
        except Exception:
            self.break_off()

    def gate_denied(self, kind: ErrorKind) -> None:
        stream = self.stream
        stream.detach()
        try:
            self.answer(self._after_endpoints(kind))
        except Exception:
            self.break_off()

    def gate_replied(self, reply: Reply) -> None:
        stream = self.stream
        stream.detach()
        try:
            if reply.kind is not None and (kind := self._after_endpoints(reply.kind)) is not reply.kind:
                self.answer(kind)
            else:
                self.reply(reply)
        except Exception:
            self.break_off()

    def _after_endpoints(self, kind: ErrorKind) -> ErrorKind:
        """`kind`; if it says who may pass, and nobody could serve the request anyway, that is said instead.

        As in ingress-nginx, where a Service without endpoints answers 503 before anybody is asked to sign in.
        """
        route = self.account.route
        if kind not in WHO_MAY_PASS or route is None or self._is_servable():
            return kind
        return ErrorKind.NO_BACKEND if route.backend is None else ErrorKind.NO_ENDPOINT

    def _is_servable(self) -> bool:
        """Whether the main backend of the matched route, or what stands in for it, has an endpoint."""
        served, has_endpoints = self.match.served, self.view.has_endpoints
        if has_endpoints(served.route):
            return True
        stand_ins = served.stand_ins
        return stand_ins is not None and stand_ins.instead_of(served.route, has_endpoints) is not None

    # What becomes of it.

    def forwarded(self, error: AttemptError | None) -> None:
        stream = self.stream
        try:
            if error is None:
                self.end()
            elif error.answered:
                stream.reset()  # a cut response must never look complete
                self.account.error = error.kind
                self.end()
            elif error.kind is ErrorKind.PASSED_OVER:
                kept = self.kept
                self.show_page(self.account.endpoint_status or 0, kept, with_body=True)
            elif self.page_status and error.kind is not ErrorKind.CLIENT_LEFT:
                self.answer_plainly(self.page_status, error.kind)
            else:
                kept = self.kept
                self.answer(error.kind, kept)
        except Exception:
            self.break_off()

    def end(self) -> None:
        """The request is over: closes its account and lets the connection continue."""
        if self.held and not self.lets_go():
            return
        self._is_over = True
        view, stream, proxy = self.view, self.stream, self._server.proxy
        rules, accounting = view.logged, proxy.accounting
        logging = None if rules is None else Logging(rules, stream.origin)
        accounting.close(self.account, view.zone, logging)
        proxy.alarms.append(self.alarm)
        stream.release()

    # Waiting.

    def newest_view(self) -> View:
        return self._server.proxy.live.view

    def connection_wanted(self) -> None:
        server = self._server
        server.waits()
        self.connect()

    def waited(self) -> None:
        server = self._server
        server.waited()

    def break_off(self) -> None:
        """Ends the request after an unexpected exception, so that the client need not wait for its timeout."""
        _LOG.exception("a request failed")
        if self._is_over:
            return
        self.account.error = ErrorKind.INTERNAL
        self.account.status = self.account.status or _INTERNAL_STATUS
        alarm, stream = self.alarm, self.stream
        alarm.clear()
        stream.detach()
        stream.reset()
        self.end()
