"""Forwards one request: picks an endpoint, tries it, and goes on to others while the rules allow.

Which endpoint is the balancer's decision, whether to go on is that of `retries` and of the budget; this module carries
them out and tells the endpoint's health how it went.
"""

from __future__ import annotations

import random
import ssl
import time
from typing import NamedTuple

from balancer.accesslines import FailedAttempt
from balancer.backend import BackendRuntime
from balancer.balancers import Balancer
from balancer.budget import RetryBudget
from balancer.canary import Branch
from balancer.errors import AttemptError, ErrorKind, Sent
from balancer.health import Outcome, outcome_of
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


class Job(NamedTuple):
    """One request on its way: what came, where it leads, and the view it keeps to the end.

    `branch` is the one of its route that serves it, where there is a choice or affinity.
    """

    client: ClientConnection
    request: RequestHead
    route: Route
    view: View
    account: Account
    keep_alive: bool
    branch: Branch | None = None


class Forwarded(NamedTuple):
    """How forwarding ended: `error` None means that the client has its whole answer.

    `first_byte_at`: when the response began, in `time.perf_counter`'s seconds; 0 if it did not.
    """

    keep_alive: bool
    error: AttemptError | None
    first_byte_at: float = 0.0


class _Tries:
    """The tries of one request: which endpoint is next, as long as route, budget and endpoints left allow one."""

    __slots__ = ("_budget", "_chosen", "_job", "_picker", "_started", "_tried")

    def __init__(self, job: Job, *, picker: Balancer | Session, budget: RetryBudget) -> None:
        self._job = job
        self._picker = picker
        self._budget = budget
        self._started = time.perf_counter()
        self._tried: tuple[Member, ...] = ()
        self._chosen: Pick | None = None

    def first(self) -> Pick | None:
        return self._note(self._picker.pick((), self._started))

    def set_cookie(self) -> bytes:
        """The field that tells the client where it belongs from now on; empty where there is no news."""
        picker, branch = self._picker, self._job.branch
        if not isinstance(picker, Session) or picker.key is None or branch is None or branch.stickiness is None:
            return b""
        request, secure = self._job.request, self._job.client.secure
        return branch.stickiness.set_cookie(picker.key, request=request, secure=secure, now_epoch_seconds=time.time())

    def after(self, error: AttemptError) -> Pick | None:
        """The next pick after a failed one; None when there shall be no other try."""
        if error.kind is not ErrorKind.PASSED_OVER:
            policy = self._job.route.policy
            self._chosen = None
            if may_retry(error, method=self._job.request.method, on=policy.retry_on):
                self._choose(nothing_sent=error.sent is Sent.NOTHING)
        return self._note(self._chosen)

    def choose_instead_of(self, status: int) -> bool:
        """Choose who answers in place of a response of `status`; whether there is another, so that it is dropped."""
        job = self._job
        if not may_pass_over(status, method=job.request.method, on=job.route.policy.retry_on):
            return False
        self._choose(nothing_sent=False)
        return self._chosen is not None

    def _choose(self, *, nothing_sent: bool) -> None:
        policy, now = self._job.route.policy, time.perf_counter()
        self._chosen = None
        if len(self._tried) >= policy.tries > 0 or self._job.client.closed:
            return
        if 0 < policy.retry_seconds <= now - self._started:
            return
        if not self._budget.may_retry(now, nothing_sent=nothing_sent):
            return
        self._chosen = self._picker.pick(self._tried, now)

    def _note(self, pick: Pick | None) -> Pick | None:
        if pick is not None:
            self._tried = (*self._tried, pick.member)
        return pick


