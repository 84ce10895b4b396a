"""The life of a request, top to bottom: read, match, forward or answer, account.

A request is served in callbacks: its head comes, an endpoint is written to, the response comes, the client is written
to. Only where no connection to an endpoint is idle, and one has to be made, is there a task. Bodies do not pass
through here.
"""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable

from balancer.errors import WHO_MAY_PASS, AttemptError, ErrorKind, Refusal
from balancer.http.edits import ResponseEditor
from balancer.http.messages import RequestHead
from balancer.http.streams import Outgoing
from balancer.logs.tracing.spans import SpanContext
from balancer.matching.destinations import Destination
from balancer.matching.gates.leading import LedHead, led_to, said_before
from balancer.matching.gates.verdicts import PASSED, Asked, Gate, Go, NewPath, Reply
from balancer.matching.served import Match
from balancer.proxy import answering, holding
from balancer.proxy.account import new_request_id
from balancer.proxy.accounting import Logging
from balancer.proxy.answers import ANSWERS
from balancer.proxy.attempts import Attempts
from balancer.proxy.bodies import KeptBody
from balancer.proxy.context import RequestContext
from balancer.proxy.endings import Ending, ending_of
from balancer.proxy.gating import Gating
from balancer.proxy.hop_accounting import count_hop
from balancer.proxy.preparing import NOTHING, changed, prepare
from balancer.proxy.spooling import SpooledBody, Spooling, is_received_first, with_body

_LOG = logging.getLogger(__name__)
_INTERNAL_STATUS = 500  # in log and metrics only: what it stands for is never sent


