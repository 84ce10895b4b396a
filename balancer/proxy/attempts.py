"""Forwards one request: picks an endpoint, tries it, and goes on to others while the rules allow.

Which endpoint is the balancer's decision, whether to go on is that of `retries` and of the budget; this module carries
them out and tells the endpoint's health how it went. All of it runs in callbacks; only a fresh connection has to be
waited for, by the task of the client's connection.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import Any, Protocol

import msgspec

from balancer.accesslines import FailedAttempt
from balancer.backend import BackendRuntime
from balancer.balancers import Balancer
from balancer.budget import RetryBudget
from balancer.canary import Branch
from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.health import outcome_of
from balancer.http1.client import ClientConnection
from balancer.http1.endpoint import EndpointConnection
from balancer.http1.fields import endpoint_request_head
from balancer.http1.heads import RequestHead
from balancer.http1.pools import Pool, Pools
from balancer.live import View
from balancer.members import Member, Pick
from balancer.metrics.recorder import Recorder
from balancer.model import Route
from balancer.proxy.accounting import Account
from balancer.proxy.exchange import Exchange
from balancer.proxy.retries import FRESH_IDLE_SECONDS, is_repeatable, is_stale, may_pass_over, may_retry
from balancer.sessions import Session

# Fresh keys of sessions need not be secret, only different in all replicas.
_KEYS_BELOW = 1_000_000_000

_UNSET: Any = None
"""The value of what a job gets to know on its way."""


class Client(Protocol):
    """Whose request a job is."""

    def connection_wanted(self, job: Job) -> None:
        """Somebody is to await `Job.connect`."""

    def forwarded(self, job: Job) -> None:
        """The job has ended; called once."""


class Forwarder:
    """What the jobs of one worker share: pools, and a budget for retries."""

    __slots__ = ("budget", "pools", "recorder")

    def __init__(self, *, pools: Pools, recorder: Recorder) -> None:
        self.pools = pools
        self.recorder = recorder
        self.budget = RetryBudget(time.perf_counter())


class Job(msgspec.Struct, eq=False):
    """One request on its way: what came, where it leads, the view it keeps to the end, and how far it has come.

    `branch` is the one of its route that serves it, where there is a choice or affinity. At its end `error` is None if
    the client has its whole answer, and `goes_on` says whether another request may follow it.
    """

    owner: Client
    forwarder: Forwarder
    client: ClientConnection
    request: RequestHead
    route: Route
    view: View
    account: Account
    keep_alive: bool
    branch: Branch | None
    goes_on: bool = False
    error: AttemptError | None = None
    _runtime: BackendRuntime = _UNSET
    _picker: Balancer | Session = _UNSET
    _pool: Pool = _UNSET
    _connection: EndpointConnection = _UNSET
    _head: bytes = b""
    _tried: tuple[Member, ...] = ()
    _chosen: Pick | None = None
    _is_pooled: bool = False
    _is_retry: bool = False
    _attempt_started: float = 0.0

    def begin(self) -> None:
        """Try endpoints until one has answered, none is left, or another try would not be safe."""
        route, account, view = self.route, self.account, self.view
        runtime = view.backends.get(route.backend) if route.backend is not None else None
        if runtime is None:
            return self._refuse(ErrorKind.NO_BACKEND)
        if runtime.is_full:
            return self._refuse(ErrorKind.OVERLOADED)
        self._runtime = runtime
        runtime.load.in_flight += 1
        self.forwarder.budget.begin_request()
        now = account.started
        balancer = runtime.balancer(route.zone_policy, now)
        self._picker = balancer if self.branch is None else _picker(self, self.branch, runtime, balancer)
        pick = self._picker.pick((), now)
        if pick is None:
            refusal = account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            kind = ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT
            self.goes_on = self.keep_alive
            return self._end(AttemptError(kind, Sent.NOTHING))
        self._head = endpoint_request_head(
            self.request,
            forwarded=self.client.forwarded,
            request_id=account.request_id or None,
            underscores=view.model.proxy.underscores_in_headers,
            host=route.policy.host,
        )
        self._attempt(pick, now)

    def _attempt(self, pick: Pick, now: float) -> None:
        """Begin one attempt, whose outcome the endpoint's health hears of whatever happens."""
        account, member = self.account, pick.member
        account.pick = pick
        account.tried = (*account.tried, member.label)
        account.endpoint_status = None
        self._tried = (*self._tried, member)
        self._attempt_started = now
        self.goes_on = self.keep_alive
        member.in_flight += 1
        pool = self._pool = self.forwarder.pools.of(member, self.route.policy.endpoint_tls)
        is_safe = is_repeatable(self.request.method)
        connection = pool.take(idle_at_most_seconds=None if is_safe else FRESH_IDLE_SECONDS)
        self._is_pooled = connection is not None
        if connection is not None:
            self._exchange(connection)
        else:
            self.owner.connection_wanted(self)

    async def connect(self) -> None:
        """Go on with a fresh connection."""
        try:
            connection = await self._pool.connect(timeout_seconds=self.route.policy.connect_timeout_seconds)
        except TimeoutError:
            return self._failed(ErrorKind.CONNECT_TIMEOUT)
        except ssl.SSLError:
            return self._failed(ErrorKind.ENDPOINT_TLS)
        except OSError:
            return self._failed(ErrorKind.CONNECT_REFUSED)
        if self.client.closed:
            self._pool.give_back(connection)
            self.goes_on = False
            return self._failed(ErrorKind.CLIENT_LEFT)
        self._exchange(connection)

    def _exchange(self, connection: EndpointConnection) -> None:
        self._connection = connection
        policy, settings = self.route.policy, self.view.model.proxy
        set_cookie = b"" if self.branch is None else self._set_cookie(self.branch)
        Exchange(self, self.client, connection, self.request, policy, settings, self.keep_alive, set_cookie).begin(
            self._head
        )

    def exchange_ended(self, exchange: Exchange) -> None:
        """An exchange is over, well or not."""
        self._pool.give_back(self._connection)
        error, account = exchange.error, self.account
        if error is not None and is_stale(error, method=self.request.method, pooled=self._is_pooled):
            self._is_pooled = False
            return self.owner.connection_wanted(self)
        account.request_bytes, account.response_bytes = exchange.request_bytes, exchange.response_bytes
        account.status = exchange.status
        account.endpoint_status = exchange.endpoint_status or None
        self.goes_on = exchange.keep_alive
        self._attempted(error, exchange.ended_at, exchange.first_byte_at)

    def _failed(self, kind: ErrorKind) -> None:
        """There was no connection to have an exchange on."""
        now = time.perf_counter()
        self._attempted(AttemptError(kind, Sent.NOTHING), now, now)

    def _attempted(self, error: AttemptError | None, now: float, answered_at: float) -> None:
        """Tell health of an attempt; then begin another, or end."""
        account, pick, started = self.account, self.account.pick, self._attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        outcome = outcome_of(error, status=account.endpoint_status or 0)
        if self._runtime.report(pick, outcome, now=now, seconds=(answered_at or now) - started):
            self.forwarder.recorder.ejection()
        if self._is_retry:
            self.forwarder.budget.end_retry()
            self._is_retry = False
        if error is None or (following := self._pick_after(error)) is None:
            return self._end(error)
        self._note_retry(error)
        self.forwarder.budget.begin_retry()
        self._is_retry = True
        self._attempt(following, now)

    def _note_retry(self, error: AttemptError) -> None:
        account = self.account
        self.forwarder.recorder.retry(error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)

    def _end(self, error: AttemptError | None) -> None:
        self._runtime.load.in_flight -= 1
        self.forwarder.budget.end_request()
        self.error = error
        self.owner.forwarded(self)

    def _refuse(self, kind: ErrorKind) -> None:
        self.error = AttemptError(kind, Sent.NOTHING)
        self.goes_on = self.keep_alive
        self.owner.forwarded(self)

    # Which endpoint is next, as long as route, budget and endpoints left allow one.

    def _pick_after(self, error: AttemptError) -> Pick | None:
        """The next pick after a failed one; None when there shall be no other try."""
        if error.kind is ErrorKind.PASSED_OVER:
            return self._chosen
        if not may_retry(error, method=self.request.method, on=self.route.policy.retry_on):
            return None
        return self._choose(nothing_sent=error.sent is Sent.NOTHING)

    def passes_over(self, status: int) -> bool:
        """Choose who answers in place of a response of `status`; whether there is another, so that it is dropped."""
        if not may_pass_over(status, method=self.request.method, on=self.route.policy.retry_on):
            return False
        self._chosen = self._choose(nothing_sent=False)
        return self._chosen is not None

    def _choose(self, *, nothing_sent: bool) -> Pick | None:
        policy, now = self.route.policy, time.perf_counter()
        if len(self._tried) >= policy.tries > 0 or self.client.closed:
            return None
        if 0 < policy.retry_seconds <= now - self.account.started:
            return None
        if not self.forwarder.budget.may_retry(now, nothing_sent=nothing_sent):
            return None
        return self._picker.pick(self._tried, now)

    def _set_cookie(self, branch: Branch) -> bytes:
        """The field that tells the client where it belongs from now on; empty where there is no news."""
        picker = self._picker
        if not isinstance(picker, Session) or picker.key is None or branch.stickiness is None:
            return b""
        return branch.stickiness.set_cookie(
            picker.key, request=self.request, secure=self.client.secure, now_epoch_seconds=time.time()
        )


def _picker(job: Job, branch: Branch, runtime: BackendRuntime, balancer: Balancer) -> Balancer | Session:
    if branch.stickiness is None and branch.hash_text is None:
        return balancer
    return Session(
        branch, runtime=runtime, balancer=balancer, request=job.request, peer=job.client.peer, new_key=_new_key
    )


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers."""
    return b"%.3f.%d.%d" % (time.time(), random.randrange(_KEYS_BELOW), random.randrange(_KEYS_BELOW))
