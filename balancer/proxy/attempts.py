"""Forwards one request: picks an endpoint, tries it, and continues with others while the rules allow.

The balancer chooses the endpoint; `retries` and the backend's budget decide whether to continue. This module carries
out their decisions and reports results to the endpoint's health. Everything runs in callbacks; only a new connection is
awaited, by the task of the client's connection.
"""

from __future__ import annotations

import random
import ssl
import time
from collections.abc import Callable
from typing import Protocol

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http import grpc
from balancer.http.edits import FieldSetter, ResponseEditor
from balancer.http.streams import EndpointStream, Outgoing, Pool
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.branches import Branch
from balancer.metrics.recorder import Recorder
from balancer.model.handshakes import Handshake
from balancer.model.policies import RoutePolicy
from balancer.model.routes import Route
from balancer.picking import outcomes
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, Picker
from balancer.picking.budget import RetryReserve
from balancer.picking.health import Change
from balancer.picking.healthlog import HealthLog
from balancer.picking.members import Member, Pick
from balancer.picking.sessions import Session
from balancer.proxy.bodies import KeptBody
from balancer.proxy.body_room import BodyRoom
from balancer.proxy.exchange import Exchange, ExchangeOwner
from balancer.proxy.retries import REPEATABLE, is_stale, is_unprocessed, keeps_body, may_pass_over, may_retry
from balancer.zones.evacuation import ZoneChange, ZoneTurn

# Fresh keys of sessions need not be secret, only different in all replicas.
_KEYS_BELOW = 1_000_000_000

_NOTHING: frozenset[int] = frozenset()


class EndpointPools(Protocol):
    """The pools of all endpoints."""

    def of(self, member: Member, tls: Handshake | None, http2: bool) -> Pool:
        """The pool of `member` whose connections speak TLS as `tls` says; None is plain. `http2`: HTTP/2 in place of
        HTTP/1.1.
        """


class Forwarder:
    """Shared by the jobs of one worker: pools, a reserve of retries, room for bodies, and where events are reported."""

    __slots__ = ("bodies", "health_log", "pools", "recorder", "reserve")

    def __init__(
        self, *, pools: EndpointPools, recorder: Recorder, health_log: HealthLog, bodies: BodyRoom | None = None
    ) -> None:
        self.pools = pools
        self.bodies = BodyRoom() if bodies is None else bodies
        self.health_log = health_log
        self.recorder = recorder
        self.reserve = RetryReserve()


