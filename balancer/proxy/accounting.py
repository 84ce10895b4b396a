"""What is known of one request at its end, and telling it to the metrics and the access log.

It decides nothing and never fails a request. The names of fields that are logged are listed here, so nothing that may
hold a secret (Authorization, Cookie) can slip in.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import msgspec

from balancer.accesslines import AccessRecord, FailedAttempt
from balancer.accesslog import AccessLog
from balancer.errors import ErrorKind
from balancer.http1.fields import field_value
from balancer.http1.heads import Repeated, RequestHead
from balancer.members import UNKNOWN_ZONE, Foretold, Pick
from balancer.metrics.recorder import Recorder
from balancer.model import Route
from balancer.zones.cost import FREE
from balancer.zones.reasons import Reason

_NO_REQUEST = RequestHead()
_NO_REQUEST.method = _NO_REQUEST.host = _NO_REQUEST.raw_target = b""
_NO_REQUEST.minor = 1
_NO_REQUEST.head_bytes = 0
_NO_REQUEST.fields = []
_NO_REQUEST.repeated = Repeated([])


class Account(msgspec.Struct, eq=False):
    """One request's facts, filled in as it goes. Durations in seconds, sizes in bytes of body.

    `started` is of `time.perf_counter`.
    """

    client: str
    request: RequestHead | None
    started: float
    request_id: bytes = b""
    route: Route | None = None
    pick: Pick | None = None
    refusal: Reason | None = None
    error: ErrorKind | None = None
    tried: tuple[str, ...] = ()
    failed_attempts: tuple[FailedAttempt, ...] = ()
    endpoint_seconds: float | None = None
    endpoint_status: int | None = None
    status: int = 0
    request_bytes: int = 0
    response_bytes: int = 0


class Accounting:
    """Closes accounts: counts them and writes their lines."""

    __slots__ = ("_access_log", "recorder")

    def __init__(self, *, recorder: Recorder, access_log: AccessLog) -> None:
        self.recorder = recorder
        self._access_log = access_log if access_log.enabled else None

    def close(self, account: Account, from_zone: str) -> None:
        """Count and log a request whose answer has been written, or whose client left."""
        seconds = time.perf_counter() - account.started
        self._count(account, from_zone, seconds)
        if self._access_log is not None:
            self._access_log.write(_record(account, from_zone, seconds))

    def _count(self, account: Account, from_zone: str, seconds: float) -> None:
        recorder, route, pick = self.recorder, account.route, account.pick
        tariff = pick.tariff if pick else FREE
        sent, received = account.request_bytes, account.response_bytes
        if account.error is not None:
            recorder.error(account.error.value)
        if pick is not None and pick.foretold is not None:
            self._count_dry_run(account, pick.foretold)
        recorder.request(
            namespace=route.namespace if route else "",
            ingress=route.ingress if route else "",
            service=route.service if route else "",
            from_zone=from_zone,
            to_zone=pick.to_zone if pick else UNKNOWN_ZONE,
            locality=pick.locality._value_ if pick else "unknown",  # `value` costs two calls
            status=account.status,
            seconds=seconds,
            endpoint_seconds=account.endpoint_seconds,
            request_bytes=sent,
            response_bytes=received,
            dollars=tariff.sent * sent + tariff.received * received,
            blind_dollars=tariff.blind_sent * sent + tariff.blind_received * received,
            reason=_reason(account),
        )

    def _count_dry_run(self, account: Account, foretold: Foretold) -> None:
        namespace, service = (account.route.namespace, account.route.service) if account.route else ("", "")
        dollars = foretold.tariff.dollars(account.request_bytes, account.response_bytes)
        self.recorder.dry_run(namespace, service, foretold.reason.value, dollars=dollars)


class _Noted(NamedTuple):
    """What the lines of requests with the same fields have in common."""

    host: str
    user_agent: str | None
    referer: str | None


def _record(account: Account, from_zone: str, seconds: float) -> AccessRecord:
    request = account.request or _NO_REQUEST  # a refused head has a line too, without what was not understood
    route, pick = account.route, account.pick
    host, user_agent, referer = _noted(request)
    return AccessRecord(  # by position, in the order of its fields: names would cost eight times as much
        time.time(),
        account.client,
        request.method.decode("ascii"),
        host,
        request.raw_target.decode("latin-1"),
        "HTTP/1.1" if request.minor else "HTTP/1.0",
        account.status,
        account.request_bytes,
        account.response_bytes,
        seconds,
        account.endpoint_seconds,
        route.namespace if route else "",
        route.ingress if route else "",
        route.service if route else "",
        account.tried,
        from_zone,
        pick.to_zone if pick else UNKNOWN_ZONE,
        pick.locality._value_ if pick else "unknown",
        _reason(account) or "",
        account.request_id.decode("latin-1"),
        account.endpoint_status,
        account.failed_attempts,
        route.backend.rpartition(":")[2] if route and route.backend else "",
        request.head_bytes,
        user_agent,
        referer,
        pick.foretold.reason.value if pick and pick.foretold else None,
    )


def _reason(account: Account) -> str | None:
    reason = account.pick.reason if account.pick else account.refusal
    code: str | None = reason._value_ if reason is not None else None
    return code


def _noted(request: RequestHead) -> _Noted:
    repeated = request.repeated
    noted = repeated.noted
    if not isinstance(noted, _Noted):
        host = request.host.decode("latin-1")
        noted = _Noted(host, _text(request, b"user-agent"), _text(request, b"referer"))
        repeated.noted = noted
    return noted


def _text(request: RequestHead, name: bytes) -> str | None:
    value = field_value(request.fields, name)
    return None if value is None else value.decode("latin-1")