class Request(RequestContext):
    """Serves one request: the order of its steps, from its head to its end."""

    __slots__ = ("_go",)

    _go: Go | None

    # From the head to an endpoint.

    def begin(self, request: RequestHead) -> None:
        """Matches the request. It is then answered, passed to the gates of its route, or forwarded."""
        account, view, origin = self.account, self.view, self.origin
        if view.forwarded is not None:
            origin = view.forwarded.origin_of(origin, request)
            self.origin = origin
            account.client = origin.peer
        request_id = request.repeated.request_id
        if request_id:
            account.request_id = request_id
        elif view.makes_ids:
            account.request_id = new_request_id()
        routes = view.configurations[origin.entry_point.key]
        if origin.server_name is not None and routes.misdirects(origin.server_name, request.host_name):
            return self.answer(ErrorKind.MISDIRECTED)
        try:
            match = routes.match(request.host_name, request.path, request.target, request)
        except Refusal as refusal:
            return self.answer(refusal.kind)
        if match is None:
            return self._turn_away(request)
        self.match = match
        served = match.served
        account.destination = served.main
        self.editors = served.editors
        if served.apart is not None:
            return self._go_apart(request, match)
        gates = served.secure_gates if origin.https else served.plain_gates
        if gates:
            return self._pass_gates(request, match, gates)
        self._let_in(request, match, None)

    def _go_apart(self, request: RequestHead, match: Match) -> None:
        """Refuses a request of a closed path. One of a route with hooks is served by a class of its own, and one of a
        route whose branches have filters by what is made of its branch.
        """
        served, hooking = match.served, self.supplies.hooking
        fork = served.fork
        if fork is not None:
            branch = fork.choose(request, has_endpoints=self.view.has_endpoints, random_below=random.randrange)
            return self._enter(request, Match(branch, match.captures))
        if served.closed or hooking is None:
            return self.answer(served.closed_as)
        hooking(self, request)

    def _pass_gates(self, request: RequestHead, match: Match, gates: tuple[Gate, ...]) -> None:
        secure, request_id = self.stream.secure, self.account.request_id
        asked = Asked(request, self.origin, secure, match.captures, request_id, (), self._is_servable)
        Gating(self, gates, asked).begin()

    def _turn_away(self, request: RequestHead) -> None:
        """Answers a request that no route serves, after gates that may block its client."""
        gates = self.view.configurations[self.origin.entry_point.key].unmatched_gates
        if not gates:
            return self.answer(ErrorKind.NO_ROUTE)
        Gating(self, gates, Asked(request, self.origin, self.stream.secure)).begin()

    def _let_in(self, request: RequestHead, match: Match, go: Go | None, body: SpooledBody | None = None) -> None:
        """Forwards a request that nothing has answered.

        `go` is the verdict of the gates of its route. `body` is the whole body if it was received before.
        """
        served, view, account = match.served, self.view, self.account
        if request.upgrade:
            request = served.offering(request)
        if request.body_bytes != 0 and body is None and self._holds_back(request, served.main, go):
            return
        origin = self.origin
        passing = view.passing[1 if origin.is_trusted else 0]  # a truth would be converted slowly
        outgoing = Outgoing(request, origin, account.request_id or None, served.host, passing)
        if served.is_straight and go is None and view.request_fields is None:
            refused = changed(self, outgoing, match)
            if refused is not None:
                return self.answer(refused)
            attempts = Attempts.__new__(Attempts)
            attempts.begin(self, outgoing, served.main, account.started)
        else:
            self._forward_changed(outgoing, match, go, body)

    def _forward_changed(self, outgoing: Outgoing, match: Match, go: Go | None, body: SpooledBody | None) -> None:
        """Forwards a request with what route, gates and settings change about it and about where it goes."""
        prepared = prepare(self, outgoing, match, go, body)
        if isinstance(prepared, ErrorKind):
            return self.answer(prepared)
        Attempts().begin(self, outgoing, prepared.to, prepared.now, prepared.kept, prepared.intercepts)

    # The body is received first (`spooling.SpoolingRequest`).

    def _holds_back(self, request: RequestHead, to: Destination, go: Go | None) -> bool:
        """Whether no endpoint gets a request with a body now: the body is too large, or it is received first."""
        policy = to.policy
        if request.body_bytes is not None and 0 < policy.max_body_bytes < request.body_bytes:
            self.answer(ErrorKind.BODY_TOO_LARGE)
            return True
        if not is_received_first(request, policy):
            return False
        self._go = go
        spooling = Spooling(self, to, self.supplies.forwarder.bodies, self.view.proxy.client_body_timeout_seconds)
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

    def edit_response(self, editors: tuple[ResponseEditor, ...]) -> None:
        self.editors += editors

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
            if self.account.destination is None:
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
                self._reply(reply)
        except Exception:
            self.break_off()

    def gate_led(self, to: NewPath, go: Go) -> None:
        account, stream = self.account, self.stream
        stream.detach()
        assert account.request is not None
        try:
            led = led_to(account.request, to, go)
            routes = self.view.configurations[self.origin.entry_point.key]
            match = routes.match(led.host_name, led.path, led.onward, led)
            self._lead(led, match)
        except Refusal as refusal:
            self.answer(refusal.kind)
        except Exception:
            self.break_off()

    def _lead(self, led: LedHead, match: Match | None) -> None:
        """Passes a request whose path was changed to the gates of the route that serves it now."""
        account = self.account
        account.request = led
        if match is None:
            account.destination = None
            return self.answer(ErrorKind.NO_ROUTE)
        self._enter(led, match)

    def _enter(self, request: RequestHead, match: Match) -> None:
        """Passes a request to the gates of the route or branch that serves it now."""
        account, origin = self.account, self.origin
        self.match = match
        served = match.served
        account.destination = served.main
        self.editors = served.editors
        if served.apart is not None:
            return self._go_apart(request, match)
        gates = served.secure_gates if origin.https else served.plain_gates
        before = said_before(request)
        known = account.request_id, before.added, self._is_servable
        Gating(self, gates, Asked(request, origin, self.stream.secure, match.captures, *known), before).begin()

    def _after_endpoints(self, kind: ErrorKind) -> ErrorKind:
        """The error to answer with: 503 in place of an error of access if no endpoint could serve the request anyway.

        As in ingress-nginx, where a Service without endpoints answers 503 before a client is asked to sign in.
        """
        to = self.account.destination
        if kind not in WHO_MAY_PASS or to is None or self._is_servable():
            return kind
        return to.branch.error if to.backend is None else ErrorKind.NO_ENDPOINT

    def _is_servable(self) -> bool:
        """Whether the main branch of the matched route, or what stands in for it, has an endpoint."""
        served, has_endpoints = self.match.served, self.view.has_endpoints
        if has_endpoints(served.main.backend):
            return True
        stand_ins = served.stand_ins
        return stand_ins is not None and stand_ins.instead_of(served.main, has_endpoints) is not None

    # Its end.

    def forwarded(self, error: AttemptError | None) -> None:
        try:
            if error is None:
                self.end()
            else:
                _ENDS[ending_of(error, self.page_status)](self, error)
        except Exception:
            self.break_off()

    def _cut(self, error: AttemptError) -> None:
        stream = self.stream
        stream.reset()
        self.account.error = error.kind
        self.end()

    def _replace(self, _: AttemptError) -> None:
        kept = self.kept
        self._show_page(self.account.endpoint_status or 0, kept, with_body=True)

    def _answer_status(self, error: AttemptError) -> None:
        self.account.error = error.kind
        self._end_with(self.page_status)

    def _answer_error(self, error: AttemptError) -> None:
        kept = self.kept
        self.answer(error.kind, kept)

    def answer(self, kind: ErrorKind, kept: KeptBody | None = None) -> None:
        """Answers with the error `kind`, or with the error page of the route for it.

        `kept` is the received part of the body of the request, None if it is gone.
        """
        account, status = self.account, ANSWERS[kind].status
        account.error = kind
        account.status = status
        if answering.wants_page(self, kind, status):
            return self._show_page(status, kept, with_body=kind is not ErrorKind.BODY_TOO_LARGE)
        if kind is not ErrorKind.CLIENT_LEFT:
            answering.write_error(self, kind)
        self.end()

    def _reply(self, reply: Reply) -> None:
        """Answers as a gate says."""
        account = self.account
        if reply.editors or reply.is_of_host:
            self.editors = reply.editors if reply.is_of_host else self.editors + reply.editors
        account.error = reply.kind
        account.status = reply.status
        if reply.kind is not None and answering.wants_page(self, reply.kind, reply.status):
            answering.put_challenge(self, reply)
            return self._show_page(reply.status, None, with_body=True)
        answering.write_reply(self, reply)
        self.end()

    def _show_page(self, status: int, kept: KeptBody | None, *, with_body: bool) -> None:
        """Answers with the error page of the route. `kept` is the part of the client's body that has come already."""
        view, stand_ins = self.view, self.match.served.stand_ins
        assert stand_ins is not None
        if stand_ins.page is None or not view.has_endpoints(stand_ins.page.backend):
            return self._end_with(status)
        asked, kept = answering.ask_for_page(self, stand_ins, status, kept, with_body=with_body)
        Attempts().begin(self, asked, stand_ins.page, time.perf_counter(), kept, NOTHING)

    def _end_with(self, status: int) -> None:
        """Answers with a small page."""
        self.account.status = status
        answering.write_reply(self, Reply(status))
        self.end()

    def end(self) -> None:
        """The request is over: closes its account and lets the connection continue."""
        if self.held and not holding.lets_go(self, self._delivered):
            return
        self.is_over = True
        view, stream, supplies = self.view, self.stream, self.supplies
        rules, accounting = view.logged, supplies.accounting
        logging = None if rules is None else Logging(rules, self.origin)
        accounting.close(self.account, view.zone, logging)
        if view.hops is not None:
            count_hop(accounting.recorder, view.hops, self.account, view.zone)
        supplies.alarms.append(self.alarm)
        stream.release()

    def break_off(self) -> None:
        """Ends the request after an unexpected exception, so that the client need not wait for its timeout."""
        _LOG.exception("a request failed")
        if self.is_over:
            return
        self.account.error = ErrorKind.INTERNAL
        self.account.status = self.account.status or _INTERNAL_STATUS
        alarm, stream = self.alarm, self.stream
        alarm.clear()
        stream.detach()
        stream.reset()
        self.end()

    def _delivered(self, error: AttemptError | None) -> None:
        self.forwarded(error)  # a typed method itself cannot be handed out

    def hold(self, release: Callable[[], None]) -> None:
        holding.hold(self, release)


_ENDS: dict[Ending, Callable[[Request, AttemptError], None]] = {
    Ending.CUT: Request._cut,
    Ending.PAGE: Request._replace,
    Ending.STATUS: Request._answer_status,
    Ending.ERROR: Request._answer_error,
}
"""What is done at each end but `WHOLE`, where all is done."""
