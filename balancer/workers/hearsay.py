"""Takes what others say about endpoints: other workers of this replica, and other replicas.

Decides nothing: the rules are those of `balancer/picking/health.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from balancer.live import LiveTable
from balancer.model.endpoints import BackendKey
from balancer.picking.backend import BackendRuntime
from balancer.picking.ejections import Cause
from balancer.picking.endpoint_health import Change
from balancer.picking.failing import WATCHED_SECONDS, FailingRow
from balancer.picking.members import Member
from balancer.proxy.forwarder import Sight
from balancer.workers.messages import SuspectRow


def suspect(live: LiveTable, rows: Iterable[SuspectRow], sight: Sight, now: float) -> None:
    """Takes what other replicas saw. `now` is on the clock of picks."""
    for row in rows:
        for runtime, member in _found(live, row.backend, row.endpoint):
            if live.failing.watch(runtime.backend.key, member.label, member.health, now):
                runtime.health.suspect(member.health, now, now + WATCHED_SECONDS)
            if row.ejects and runtime.health.eject_suspect(member.health, now):
                sight.tell(runtime, member, Change.EJECTED, now, "what they saw")


def hear(live: LiveTable, rows: Iterable[FailingRow], now: float) -> None:
    """Takes what another worker of this replica saw. That one tells it to the log and the metrics."""
    for row in rows:
        for runtime, member in _found(live, row.backend, row.endpoint):
            health, fails = member.health, row.failures > 0
            if fails and not live.failing.watch(runtime.backend.key, member.label, health, now):
                continue  # the namespace has its part
            if runtime.health.hear(health, row.step, now, fails=fails):
                member.is_silent = health.why is not None and health.why.cause is Cause.SILENCE


def _found(live: LiveTable, backend: str, endpoint: str) -> Iterator[tuple[BackendRuntime, Member]]:
    """The endpoint with this label, if this worker knows it."""
    runtime = live.view.backends.get(BackendKey(backend))
    member = None if runtime is None else runtime.members.get(endpoint)
    if runtime is not None and member is not None:
        yield runtime, member
