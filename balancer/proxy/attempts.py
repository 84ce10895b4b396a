"""Forwards one request: picks an endpoint, tries it, and continues with others while the rules allow.

The balancer chooses the endpoint; `retries` and the budget decide whether to continue. This module carries out their
decisions and reports results to the endpoint's health. Everything runs in callbacks; only a new connection is awaited,
by the task of the client's connection.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import Protocol

from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.http.edits import FieldSetter, ResponseEditor
from balancer.http.streams import EndpointStream, Outgoing, Pool, RequestStream
from balancer.live import View
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.branches import Branch
from balancer.metrics.recorder import Recorder
from balancer.model.handshakes import Handshake
from balancer.model.routes import Route
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer
from balancer.picking.health import Change, outcome_of
from balancer.picking.healthlog import HealthLog
from balancer.picking.members import Member, Pick
from balancer.picking.sessions import Session
from balancer.proxy.accounting import Account
from balancer.proxy.bodies import KeptBody
from balancer.proxy.budget import RetryBudget
from balancer.proxy.exchange import Exchange, ExchangeOwner
from balancer.proxy.retries import is_repeatable, is_stale, keeps_body, may_pass_over, may_retry
from balancer.runtime.deadlines import Alarm

# Fresh keys of sessions need not be secret, only different in all replicas.
_KEYS_BELOW = 1_000_000_000

_NOTHING: frozenset[int] = frozenset()


class Underway:
    """A request under way, as its parts see it. It keeps the view to its end. `editors` change its response."""

    __slots__ = ()

    account: Account
    alarm: Alarm
    editors: tuple[ResponseEditor, ...]
    stream: RequestStream
    view: View

    def connection_wanted(self, job: Job) -> None:
        """The owner must await `Job.connect`."""
        raise NotImplementedError

    def forwarded(self, error: AttemptError | None) -> None:
        """The job has ended. Called once. `error` is None if the client has its whole answer."""
        raise NotImplementedError

    def intercepted(self, job: Job, status: int) -> None:
        """The job has ended, because an error page replaces the response of `status`. Called instead of `forwarded`."""
        raise NotImplementedError


class EndpointPools(Protocol):
    """The pools of all endpoints."""

    def of(self, member: Member, tls: Handshake | None) -> Pool:
        """The pool of `member` whose connections speak TLS as `tls` says; None is plain."""


class Forwarder:
    """Shared by the jobs of one worker: pools, a budget for retries, and where events are reported."""

    __slots__ = ("budget", "health_log", "pools", "recorder")

    def __init__(self, *, pools: EndpointPools, recorder: Recorder, health_log: HealthLog) -> None:
        self.pools = pools
        self.health_log = health_log
        self.recorder = recorder
        self.budget = RetryBudget(time.perf_counter())


class Job(ExchangeOwner):
    """One request: its head, its route, the view that it keeps to the end, and its progress.

    `branch` is the branch of its route that serves it, if the route has branches or affinity. `intercepts` are the
    statuses of responses that an error page replaces.
    """

    __slots__ = (
        "_account",
        "_attempt_started",
        "_branch",
        "_chosen",
        "_forwarder",
        "_is_retry",
        "_picker",
        "_route",
        "_runtime",
        "_tried",
        "_underway",
        "alarm",
        "editors",
        "intercepts",
        "kept",
        "outgoing",
        "policy",
        "stream",
        "view",
    )

    _picker: Balancer | Session
    _runtime: BackendRuntime

    def __init__(
        self, underway: Underway, forwarder: Forwarder, outgoing: Outgoing, route: Route, branch: Branch | None
    ) -> None:
        self._underway, self._forwarder, self._route, self._branch = underway, forwarder, route, branch
        self._account, self.stream = underway.account, underway.stream
        self.view, self.alarm = underway.view, underway.alarm
        self.outgoing, self.policy = outgoing, route.policy
        self.editors = underway.editors
        self.kept: KeptBody | None = None
        self.intercepts = _NOTHING
        self._tried: tuple[Member, ...] = ()
        self._chosen: Pick | None = None
        self._is_retry = False
        self._attempt_started = 0.0

    def begin(self, now: float) -> None:
        """Tries endpoints until one has answered, none is left, or another try would not be safe.

        `now` is of `time.perf_counter`.
        """
        route, account = self._route, self._account
        runtime = self.view.backends.get(route.backend) if route.backend is not None else None
        if runtime is None:
            return self._underway.forwarded(AttemptError(ErrorKind.NO_BACKEND, Sent.NOTHING))
        if runtime.is_full:
            return self._underway.forwarded(AttemptError(ErrorKind.OVERLOADED, Sent.NOTHING))
        self._runtime = runtime
        runtime.load.in_flight += 1
        self._forwarder.budget.begin_request()
        balancer = runtime.balancer(route.zone_policy, now)
        self._picker = balancer if self._branch is None else self._session_or(balancer, self._branch)
        pick = self._picker.pick((), now)
        if pick is None:
            refusal = account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            kind = ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT
            return self._end(AttemptError(kind, Sent.NOTHING))
        request = self.outgoing.request
        if request.body_bytes != 0 and self.kept is None and (self.intercepts or self._may_repeat_body()):
            self.kept = KeptBody()
        self._attempt(pick, now)

    def _may_repeat_body(self) -> bool:
        """Whether another endpoint may get the body of the request after it was sent to one."""
        request, policy = self.outgoing.request, self.policy
        return keeps_body(request.method, body_bytes=request.body_bytes, on=policy.retry_on, tries=policy.tries)

    def _attempt(self, pick: Pick, now: float) -> None:
        """Begins one attempt. The endpoint's health learns its outcome in any case."""
        account, member = self._account, pick.member
        account.pick = pick
        account.tried = (*account.tried, member.label)
        account.endpoint_status = None
        self._tried = (*self._tried, member)
        self._attempt_started = now
        member.in_flight += 1
        # A method that must not run twice uses no connection that the endpoint may be about to close.
        stream = self._pool(member).lease(not is_repeatable(self.outgoing.request.method))
        if stream is not None:
            self._exchange(stream)
        else:
            self._underway.connection_wanted(self)

    def _pool(self, member: Member) -> Pool:
        return self._forwarder.pools.of(member, self._runtime.handshake)

    async def connect(self) -> None:
        """Continues with a new connection."""
        pick = self._account.pick
        assert pick is not None
        try:
            stream = await self._pool(pick.member).connect(self.policy.connect_timeout_seconds)
        except TimeoutError:
            return self._failed(ErrorKind.CONNECT_TIMEOUT)
        except ssl.SSLError:
            return self._failed(ErrorKind.ENDPOINT_TLS)
        except OSError:
            return self._failed(ErrorKind.CONNECT_REFUSED)
        if self.stream.closed:
            stream.release()
            return self._failed(ErrorKind.CLIENT_LEFT)
        self._exchange(stream)

    def _exchange(self, endpoint: EndpointStream) -> None:
        if self._branch is not None:
            self.editors = self._underway.editors + self._cookies(self._branch)
        Exchange(self, endpoint).begin()

    def exchange_ended(self, exchange: Exchange) -> None:
        """An exchange is over, successful or not."""
        error, account = exchange.error, self._account
        if error is not None and is_stale(error, method=self.outgoing.request.method, pooled=exchange.endpoint.reused):
            return self._underway.connection_wanted(self)
        account.request_bytes, account.response_bytes = exchange.request_bytes, exchange.response_bytes
        account.status = exchange.status
        account.endpoint_status = exchange.endpoint_status or None
        self._attempted(error, exchange.ended_at, exchange.first_byte_at)

    def _failed(self, kind: ErrorKind) -> None:
        """No connection could be made for the exchange."""
        now = time.perf_counter()
        self._attempted(AttemptError(kind, Sent.NOTHING), now, now)

    def _attempted(self, error: AttemptError | None, now: float, answered_at: float) -> None:
        """Reports an attempt to health, then begins another one or ends."""
        account, pick, started = self._account, self._account.pick, self._attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        outcome = outcome_of(error, status=account.endpoint_status or 0)
        change = self._runtime.report(pick, outcome, now=now, seconds=(answered_at or now) - started)
        if change is not None:
            self._tell(change, pick.member, error, now)
        if self._is_retry:
            self._forwarder.budget.end_retry()
            self._is_retry = False
        if error is None or (following := self._pick_after(error)) is None:
            return self._end(error)
        self._note_retry(error)
        self._forwarder.budget.begin_retry()
        self._is_retry = True
        self._attempt(following, now)

    def _tell(self, change: Change, member: Member, error: AttemptError | None, now: float) -> None:
        """Counts and logs what an attempt has changed about its endpoint."""
        forwarder, backend = self._forwarder, self._runtime.backend
        if change in (Change.EJECTED, Change.EJECTED_AGAIN):
            forwarder.recorder.ejection(backend.namespace, backend.service)
        if error is None or error.kind is ErrorKind.PASSED_OVER:
            why = f"status {self._account.endpoint_status}"
        else:
            why = error.kind.value
        forwarder.health_log.tell(self._runtime, member, change, now=now, why=why)

    def _note_retry(self, error: AttemptError) -> None:
        account, route = self._account, self._route
        self._forwarder.recorder.retry(route.owner.namespace, route.service, error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)

    def _end(self, error: AttemptError | None) -> None:
        self._runtime.load.in_flight -= 1
        self._forwarder.budget.end_request()
        if error is not None and error.kind is ErrorKind.PASSED_OVER:
            self._underway.intercepted(self, self._account.endpoint_status or 0)
        else:
            self._underway.forwarded(error)

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
        return self._chosen is not None or status in self.intercepts

    def _choose(self, *, nothing_sent: bool) -> Pick | None:
        policy, now = self.policy, time.perf_counter()
        if len(self._tried) >= policy.tries > 0 or self.stream.closed:
            return None
        if 0 < policy.retry_seconds <= now - self._account.started:
            return None
        if not self._forwarder.budget.may_retry(now, nothing_sent=nothing_sent):
            return None
        return self._picker.pick(self._tried, now)

    def _cookies(self, branch: Branch) -> tuple[ResponseEditor, ...]:
        """The cookie that holds the client to its endpoint, if it is new."""
        picker = self._picker
        if not isinstance(picker, Session) or picker.key is None or branch.stickiness is None:
            return ()
        cookie = branch.stickiness.set_cookie(
            picker.key, request=self.outgoing.request, secure=self.stream.secure, now_epoch_seconds=time.time()
        )
        return (FieldSetter((cookie,), replaces=False),)

    def _session_or(self, balancer: Balancer, branch: Branch) -> Balancer | Session:
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
        )


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers."""
    return b"%.3f.%d.%d" % (time.time(), random.randrange(_KEYS_BELOW), random.randrange(_KEYS_BELOW))
