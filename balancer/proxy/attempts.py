"""Forwards one request: picks an endpoint, tries it, and continues with others while the rules allow.

Who may be next is decided in `succession.py` and `retries.py`. This module carries that out and reports results to the
endpoint's health. Everything runs in callbacks; only a new connection has a task (`connecting.py`).
"""

from __future__ import annotations

import time

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http import grpc
from balancer.http.edits import ResponseEditor
from balancer.http.streams import EndpointStream, Outgoing
from balancer.matching.destinations import Destination
from balancer.model.handshakes import Handshake
from balancer.picking import outcomes
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, Picker
from balancer.picking.members import Member, Pick
from balancer.picking.sessions import Session
from balancer.proxy import pausing, reporting, succession, timing
from balancer.proxy.awaiting import WaitingRequest
from balancer.proxy.bodies import KeptBody
from balancer.proxy.connecting import Connecting
from balancer.proxy.context import RequestContext
from balancer.proxy.exchange import Exchange
from balancer.proxy.exchange_owner import ExchangeOwner
from balancer.proxy.forwarder import Forwarder
from balancer.proxy.retries import REPEATABLE, is_stale, is_unprocessed, keeps_body, may_pass_over, may_retry
from balancer.runtime.absences import BEAT_SECONDS

_NOTHING: frozenset[int] = frozenset()
# Until a request asks again for an endpoint in place of a silent one. The budget may allow one then.
_REFUSED_SECONDS = 0.1


