"""Takes part in the election of the one replica that writes.

Carries out the steps of `electing` and reports who leads. The leader is only the replica that writes; all replicas
serve. Does not know what a leader writes.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable

from ingress.findings import Finding, Findings, Severity, Subject
from ingress.writing.calling import Api, ApiAnswer, NoApiAnswer, ask
from ingress.writing.electing import Election, ElectorTimes, Read, Wait, Write
from ingress.writing.lease import Lease, LeaseError, decode_lease, encode_lease, lease_path

_LOG = logging.getLogger(__name__)

_REFUSALS = frozenset({400, 401, 403, 422})
"""Statuses that only a person can repair."""

_RELEASE_REQUESTS = 2  # read the Lease if its state is in doubt, then write; on a failure the lease runs out


def _ignore(_: object) -> None:
    """The default callback: does nothing."""


class Elector:
    """One candidate for one Lease. `leading` may be read at any time and is never true for longer than is safe."""

    def __init__(
        self,
        api: Api,
        *,
        namespace: str,
        name: str,
        identity: str,
        times: ElectorTimes | None = None,
        on_change: Callable[[bool], None] = _ignore,
        on_findings: Callable[[tuple[Finding, ...]], None] = _ignore,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`identity` must differ between processes: the name of the pod and a random suffix.

        `on_change` is called at each gain and loss of leadership, `on_findings` with all findings whenever they change.
        Both run in the loop's thread and must not fail.
        """
        self._api = api
        self._namespace = namespace
        self._name = name
        self._election = Election(name, identity, times=times or ElectorTimes())
        self._on_change = on_change
        self._on_findings = on_findings
        self._monotonic = monotonic
        self._told = False
        self._problem = ""
        self._findings: tuple[Finding, ...] = ()

    @property
    def leading(self) -> bool:
        """Whether this replica may write now. A blocked loop or a lost API server ends leadership without any event."""
        return self._election.is_leading(self._monotonic())

    @property
    def problem(self) -> str:
        """Why the last request to the API server failed, in one line; empty if it succeeded."""
        return self._problem

    async def run(self) -> None:
        """Takes part without end. Cancelling `run` stops renewing; `release` then hands over at once."""
        try:
            while True:
                await self._advance()
                self._tell()
        finally:
            self._tell()

    async def release(self) -> None:
        """Stops leading, so that another replica can lead before the lease runs out.

        Before the call `run` must have ended, and so must every write that depended on `leading`. Never fails.
        """
        for _ in range(_RELEASE_REQUESTS):
            step = self._election.release(wall_seconds=time.time())
            self._tell()
            if step is None or not await self._released(step):
                return

    async def _advance(self) -> None:
        now = self._monotonic()
        step = self._election.step(now, wall_seconds=time.time(), chance=random.random())
        match step:
            case Wait():
                await asyncio.sleep(step.until - now)
            case Read() | Write():
                await self._carry_out(step, started_at=now)

    async def _carry_out(self, step: Read | Write, *, started_at: float) -> None:
        try:
            if isinstance(step, Read):
                self._election.saw(await self._read(step), self._monotonic())
            else:
                self._election.wrote(await self._write(step), started_at=started_at)
            self._note("")
        except _Failed as failure:
            self._election.failed(self._monotonic(), chance=random.random())
            self._note(str(failure), is_refusal=failure.is_refusal, is_unanswered=failure.is_unanswered)

    async def _released(self, step: Read | Write) -> bool:
        """Carries out one step of giving up. Returns whether another step may follow."""
        try:
            if isinstance(step, Write):
                await self._write(step)
                return False
            self._election.saw(await self._read(step), self._monotonic())
            return True
        except _Failed as failure:
            _LOG.info("the lease could not be given up and will run out: %s", failure)
            return False

    async def _read(self, step: Read) -> Lease | None:
        path = lease_path(self._namespace, self._name)
        answer = await self._ask("GET", path, body=None, limit_seconds=step.limit_seconds)
        return None if answer.status == 404 else _lease_of(answer)

    async def _write(self, step: Write) -> Lease:
        method, name = ("PUT", self._name) if step.lease.version else ("POST", "")
        body = encode_lease(step.lease)
        path = lease_path(self._namespace, name)
        return _lease_of(await self._ask(method, path, body=body, limit_seconds=step.limit_seconds))

    async def _ask(self, method: str, path: str, *, body: bytes | None, limit_seconds: float) -> ApiAnswer:
        try:
            return await ask(self._api, method, path, body=body, timeout_seconds=limit_seconds)
        except NoApiAnswer as error:
            raise _Failed(str(error), is_unanswered=True) from error

    def _tell(self) -> None:
        if self.leading != self._told:
            self._told = not self._told
            _LOG.info("this replica %s", "leads: it writes status and Events" if self._told else "no longer leads")
            self._on_change(self._told)

    def _note(self, problem: str, *, is_refusal: bool = False, is_unanswered: bool = False) -> None:
        # Other findings warn that the API server is away. Here such a finding would come and go.
        level = logging.INFO if is_unanswered else logging.WARNING
        if problem and not self._problem:
            _LOG.log(level, "the lease %s/%s cannot be kept: %s", self._namespace, self._name, problem)
        self._problem = problem
        findings = _findings(self._namespace, self._name, problem=problem) if is_refusal else ()
        if findings != self._findings:
            self._findings = findings
            self._on_findings(findings)


class _Failed(Exception):
    """A step failed; the text is one line. It is empty after a lost race, which only means to read the Lease again.

    `is_refusal`: the API server does not allow it. `is_unanswered`: the API server has not answered.
    """

    def __init__(self, problem: str, *, is_refusal: bool = False, is_unanswered: bool = False) -> None:
        super().__init__(problem)
        self.is_refusal = is_refusal
        self.is_unanswered = is_unanswered


def _lease_of(answer: ApiAnswer) -> Lease:
    if answer.status == 409:
        raise _Failed("")
    if not answer.is_success:
        raise _Failed(answer.problem, is_refusal=answer.status in _REFUSALS)
    try:
        return decode_lease(answer.body)
    except LeaseError as error:
        raise _Failed(str(error)) from None


def _findings(namespace: str, name: str, *, problem: str) -> tuple[Finding, ...]:
    findings = Findings()
    findings.add(
        Subject("Lease", namespace, name),
        reason="LeaseRefused",
        message=f"The Lease cannot be kept: {problem}. Allow get, create and update of leases.",
        severity=Severity.DEGRADED,
        effect="This replica does not lead, so it writes no status and no Events; traffic is served.",
    )
    return findings.frozen()