class Forwarder:
    """Carries out jobs with the pools of one worker, and a budget for retries."""

    __slots__ = ("_budget", "_pools", "_recorder")

    def __init__(self, *, pools: Pools, recorder: Recorder) -> None:
        self._pools = pools
        self._recorder = recorder
        self._budget = RetryBudget(time.perf_counter())

    async def forward(self, job: Job) -> Forwarded:
        """Try endpoints until one has answered, none is left, or another try would not be safe."""
        route = job.route
        runtime = job.view.backends.get(route.backend) if route.backend is not None else None
        if runtime is None:
            return _refused(job, ErrorKind.NO_BACKEND)
        if runtime.is_full:
            return _refused(job, ErrorKind.OVERLOADED)
        load, budget = runtime.load, self._budget
        load.in_flight += 1
        budget.begin_request()
        try:
            return await self._try_endpoints(job, runtime)
        finally:
            load.in_flight -= 1
            budget.end_request()

    async def _try_endpoints(self, job: Job, runtime: BackendRuntime) -> Forwarded:
        balancer = runtime.balancer(job.route.zone_policy, time.perf_counter())
        tries = _Tries(job, picker=_picker(job, runtime, balancer), budget=self._budget)
        pick = tries.first()
        if pick is None:
            refusal = job.account.refusal = balancer.refusal
            is_overload = balancer.pools.general and refusal is None
            return _refused(job, ErrorKind.OVERLOADED if is_overload else ErrorKind.NO_ENDPOINT)
        head = self._head(job)
        result = await self._attempt(job, runtime, pick=pick, head=head, tries=tries)
        while result.error is not None and (pick := tries.after(result.error)) is not None:
            self._note_retry(job.account, result.error)
            self._budget.begin_retry()
            try:
                result = await self._attempt(job, runtime, pick=pick, head=head, tries=tries)
            finally:
                self._budget.end_retry()
        return result

    def _head(self, job: Job) -> bytes:
        settings = job.view.model.proxy
        return endpoint_request_head(
            job.request,
            forwarded=job.client.forwarded,
            request_id=job.account.request_id or None,
            underscores=settings.underscores_in_headers,
            host=job.route.policy.host,
        )

    def _note_retry(self, account: Account, error: AttemptError) -> None:
        self._recorder.retry(error.kind.value)
        attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
        account.failed_attempts = (*account.failed_attempts, attempt)

    async def _attempt(self, job: Job, runtime: BackendRuntime, *, pick: Pick, head: bytes, tries: _Tries) -> Forwarded:
        """One attempt, whose outcome the endpoint's health hears of whatever happens."""
        account, member = job.account, pick.member
        account.pick = pick
        account.tried = (*account.tried, member.label)
        account.endpoint_status = None
        started = time.perf_counter()
        outcome, answered_at = Outcome.UNKNOWN, 0.0
        member.in_flight += 1
        try:
            result = await self._exchange(job, member, head=head, tries=tries)
            outcome = outcome_of(result.error, status=account.endpoint_status or 0)
            answered_at = result.first_byte_at
        finally:
            member.in_flight -= 1
            now = time.perf_counter()
            account.endpoint_seconds = now - started
            if runtime.report(pick, outcome, now=now, seconds=(answered_at or now) - started):
                self._recorder.ejection()
        return result

    async def _exchange(self, job: Job, member: Member, *, head: bytes, tries: _Tries) -> Forwarded:
        method = job.request.method
        pool = self._pools.of(member, job.route.policy.endpoint_tls)
        connection = pool.take(idle_at_most_seconds=None if is_repeatable(method) else FRESH_IDLE_SECONDS)
        pooled = connection is not None
        result = await self._try_connection(job, pool, connection, head=head, tries=tries)
        if result.error is not None and is_stale(result.error, method=method, pooled=pooled):
            return await self._try_connection(job, pool, None, head=head, tries=tries)
        return result

    async def _try_connection(
        self, job: Job, pool: Pool, connection: EndpointConnection | None, *, head: bytes, tries: _Tries
    ) -> Forwarded:
        policy = job.route.policy
        if connection is None:
            try:
                connection = await pool.connect(timeout_seconds=policy.connect_timeout_seconds)
            except TimeoutError:
                return _refused(job, ErrorKind.CONNECT_TIMEOUT)
            except ssl.SSLError:
                return _refused(job, ErrorKind.ENDPOINT_TLS)
            except OSError:
                return _refused(job, ErrorKind.CONNECT_REFUSED)
        if job.client.closed:
            pool.give_back(connection)
            return Forwarded(False, AttemptError(ErrorKind.CLIENT_LEFT, Sent.NOTHING))
        exchange = Exchange(
            client=job.client,
            request=job.request,
            policy=policy,
            settings=job.view.model.proxy,
            keep_alive=job.keep_alive,
            passes_over=tries.choose_instead_of,
            set_cookie=tries.set_cookie(),
        )
        await exchange.run(connection, head)
        pool.give_back(connection)
        account = job.account
        account.request_bytes, account.response_bytes = exchange.request_bytes, exchange.response_bytes
        account.status = exchange.status
        account.endpoint_status = exchange.endpoint_status or None
        return Forwarded(exchange.keep_alive, exchange.error, exchange.first_byte_at)


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


def _refused(job: Job, kind: ErrorKind) -> Forwarded:
    return Forwarded(job.keep_alive, AttemptError(kind, Sent.NOTHING))
