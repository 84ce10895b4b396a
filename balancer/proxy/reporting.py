"""Tells metrics and the log what an attempt has shown about its endpoint."""

from __future__ import annotations

from balancer.errors import AttemptError, ErrorKind
from balancer.logs.accesslines import FailedAttempt
from balancer.matching.destinations import Destination
from balancer.picking.backend import BackendRuntime
from balancer.picking.endpoint_health import Change
from balancer.proxy.context import RequestContext
from balancer.zones.evacuation import ZoneChange


def tell(
    context: RequestContext,
    runtime: BackendRuntime,
    change: Change | ZoneChange,
    error: AttemptError | None,
    now: float,
) -> None:
    """Counts and logs what the last attempt has changed about its endpoint, or about a zone."""
    account, sight = context.account, context.supplies.forwarder.sight
    if isinstance(change, ZoneChange):
        return sight.tell_zone(runtime, change, now)
    if account.grpc_status:
        why = f"grpc-status {account.grpc_status}"
    elif error is None or error.kind is ErrorKind.PASSED_OVER:
        why = f"status {account.endpoint_status}"
    else:
        why = error.kind.value
    assert account.pick is not None
    sight.tell(runtime, account.pick.member, change, now, why)


def note_retry(context: RequestContext, to: Destination, error: AttemptError) -> None:
    """Counts and notes a failed attempt, after which another one begins."""
    account, names, recorder = context.account, to.names, context.supplies.forwarder.recorder
    recorder.retry(names.namespace, names.service, error.kind.value)
    attempt = FailedAttempt(status=account.endpoint_status, duration=account.endpoint_seconds or 0.0)
    account.failed_attempts = (*account.failed_attempts, attempt)
