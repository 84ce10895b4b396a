"""Forwards one request: picks an endpoint, tries it, and continues with others while the rules allow.

Which endpoint is next is decided in `succession.py`. This module carries that out and reports results to the endpoint's
health. Everything runs in callbacks; only a new connection has a task (`connecting.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http import grpc
from balancer.http.streams import EndpointStream, Outgoing
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.destinations import Destination
from balancer.model.policies import RoutePolicy
from balancer.picking import outcomes
from balancer.picking.health import Change
from balancer.picking.members import Member, Pick
from balancer.proxy.bodies import KeptBody
from balancer.proxy.connecting import Connecting
from balancer.proxy.exchange import Exchange
from balancer.proxy.retries import REPEATABLE, is_stale, is_unprocessed, keeps_body
from balancer.proxy.succession import Succession
from balancer.zones.evacuation import ZoneChange

_NOTHING: frozenset[int] = frozenset()


class Job(Succession):
    """Forwards one request, and keeps its view to the end.

    The subclass, which serves the request, sets `account`, `alarm`, `editors`, `forwarder`, `stream` and `view` first.
    """

    __slots__ = (
        "_attempt_started",
        "_is_retry",
        "_route_editors",
        "_was_repeated",
    )

    def connection_wanted(self) -> None:
        """The subclass must call `connect`."""
        raise NotImplementedError

    def waited(self) -> None:
        """The request does not wait for that connection any more."""
        raise NotImplementedError

    def break_off(self) -> None:
        """Ends the request after an unexpected exception, which is being handled."""
        raise NotImplementedError

    def hold(self, release: Callable[[], None]) -> None:
        """Calls `release` when the request is over, however it ends."""
        raise NotImplementedError

    def pace(self, policy: RoutePolicy) -> None:
        """The response body must not be sent faster than `policy` says."""
        raise NotImplementedError

    def forwarded(self, error: AttemptError | None) -> None:
        """The request was forwarded. Called once. `error` is None if the client has its whole answer."""
        raise NotImplementedError

    def forward(
        self,
        outgoing: Outgoing,
        to: Destination,
        now: float,
        kept: KeptBody | None = None,
        intercepts: frozenset[int] = _NOTHING,
    ) -> None:
        """Tries endpoints until one has answered, none is left, or another try would not be safe.

        `now` is of `time.perf_counter`. `kept` is the part of the client's body that was received before. A response
        whose status is among `intercepts` is not relayed: `forwarded` is told `PASSED_OVER`.
        """
        policy, account = to.policy, self.account
        self.outgoing = outgoing
        self.policy = policy
        self.kept = kept
        self._destination = to
        self._intercepts = intercepts
        self._tried = ()
        self._is_retry = self._was_repeated = self.is_call = False
        if policy.body_rate:
            self.pace(policy)
        if to.is_held:
            self._route_editors = self.editors
        runtime = self.view.backends.get(to.backend) if to.backend is not None else None
        if runtime is None:
            return self.forwarded(AttemptError(to.error, Sent.NOTHING))
        load = runtime.load
        if load.in_flight >= runtime.requests_most:
            return self.forwarded(AttemptError(ErrorKind.OVERLOADED, Sent.NOTHING))
        load.in_flight += 1
        self._runtime = runtime
        handshake = runtime.handshake
        if handshake is not None:
            handshake = self._handshake_of(runtime)
        self._handshake = handshake
        if runtime.http2 and grpc.is_call(outgoing.request.fields):
            self._begin_call(now)
        budget = runtime.budget
        budget.begin_request()
        balancer = runtime.balancer(to.zone_policy, now)
        self._picker = picker = self._session(balancer, to) if to.is_held else balancer
        pick = picker.pick((), now)
        if pick is None:
            refusal = account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            kind = ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT
            return self._end_forwarding(AttemptError(kind, Sent.NOTHING))
        if outgoing.request.body_bytes != 0 and kept is None and (intercepts or self._may_repeat_body()):
            self.kept = KeptBody(self.forwarder.bodies, to.tenant)
        self._attempt(pick, now)

    def _may_repeat_body(self) -> bool:
        """Whether another endpoint may get the body of the request after it was sent to one."""
        request, policy = self.outgoing.request, self.policy
        return keeps_body(
            request.method,
            body_bytes=request.body_bytes,
            on=policy.retry_on,
            tries=policy.tries,
            refusable=self._runtime.http2,
        )

    def _begin_call(self, now: float) -> None:
        """The request is a gRPC call, which ends when the time is over that its client gives it."""
        self.is_call = True
        seconds = grpc.timeout_seconds(self.outgoing.request.fields)
        if seconds is not None:
            alarm = self.alarm
            alarm.limit_to(seconds - (now - self.account.started))
            self.hold(self._unlimit)

    def _unlimit(self) -> None:
        alarm = self.alarm
        alarm.unlimit()

    def _attempt(self, pick: Pick, now: float) -> None:
        """Begins one attempt. The endpoint's health learns its outcome in any case."""
        account, member = self.account, pick.member
        account.pick = pick
        account.tried += member.label_alone
        self._tried += (member,)
        self._attempt_started = now
        member.in_flight += 1
        # A method that must not run twice uses no connection that the endpoint may be about to close.
        method = self.outgoing.request.method
        pool = self.forwarder.pools.of(member, self._handshake, self._runtime.http2)
        stream = pool.lease(method != b"GET" and method not in REPEATABLE)  # most are GET, and a set costs a hash
        if stream is not None:
            self._exchange(stream)
        else:
            self.connection_wanted()

    def connect(self) -> None:
        """Begins to make a connection. Goes on when there is one, or elsewhere if that takes long."""
        pick, runtime, forwarder = self.account.pick, self._runtime, self.forwarder
        assert pick is not None
        pool = forwarder.pools.of(pick.member, self._handshake, runtime.http2)
        Connecting(self, pick, pool, runtime, forwarder).begin(self.policy.connect_timeout_seconds)

    # What a new connection calls (`connecting.Waiter`).

    def seconds_left(self) -> float:
        alarm = self.alarm
        return alarm.left()

    def connecting_ended(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        try:
            self._go_on(stream, kind)
        except Exception:
            self.break_off()
        finally:
            self.waited()

    def goes_elsewhere(self) -> bool:
        try:
            if not self._leave():
                return False
        except Exception:
            self.break_off()
        self.waited()
        return True

    def _go_on(self, stream: EndpointStream | None, kind: ErrorKind) -> None:
        if stream is None:
            self._failed(kind)
        elif self.stream.closed:
            stream.release()
            self._failed(ErrorKind.CLIENT_LEFT)
        else:
            self._exchange(stream)

    def _leave(self) -> bool:
        """Leaves the endpoint that takes long to connect to, if there is another one. Returns whether there was."""
        error = AttemptError(ErrorKind.CONNECT_TIMEOUT, Sent.NOTHING)
        following = self._pick_after(error)
        if following is None:
            return False
        account, runtime, now = self.account, self._runtime, time.perf_counter()
        pick, seconds = account.pick, now - self._attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = seconds
        runtime.left(pick, now, seconds, account)
        if self._is_retry:
            self._end_retry()
        self._retry(following, error, now)
        return True

    def _exchange(self, endpoint: EndpointStream) -> None:
        to = self._destination
        if to.is_held:
            self.editors = self._route_editors + self._cookies(to)
        Exchange(self, endpoint).begin()

    def exchange_ended(self, exchange: Exchange) -> None:
        """An exchange is over, successful or not."""
        error, account = exchange.error, self.account
        if error is not None and self._may_repeat(error, exchange.endpoint.reused):
            account.forget_attempt()
            return self.connection_wanted()
        self._attempted(error, exchange.ended_at, exchange.first_byte_at)

    def _may_repeat(self, error: AttemptError, reused: bool) -> bool:
        """Whether the same endpoint gets the request again, on another connection, without that being a retry.

        Over HTTP/1.1 that ends with the idle connections. Over HTTP/2 it happens once, because a new connection that
        other requests share counts as reused.
        """
        if is_stale(error, method=self.outgoing.request.method, pooled=reused):
            if not self._runtime.http2:
                return True
        elif not is_unprocessed(error):
            return False
        was_repeated, self._was_repeated = self._was_repeated, True
        return not was_repeated

    def _failed(self, kind: ErrorKind) -> None:
        """No connection could be made for the exchange."""
        now = time.perf_counter()
        self._attempted(AttemptError(kind, Sent.NOTHING), now, now)

    def _attempted(self, error: AttemptError | None, now: float, answered_at: float) -> None:
        """Reports an attempt to health, then begins another one or ends."""
        account, pick, started = self.account, self.account.pick, self._attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        outcome = outcomes.outcome_of(error, account.endpoint_status or 0, account.grpc_status)
        runtime = self._runtime
        change = runtime.report(pick, outcome, now, (answered_at or now) - started, account)
        if change is not None:
            self._tell(change, pick.member, error, now)
        if self._is_retry:
            self._end_retry()
            if answered_at and account.endpoint_status is not None:
                self.forwarder.sight.tell_all(runtime, runtime.silence.heard(pick.member, now), now)
        if error is None or (following := self._pick_after(error)) is None:
            return self._end_forwarding(error)
        self._retry(following, error, now)

    def _retry(self, following: Pick, error: AttemptError, now: float) -> None:
        """Begins another attempt."""
        account, budget = self.account, self._runtime.budget
        self._note_retry(error)
        account.forget_attempt()
        self._was_repeated = False
        budget.begin_retry(self.forwarder.reserve, now)
        self._is_retry = True
        self._attempt(following, now)

    def _end_retry(self) -> None:
        budget = self._runtime.budget
        budget.end_retry()
        self._is_retry = False

    def _tell(self, change: Change | ZoneChange, member: Member, error: AttemptError | None, now: float) -> None:
        """Counts and logs what an attempt has changed about its endpoint, or about a zone."""
        if isinstance(change, ZoneChange):
            return self.forwarder.sight.tell_zone(self._runtime, change, now)
        if self.account.grpc_status:
            why = f"grpc-status {self.account.grpc_status}"
        elif error is None or error.kind is ErrorKind.PASSED_OVER:
            why = f"status {self.account.endpoint_status}"
        else:
            why = error.kind.value
        self.forwarder.sight.tell(self._runtime, member, change, now, why)

    def _note_retry(self, error: AttemptError) -> None:
        account, names, recorder = self.account, self._destination.names, self.forwarder.recorder
        recorder.retry(names.namespace, names.service, error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)

    def _end_forwarding(self, error: AttemptError | None) -> None:
        self._runtime.load.in_flight -= 1
        if self.kept is not None:
            self.kept.close()
        self.forwarded(error)
