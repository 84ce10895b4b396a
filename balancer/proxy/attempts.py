"""Forwards one request: picks an endpoint, tries it, and goes on to others while the rules allow.

Which endpoint is the balancer's decision, whether to go on is that of `retries` and of the budget; this module carries
them out and tells the endpoint's health how it went. All of it runs in callbacks; only a fresh connection has to be
waited for, by the task of the client's connection.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import Protocol

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


class Client(Protocol):
    """Whose request a job is."""

    def connection_wanted(self, job: Job) -> None:
        """Somebody is to await `Forwarder.connect`."""

    def forwarded(self, job: Job) -> None:
        """The job has ended; called once."""


class Job:
    """One request on its way: what came, where it leads, the view it keeps to the end, and how far it has come.

    `branch` is the one of its route that serves it, where there is a choice or affinity. At its end `error` is None if
    the client has its whole answer, and `goes_on` says whether another request may follow it.
    """

    __slots__ = (
        "account",
        "attempt_started",
        "branch",
        "chosen",
        "client",
        "connection",
        "error",
        "forwarder",
        "goes_on",
        "head",
        "is_pooled",
        "is_retry",
        "keep_alive",
        "owner",
        "picker",
        "pool",
        "request",
        "route",
        "runtime",
        "tried",
        "view",
    )

    pool: Pool
    connection: EndpointConnection
    forwarder: Forwarder
    picker: Balancer | Session
    runtime: BackendRuntime

    def __init__(
        self,
        owner: Client,
        client: ClientConnection,
        request: RequestHead,
        *,
        route: Route,
        view: View,
        account: Account,
        keep_alive: bool,
        branch: Branch | None,
    ) -> None:
        self.owner = owner
        self.client = client
        self.request = request
        self.route = route
        self.view = view
        self.account = account
        self.keep_alive = keep_alive
        self.branch = branch
        self.goes_on = keep_alive
        self.error: AttemptError | None = None
        self.head = b""
        self.tried: tuple[Member, ...] = ()
        self.chosen: Pick | None = None
        self.is_pooled = self.is_retry = False
        self.attempt_started = 0.0

    # What an exchange asks and tells.

    def passes_over(self, status: int) -> bool:
        """Whether another endpoint shall answer in place of this response."""
        return self.forwarder.choose_instead_of(self, status)

    def exchange_ended(self, exchange: Exchange) -> None:
        """An attempt has ended, well or not."""
        self.forwarder.exchanged(self, exchange)

    def set_cookie(self) -> bytes:
        """The field that tells the client where it belongs from now on; empty where there is no news."""
        picker, branch = self.picker, self.branch
        if not isinstance(picker, Session) or picker.key is None or branch is None or branch.stickiness is None:
            return b""
        request, secure = self.request, self.client.secure
        return branch.stickiness.set_cookie(picker.key, request=request, secure=secure, now_epoch_seconds=time.time())


class Forwarder:
    """Carries out jobs with the pools of one worker, and a budget for retries."""

    __slots__ = ("_budget", "_pools", "_recorder")

    def __init__(self, *, pools: Pools, recorder: Recorder) -> None:
        self._pools = pools
        self._recorder = recorder
        self._budget = RetryBudget(time.perf_counter())

    def forward(self, job: Job) -> None:
        """Try endpoints until one has answered, none is left, or another try would not be safe."""
        route = job.route
        runtime = job.view.backends.get(route.backend) if route.backend is not None else None
        if runtime is None:
            return _refuse(job, ErrorKind.NO_BACKEND)
        if runtime.is_full:
            return _refuse(job, ErrorKind.OVERLOADED)
        job.forwarder = self
        job.runtime = runtime
        runtime.load.in_flight += 1
        self._budget.begin_request()
        now = job.account.started
        balancer = runtime.balancer(route.zone_policy, now)
        job.picker = _picker(job, runtime, balancer)
        pick = job.picker.pick((), now)
        if pick is None:
            refusal = job.account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            kind = ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT
            return self._end(job, AttemptError(kind, Sent.NOTHING))
        job.head = self._head(job)
        self._attempt(job, pick, now)

    def _head(self, job: Job) -> bytes:
        return endpoint_request_head(
            job.request,
            forwarded=job.client.forwarded,
            request_id=job.account.request_id or None,
            underscores=job.view.model.proxy.underscores_in_headers,
            host=job.route.policy.host,
        )

    def _attempt(self, job: Job, pick: Pick, now: float) -> None:
        """Begin one attempt, whose outcome the endpoint's health hears of whatever happens."""
        account, member = job.account, pick.member
        account.pick = pick
        account.tried = (*account.tried, member.label)
        account.endpoint_status = None
        job.tried = (*job.tried, member)
        job.attempt_started = now
        job.goes_on = job.keep_alive
        member.in_flight += 1
        job.pool = self._pools.of(member, job.route.policy.endpoint_tls)
        is_safe = is_repeatable(job.request.method)
        connection = job.pool.take(idle_at_most_seconds=None if is_safe else FRESH_IDLE_SECONDS)
        job.is_pooled = connection is not None
        if connection is not None:
            self._exchange(job, connection)
        else:
            job.owner.connection_wanted(job)

    async def connect(self, job: Job) -> None:
        """Go on with a fresh connection, as the job wanted."""
        try:
            connection = await job.pool.connect(timeout_seconds=job.route.policy.connect_timeout_seconds)
        except TimeoutError:
            return self._failed(job, ErrorKind.CONNECT_TIMEOUT)
        except ssl.SSLError:
            return self._failed(job, ErrorKind.ENDPOINT_TLS)
        except OSError:
            return self._failed(job, ErrorKind.CONNECT_REFUSED)
        if job.client.closed:
            job.pool.give_back(connection)
            job.goes_on = False
            return self._failed(job, ErrorKind.CLIENT_LEFT)
        self._exchange(job, connection)

    def _exchange(self, job: Job, connection: EndpointConnection) -> None:
        job.connection = connection
        exchange = Exchange(
            job,
            job.client,
            connection,
            request=job.request,
            policy=job.route.policy,
            settings=job.view.model.proxy,
            keep_alive=job.keep_alive,
            set_cookie=job.set_cookie() if job.branch is not None else b"",
        )
        exchange.begin(job.head)

    def exchanged(self, job: Job, exchange: Exchange) -> None:
        """An exchange is over, well or not."""
        job.pool.give_back(job.connection)
        error = exchange.error
        if error is not None and is_stale(error, method=job.request.method, pooled=job.is_pooled):
            job.is_pooled = False
            return job.owner.connection_wanted(job)
        account = job.account
        account.request_bytes, account.response_bytes = exchange.request_bytes, exchange.response_bytes
        account.status = exchange.status
        account.endpoint_status = exchange.endpoint_status or None
        job.goes_on = exchange.keep_alive
        self._attempted(job, error, now=exchange.ended_at, answered_at=exchange.first_byte_at)

    def _failed(self, job: Job, kind: ErrorKind) -> None:
        """There was no connection to have an exchange on."""
        self._attempted(job, AttemptError(kind, Sent.NOTHING), now=time.perf_counter(), answered_at=0.0)

    def _attempted(self, job: Job, error: AttemptError | None, *, now: float, answered_at: float) -> None:
        """Tell health of an attempt; then begin another, or end."""
        account, pick, started = job.account, job.account.pick, job.attempt_started
        assert pick is not None
        pick.member.in_flight -= 1
        account.endpoint_seconds = now - started
        outcome = outcome_of(error, status=account.endpoint_status or 0)
        if job.runtime.report(pick, outcome, now=now, seconds=(answered_at or now) - started):
            self._recorder.ejection()
        if job.is_retry:
            self._budget.end_retry()
            job.is_retry = False
        following = self._pick_after(job, error) if error is not None else None
        if error is not None and following is not None:
            self._note_retry(account, error)
            self._budget.begin_retry()
            job.is_retry = True
            return self._attempt(job, following, now)
        self._end(job, error)

    def _end(self, job: Job, error: AttemptError | None) -> None:
        job.runtime.load.in_flight -= 1
        self._budget.end_request()
        job.error = error
        job.owner.forwarded(job)

    # Which endpoint is next, as long as route, budget and endpoints left allow one.

    def _pick_after(self, job: Job, error: AttemptError) -> Pick | None:
        """The next pick after a failed one; None when there shall be no other try."""
        if error.kind is ErrorKind.PASSED_OVER:
            return job.chosen
        if not may_retry(error, method=job.request.method, on=job.route.policy.retry_on):
            return None
        return self._choose(job, nothing_sent=error.sent is Sent.NOTHING)

    def choose_instead_of(self, job: Job, status: int) -> bool:
        """Choose who answers in place of a response of `status`; whether there is another, so that it is dropped."""
        if not may_pass_over(status, method=job.request.method, on=job.route.policy.retry_on):
            return False
        job.chosen = self._choose(job, nothing_sent=False)
        return job.chosen is not None

    def _choose(self, job: Job, *, nothing_sent: bool) -> Pick | None:
        policy, now = job.route.policy, time.perf_counter()
        if len(job.tried) >= policy.tries > 0 or job.client.closed:
            return None
        if 0 < policy.retry_seconds <= now - job.account.started:
            return None
        if not self._budget.may_retry(now, nothing_sent=nothing_sent):
            return None
        return job.picker.pick(job.tried, now)

    def _note_retry(self, account: Account, error: AttemptError) -> None:
        self._recorder.retry(error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)


def _picker(job: Job, runtime: BackendRuntime, balancer: Balancer) -> Balancer | Session:
    branch = job.branch
    if branch is None or (branch.stickiness is None and branch.hash_text is None):
        return balancer
    return Session(
        branch, runtime=runtime, balancer=balancer, request=job.request, peer=job.client.peer, new_key=_new_key
    )


def _new_key() -> bytes:
    """A key in the form of ingress-nginx: the time and two numbers."""
    return b"%.3f.%d.%d" % (time.time(), random.randrange(_KEYS_BELOW), random.randrange(_KEYS_BELOW))


def _refuse(job: Job, kind: ErrorKind) -> None:
    job.error = AttemptError(kind, Sent.NOTHING)
    job.owner.forwarded(job)