class Job(ExchangeOwner):
    """Forwards one request, and keeps its view to the end.

    The subclass, which serves the request, sets `account`, `alarm`, `editors`, `forwarder`, `stream` and `view` first.
    """

    __slots__ = (
        "_attempt_started",
        "_branch",
        "_chosen",
        "_handshake",
        "_intercepts",
        "_is_retry",
        "_picker",
        "_route",
        "_route_editors",
        "_runtime",
        "_tried",
        "_was_repeated",
        "forwarder",
    )

    _chosen: Pick | None
    _handshake: Handshake | None
    _picker: Picker
    _runtime: BackendRuntime
    _tried: tuple[Member, ...]
    forwarder: Forwarder

    def connection_wanted(self) -> None:
        """The subclass must await `connect`."""
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

    def forward(  # noqa: PLR0917 -- by position, because names cost every request
        self,
        outgoing: Outgoing,
        route: Route,
        branch: Branch | None,
        now: float,
        kept: KeptBody | None = None,
        intercepts: frozenset[int] = _NOTHING,
    ) -> None:
        """Tries endpoints until one has answered, none is left, or another try would not be safe.

        `branch` is the branch of the route that serves the request, if the route has branches or affinity. `now` is of
        `time.perf_counter`. `kept` is the part of the client's body that was received before. A response whose
        status is among `intercepts` is not relayed: `forwarded` is told `PASSED_OVER`.
        """
        policy, account = route.policy, self.account
        self.outgoing = outgoing
        self.policy = policy
        self.kept = kept
        self._route = route
        self._branch = branch
        self._intercepts = intercepts
        self._tried = ()
        self._is_retry = self._was_repeated = self.is_call = False
        if policy.body_rate:
            self.pace(policy)
        if branch is not None:
            self._route_editors = self.editors
        runtime = self.view.backends.get(route.backend) if route.backend is not None else None
        if runtime is None:
            return self.forwarded(AttemptError(ErrorKind.NO_BACKEND, Sent.NOTHING))
        load = runtime.load
        if load.in_flight >= runtime.requests_most:
            return self.forwarded(AttemptError(ErrorKind.OVERLOADED, Sent.NOTHING))
        load.in_flight += 1
        self._runtime = runtime
        handshake = runtime.handshake
        if handshake is not None and handshake.follows_client and not self.stream.secure:
            handshake = None
        self._handshake = handshake
        if runtime.http2 and grpc.is_call(outgoing.request.fields):
            self._begin_call(now)
        budget = runtime.budget
        budget.begin_request()
        balancer = runtime.balancer(route.zone_policy, now)
        self._picker = picker = balancer if branch is None else self._session_or(balancer, branch)
        pick = picker.pick((), now)
        if pick is None:
            refusal = account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            kind = ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT
            return self._end_forwarding(AttemptError(kind, Sent.NOTHING))
        if outgoing.request.body_bytes != 0 and kept is None and (intercepts or self._may_repeat_body()):
            self.kept = KeptBody(self.forwarder.bodies, route.owner.namespace)
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

    async def connect(self) -> None:
        """Continues with a new connection."""
        pick, alarm = self.account.pick, self.alarm
        assert pick is not None
        try:
            pool = self.forwarder.pools.of(pick.member, self._handshake, self._runtime.http2)
            stream = await pool.connect(min(self.policy.connect_timeout_seconds, alarm.left()))
        except TimeoutError:
            return self._failed(ErrorKind.CALL_TIMEOUT if alarm.left() <= 0 else ErrorKind.CONNECT_TIMEOUT)
        except ssl.SSLError:
            return self._failed(ErrorKind.ENDPOINT_TLS)
        except OSError:
            return self._failed(ErrorKind.CONNECT_REFUSED)
        if self.stream.closed:
            stream.release()
            return self._failed(ErrorKind.CLIENT_LEFT)
        self._exchange(stream)

    def _exchange(self, endpoint: EndpointStream) -> None:
        branch = self._branch
        if branch is not None:
            self.editors = self._route_editors + self._cookies(branch)
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
            budget = runtime.budget
            budget.end_retry()
            self._is_retry = False
        if error is None or (following := self._pick_after(error)) is None:
            return self._end_forwarding(error)
        self._note_retry(error)
        account.forget_attempt()
        self._was_repeated = False
        budget = runtime.budget
        budget.begin_retry(self.forwarder.reserve, now)
        self._is_retry = True
        self._attempt(following, now)

    def _tell(self, change: Change | ZoneChange, member: Member, error: AttemptError | None, now: float) -> None:
        """Counts and logs what an attempt has changed about its endpoint, or about a zone."""
        forwarder, backend = self.forwarder, self._runtime.backend
        recorder = forwarder.recorder
        if isinstance(change, ZoneChange):
            if change.turn is ZoneTurn.BEGUN:
                dry_run = not self._runtime.leaves_zones
                recorder.zone_evacuation(backend.namespace, backend.service, change.zone, dry_run=dry_run)
            return forwarder.health_log.tell_zone(self._runtime, change, now=now)
        if change in (Change.EJECTED, Change.EJECTED_AGAIN):
            recorder.ejection(backend.namespace, backend.service)
        if self.account.grpc_status:
            why = f"grpc-status {self.account.grpc_status}"
        elif error is None or error.kind is ErrorKind.PASSED_OVER:
            why = f"status {self.account.endpoint_status}"
        else:
            why = error.kind.value
        forwarder.health_log.tell(self._runtime, member, change, now=now, why=why)

    def _note_retry(self, error: AttemptError) -> None:
        account, route, recorder = self.account, self._route, self.forwarder.recorder
        recorder.retry(route.owner.namespace, route.service, error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)

    def _end_forwarding(self, error: AttemptError | None) -> None:
        self._runtime.load.in_flight -= 1
        if self.kept is not None:
            self.kept.close()
        self.forwarded(error)

    # Which endpoint is next, as long as route, budget and endpoints left allow one.

    def _pick_after(self, error: AttemptError) -> Pick | None:
        """The next pick after a failed attempt; None if route, budget or endpoints allow no other."""
        if error.kind is ErrorKind.PASSED_OVER:
            return self._chosen
        if not may_retry(error, method=self.outgoing.request.method, on=self.policy.retry_on):
            return None
        return self._choose(nothing_sent=error.sent is Sent.NOTHING)

    def passes_over(self, status: int, is_request_here: bool) -> bool:
        """Whether a response of `status` is dropped because another endpoint, or an error page, can answer.

        Chooses that endpoint.
        """
        self._chosen = None
        if is_request_here and may_pass_over(status, method=self.outgoing.request.method, on=self.policy.retry_on):
            self._chosen = self._choose(nothing_sent=False)
        return self._chosen is not None or status in self._intercepts

    def _choose(self, *, nothing_sent: bool) -> Pick | None:
        policy, runtime, picker, now = self.policy, self._runtime, self._picker, time.perf_counter()
        if len(self._tried) >= policy.tries > 0 or self.stream.closed:
            return None
        if 0 < policy.retry_seconds <= now - self.account.started:
            return None
        budget = runtime.budget
        if not budget.may_retry(runtime.load.in_flight, self.forwarder.reserve, now, nothing_sent):
            return None
        return picker.pick(self._tried, now)

    def _cookies(self, branch: Branch) -> tuple[ResponseEditor, ...]:
        """The cookie that holds the client to its endpoint, if it is new."""
        picker = self._picker
        if not isinstance(picker, Session) or picker.key is None or branch.stickiness is None:
            return ()
        cookie = branch.stickiness.set_cookie(
            picker.key, request=self.outgoing.request, secure=self.stream.secure, now_epoch_seconds=time.time()
        )
        return (FieldSetter((cookie,), replaces=False),)

    def _session_or(self, balancer: Balancer, branch: Branch) -> Picker:
        """What picks for this branch: a session if a cookie or hash holds the request to an endpoint."""
        if branch.stickiness is None and branch.hash_text is None:
            return balancer
        return Session(
            branch,
            runtime=self._runtime,
            balancer=balancer,
            request=self.outgoing.request,
            peer=self.stream.origin.peer,
            new_key=_new_key,
            random_below=random.randrange,
        )


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers. `randrange` would take three times as long."""
    return b"%.3f.%d.%d" % (time.time(), random.random() * _KEYS_BELOW, random.random() * _KEYS_BELOW)