class Attempts(ExchangeOwner):
    """Forwards one request: tries endpoints until one has answered, none is left, or another try would not be safe.

    Keeps the view of the request to the end; another try takes its endpoint from the view that is newest then.
    """

    __slots__ = (
        "_attempt_started",
        "_chosen",
        "_context",
        "_destination",
        "_forwarder",
        "_handshake",
        "_http2",
        "_intercepts",
        "_is_retry",
        "_picker",
        "_route_editors",
        "_runtime",
        "_tried",
        "_was_repeated",
    )

    _attempt_started: float
    _chosen: Pick | None
    _context: RequestContext
    _destination: Destination
    _forwarder: Forwarder
    _handshake: Handshake | None
    _http2: bool
    _intercepts: frozenset[int]
    _is_retry: bool
    _picker: Picker
    _route_editors: tuple[ResponseEditor, ...]
    _runtime: BackendRuntime
    _tried: tuple[Member, ...]
    _was_repeated: bool

    def begin(  # noqa: PLR0917 -- by position, because names cost every request
        self,
        context: RequestContext,
        outgoing: Outgoing,
        to: Destination,
        now: float,
        kept: KeptBody | None = None,
        intercepts: frozenset[int] = _NOTHING,
    ) -> None:
        """Tries the first endpoint; called once. `context` is told by `forwarded` how it ends.

        `now` is of `time.perf_counter`. `kept` is the part of the client's body that was received before. A response
        whose status is among `intercepts` is not relayed: `forwarded` is told `PASSED_OVER`.
        """
        self._context = context
        self._forwarder = context.supplies.forwarder
        self._is_retry = False
        self._was_repeated = False
        context.outgoing = outgoing
        policy = to.policy
        context.policy = policy
        context.kept = kept
        context.is_call = False
        self._destination = to
        self._intercepts = intercepts
        self._tried = ()
        if to.is_bounded:
            timing.bound(context, now)
        runtime = context.view.backends.get(to.backend) if to.backend is not None else None
        if runtime is None:
            return context.forwarded(AttemptError(to.branch.error, Sent.NOTHING))
        if now != context.account.started:  # a gate waited, or a body was received: endpoints may have left meanwhile
            runtime = succession.present(context.newest_view(), to.backend, runtime) or runtime
        load = runtime.load
        if load.in_flight >= runtime.requests_most:
            return context.forwarded(AttemptError(ErrorKind.OVERLOADED, Sent.NOTHING))
        load.in_flight += 1
        self._runtime = runtime
        is_plain = runtime.handshake is None
        self._handshake = None if is_plain else succession.handshake_of(runtime, secure=context.stream.secure)
        self._http2 = runtime.http2 or (policy.calls_in_http2 and grpc.is_call_in_http2(outgoing.request))
        if self._http2 and grpc.is_call(outgoing.request.fields):
            timing.begin_call(context, now)
        budget = runtime.budget
        if budget.earns:  # those of most backends are full, and a call would cost each request more
            budget.begin_request()
        balancer = runtime.balancer(to.zone_policy, now)
        picker: Picker = balancer
        if to.is_held:
            self._route_editors = context.editors
            picker = succession.session(balancer, to, runtime, outgoing.request, context.origin.peer)
        self._picker = picker
        pick = picker.pick((), now)
        if pick is None:
            return self._found_none(balancer)
        if outgoing.request.body_bytes != 0 and kept is None and (intercepts or self._may_repeat_body()):
            context.kept = KeptBody(self._forwarder.bodies, to.tenant)
        self._attempt(pick, now)

    def _found_none(self, balancer: Balancer) -> None:
        """No endpoint was picked."""
        self._context.account.refusal = balancer.refusal
        self._end_forwarding(AttemptError(succession.why_none(balancer), Sent.NOTHING))

    def limit_passed(self) -> ErrorKind:
        return timing.limit_passed(self._context)

    def _may_repeat_body(self) -> bool:
        """Whether another endpoint may get the body of the request after it was sent to one."""
        request, policy = self._context.outgoing.request, self._context.policy
        return keeps_body(request.method, request.body_bytes, policy.retry_on, policy.tries, self._http2)

    def _attempt(self, pick: Pick, now: float) -> None:
        """Begins one attempt. The endpoint's health learns its outcome in any case."""
        context, member = self._context, pick.member
        account = context.account
        account.pick = pick
        account.tried += member.label_alone
        self._tried += (member,)
        self._attempt_started = now
        member.in_flight += 1
        # A method that must not run twice uses no connection that the endpoint may be about to close.
        method = context.outgoing.request.method
        pool = self._forwarder.pools.of(member, self._handshake, self._http2)
        stream = pool.lease(method != b"GET" and method not in REPEATABLE)  # most are GET, and a set costs a hash
        if stream is None:
            return self._connect()
        if self._destination.is_held:
            self._hold_client()
        exchange = Exchange.__new__(Exchange)  # which compiled code makes without a call, as in `requests`
        exchange.begin(context, self, stream)

    def _hold_client(self) -> None:
        """The answer tells the client's next request where this one went."""
        context = self._context
        request, secure = context.outgoing.request, context.stream.secure
        cookies = succession.cookies(self._picker, self._destination, request, secure=secure)
        context.editors = self._route_editors + cookies

    def _connect(self) -> None:
        """Begins to make a connection. Goes on when there is one, or elsewhere if that takes long."""
        context, runtime, forwarder = self._context, self._runtime, self._forwarder
        pick = context.account.pick
        assert pick is not None
        pool = forwarder.pools.of(pick.member, self._handshake, self._http2)
        waiter = WaitingRequest(context, self)
        Connecting(waiter, pick, pool, runtime, forwarder).begin(context.policy.connect_timeout_seconds)

    # How the wait for a new connection ends (`awaiting.Connected`).

    def connected(self, endpoint: EndpointStream) -> None:
        if self._destination.is_held:
            self._hold_client()
        Exchange().begin(self._context, self, endpoint)

    def not_connected(self, kind: ErrorKind) -> None:
        now = time.perf_counter()
        self._attempted(AttemptError(kind, Sent.NOTHING), now, now)

    def leaves(self) -> bool:
        error = AttemptError(ErrorKind.CONNECT_TIMEOUT, Sent.NOTHING)
        following = self._pick_after(error)
        if following is None:
            return False
        account, runtime, now = self._context.account, self._runtime, time.perf_counter()
        pick, started = account.pick, self._attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        runtime.left(pick, now, self._forwarder.absences.attended(started, now), account)
        if self._is_retry:
            self._end_retry()
        self._retry(following, error, now)
        return True

    # What an exchange calls.

    def passes_over(self, status: int, is_request_here: bool) -> bool:
        """Chooses the endpoint that answers instead."""
        self._chosen = None
        method, policy = self._context.outgoing.request.method, self._context.policy
        if is_request_here and may_pass_over(status, method=method, on=policy.retry_on, codes=policy.retry_codes):
            self._chosen = self._choose(is_over=False)
        return self._chosen is not None or status in self._intercepts

    def leaves_silent(self, sent: Sent) -> bool:
        """Chooses the endpoint that gets the request, if the present one is known to be gone."""
        self._chosen = None
        alarm, forwarder, waited = self._context.alarm, self._forwarder, time.perf_counter() - self._attempt_started
        seconds = forwarder.look_in(self._runtime, self._tried[-1], self._handshake, self._http2, waited)
        if not seconds:
            error = AttemptError(ErrorKind.ENDPOINT_SILENT, sent)
            if not may_retry(error, method=self._context.outgoing.request.method, on=self._context.policy.retry_on):
                return False
            self._chosen = self._choose(is_over=True, is_silent=True)
            seconds = _REFUSED_SECONDS
        if self._chosen is None:
            alarm.look_sooner(seconds)
        return self._chosen is not None

    def exchange_ended(self, error: AttemptError | None, reused: bool, ended_at: float, answered_at: float) -> None:
        account = self._context.account
        if error is not None and self._may_repeat(error, reused):
            account.forget_attempt()
            return self._connect()
        self._attempted(error, ended_at, answered_at)

    def _may_repeat(self, error: AttemptError, reused: bool) -> bool:
        """Whether the same endpoint gets the request again, on another connection, without that being a retry.

        Over HTTP/1.1 that ends with the idle connections. Over HTTP/2 it happens once, because a new connection that
        other requests share counts as reused.
        """
        if is_stale(error, method=self._context.outgoing.request.method, pooled=reused):
            if not self._http2:
                return True
        elif not is_unprocessed(error):
            return False
        was_repeated = self._was_repeated
        self._was_repeated = True
        return not was_repeated

    def _attempted(self, error: AttemptError | None, now: float, answered_at: float) -> None:
        """Reports an attempt to health, then begins another one or ends."""
        context, started = self._context, self._attempt_started
        account = context.account
        pick = account.pick
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        outcome = outcomes.outcome_of(error, account.endpoint_status or 0, account.grpc_status)
        runtime = self._runtime
        until = answered_at or now
        seconds = until - started
        if seconds > BEAT_SECONDS:  # most attempts take less, and a call would cost them more
            seconds = self._forwarder.absences.attended(started, until)
        change = runtime.report(pick, outcome, now, seconds, account)
        if change is not None:
            reporting.tell(context, runtime, change, error, now)
        if self._is_retry:
            self._end_retry()
            if answered_at and account.endpoint_status is not None:
                self._forwarder.sight.tell_all(runtime, runtime.silence.heard(pick.member, now), now)
        if error is None or (following := self._pick_after(error)) is None:
            return self._end_forwarding(error)
        self._retry(following, error, now)

    # The next attempt.

    def _pick_after(self, error: AttemptError) -> Pick | None:
        """The next pick after a failed attempt; None if route, budget or endpoints allow no other."""
        if error.kind is ErrorKind.PASSED_OVER or error.kind is ErrorKind.ENDPOINT_SILENT:
            return self._chosen
        context = self._context
        if not may_retry(error, method=context.outgoing.request.method, on=context.policy.retry_on):
            return None
        is_silent = error.kind is ErrorKind.CONNECT_TIMEOUT
        is_over = error.sent is Sent.NOTHING or error.kind is ErrorKind.ENDPOINT_CLOSED
        return self._choose(is_over=is_over, is_silent=is_silent)

    def _choose(self, *, is_over: bool, is_silent: bool = False) -> Pick | None:
        """The next pick, if the limits of the route and the budget allow one.

        `is_over`: the failed attempt costs its endpoint nothing more. `is_silent`: the last endpoint did not even
        refuse, which is also over.
        """
        context, tried, now = self._context, self._tried, time.perf_counter()
        if context.stream.closed:
            return None
        if not succession.has_tries_left(context.policy, len(tried), now - context.account.started):
            return None
        if not self._sees_present(now):
            return None
        runtime = self._runtime
        budget = runtime.budget
        if not budget.may_retry(runtime.load.in_flight, self._forwarder.reserve, now, is_over):
            return None
        repeats = context.policy.repeats_endpoints
        return succession.next_pick(self._picker, runtime, tried, now, is_silent, repeats)

    def _sees_present(self, now: float) -> bool:
        """Takes the balancer of the view in use. Returns whether the backend is still there."""
        before, context = self._runtime, self._context
        runtime = succession.present(context.newest_view(), self._destination.backend, before)
        if runtime is None:
            return False
        if runtime is not before:
            self._runtime = runtime
            self._handshake = succession.handshake_of(runtime, secure=context.stream.secure)
            balancer, picker = runtime.balancer(self._destination.zone_policy, now), self._picker
            if isinstance(picker, Session):
                picker.follow(runtime, balancer)
            else:
                self._picker = balancer
        return True

    def _retry(self, following: Pick, error: AttemptError, now: float) -> None:
        """Begins another attempt, after the pause that the route asks for."""
        context = self._context
        reporting.note_retry(context, self._destination, error)
        if context.policy.retry_pause_seconds:
            return pausing.pause(context, following, self._resume, now)
        self._begin_again(following, now)

    def _resume(self, following: Pick, now: float, obstacle: ErrorKind | None) -> None:
        if obstacle is None:
            self._begin_again(following, now)
        else:
            self._end_forwarding(AttemptError(obstacle, Sent.NOTHING))

    def _begin_again(self, following: Pick, now: float) -> None:
        account, budget = self._context.account, self._runtime.budget
        account.forget_attempt()
        self._was_repeated = False
        budget.begin_retry(self._forwarder.reserve, now)
        self._is_retry = True
        context = self._context
        if context.policy.attempt_seconds:
            timing.limit(context, now)
        self._attempt(following, now)

    def _end_retry(self) -> None:
        budget = self._runtime.budget
        budget.end_retry()
        self._is_retry = False

    def _end_forwarding(self, error: AttemptError | None) -> None:
        self._runtime.load.in_flight -= 1
        context = self._context
        kept = context.kept
        if kept is not None:
            kept.close()
        context.forwarded(error)
