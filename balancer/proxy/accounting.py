"""Collects the facts of one request, and reports them to the metrics and the access log at its end.

Decides nothing and never fails a request. Names all fields that are logged, so that no secret (Authorization, Cookie)
can slip in.
"""

from __future__ import annotations

import random
import time
from binascii import hexlify
from functools import partial
from typing import NamedTuple

from balancer.errors import ErrorKind
from balancer.http.messages import HTTP_1_1, Repeated, RequestHead, field_value
from balancer.http.origin import Origin
from balancer.http.trace_context import trace_context_of
from balancer.logs.accesslines import AccessRecord, FailedAttempt
from balancer.logs.accesslog import AccessLog
from balancer.logs.lineformats import LineFormat, Logged
from balancer.logs.tracing.outbox import SpanOutbox
from balancer.logs.tracing.spans import SpanContext, finished_span
from balancer.matching.logged import LoggedRequests
from balancer.metrics.recorder import Recorder
from balancer.model.routes import Owner, Route
from balancer.model.zones import UNKNOWN_ZONE
from balancer.picking.members import Foretold, Pick
from balancer.zones.cost import FREE
from balancer.zones.reasons import Reason

_NOBODY = Owner("", "", "")
_NO_REQUEST = RequestHead(
    method=b"",
    authority=b"",
    host_name=b"",
    path=b"",
    target=b"",
    raw_target=b"",
    fields=(),
    body_bytes=0,
    expects_continue=False,
    upgrade=b"",
    protocol=HTTP_1_1,
    head_bytes=0,
    repeated=Repeated(()),
)


class Account:
    """The facts of one request, filled in as they become known. Durations in seconds, sizes in bytes of body.

    `started` is of `time.perf_counter`. An account is no msgspec struct: setting an attribute of one costs four times
    as much, and every request sets ten.
    """

    __slots__ = (
        "client",
        "endpoint_seconds",
        "endpoint_status",
        "error",
        "failed_attempts",
        "grpc_status",
        "pick",
        "refusal",
        "request",
        "request_bytes",
        "request_id",
        "response_bytes",
        "route",
        "span",
        "started",
        "status",
        "tried",
    )

    def __init__(self, client: str, request: RequestHead | None, started: float) -> None:
        self.client, self.request, self.started = client, request, started
        self.request_id = b""
        self.route: Route | None = None
        self.pick: Pick | None = None
        self.refusal: Reason | None = None
        self.error: ErrorKind | None = None
        self.span: SpanContext | None = None
        self.tried: tuple[str, ...] = ()
        self.failed_attempts: tuple[FailedAttempt, ...] = ()
        self.endpoint_seconds: float | None = None
        self.endpoint_status: int | None = None
        self.grpc_status: int | None = None
        self.status = self.request_bytes = self.response_bytes = 0

    def forget_attempt(self) -> None:
        """Another attempt follows: what the last one sent and received does not count."""
        self.endpoint_status = self.grpc_status = None
        self.status = self.request_bytes = self.response_bytes = 0


_REQUEST_IDS_AT_ONCE = 64
_request_ids: list[bytes] = []  # made in advance: many at once cost a third


def new_request_id() -> bytes:
    """A request id in the form of nginx's `$request_id`."""
    if not _request_ids:
        digits = hexlify(random.randbytes(16 * _REQUEST_IDS_AT_ONCE))
        _request_ids.extend([digits[at : at + 32] for at in range(0, len(digits), 32)])
    return _request_ids.pop()


class Logging(NamedTuple):
    """The rules of the operator about the access log, and the origin of the request that is logged."""

    rules: LoggedRequests
    origin: Origin


class Accounting:
    """Closes accounts: counts them and writes their lines."""

    __slots__ = ("_access_log", "_spans", "recorder")

    def __init__(self, *, recorder: Recorder, access_log: AccessLog, spans: SpanOutbox | None = None) -> None:
        """Without `spans` nothing is recorded, whatever gates say."""
        self.recorder = recorder
        self._spans = spans
        self._access_log = access_log if access_log.enabled else None

    def close(self, account: Account, from_zone: str, logging: Logging | None = None) -> None:
        """Counts and logs a request whose answer was written, or whose client left.

        `logging` are the rules of the operator, None where every request is logged as usual.
        """
        seconds = time.perf_counter() - account.started
        self._count(account, from_zone, seconds)
        if account.span is not None and account.span.sampled:
            self._record_span(account, account.span, from_zone, seconds)
        if self._access_log is None or (account.route is not None and not account.route.policy.logged):
            return
        if logging is None:
            self._access_log.write(_record(account, from_zone, seconds))
        elif logging.rules.takes(account.request, account.route):
            record, format = _record(account, from_zone, seconds), logging.rules.format_for(self._access_log.format)
            line_of = None if format is None else partial(_line, format, account.request, logging.origin)
            self._access_log.write(record, line_of)

    def _record_span(self, account: Account, span: SpanContext, from_zone: str, seconds: float) -> None:
        if self._spans is None or account.request is None or account.route is None:
            return
        logged = Logged(_record(account, from_zone, seconds), account.request, span.origin)
        self._spans.put(finished_span(span, logged, account.route.path))

    def _count(self, account: Account, from_zone: str, seconds: float) -> None:
        pick, sent, received = account.pick, account.request_bytes, account.response_bytes
        if account.error is not None:
            self.recorder.error(account.error.value)
        if account.grpc_status is not None:
            owner, service = (account.route.owner, account.route.service) if account.route else (_NOBODY, "")
            self.recorder.grpc(owner.namespace, owner.name, service, account.grpc_status)
        dollars = blind_dollars = 0.0
        if pick is not None:
            if pick.foretold is not None:
                self._count_dry_run(account, pick.foretold)
            if (tariff := pick.tariff) is not FREE:
                dollars = tariff.sent * sent + tariff.received * received
                blind_dollars = tariff.blind_sent * sent + tariff.blind_received * received
            note, taken = pick.note, account.endpoint_seconds
            if (
                note.route is account.route
                and note.status == account.status
                and note.from_zone == from_zone
                and account.error is None
                and taken is not None
            ):
                self.recorder.exchange(note.slots, seconds, taken, sent, received, dollars, blind_dollars)
                return
        self._count_by_name(account, from_zone, seconds, dollars, blind_dollars)

    def _count_by_name(
        self, account: Account, from_zone: str, seconds: float, dollars: float, blind_dollars: float
    ) -> None:
        """Counts a request unlike the last one of its pick, and notes with the pick where it was counted."""
        route, pick, error = account.route, account.pick, account.error
        owner = route.owner if route else _NOBODY
        reason = pick.reason if pick else account.refusal
        code: str | None = reason._value_ if reason is not None else None
        kind = error._value_ if error is not None else None
        service = route.service if route else ""
        to_zone = pick.to_zone if pick else UNKNOWN_ZONE
        locality = pick.locality._value_ if pick else "unknown"  # `value` costs two calls
        self.recorder.request(
            owner.namespace,
            owner.name,
            service,
            from_zone,
            to_zone,
            locality,
            account.status,
            seconds,
            account.endpoint_seconds,
            account.request_bytes,
            account.response_bytes,
            dollars,
            blind_dollars,
            code,
            kind,
        )
        if pick is None or error is not None:
            return
        labels = (owner.namespace, owner.name, service, from_zone, to_zone, locality, account.status, code, kind)
        if (slots := self.recorder.known_slots(labels)) is not None:
            note = pick.note
            note.route, note.status, note.from_zone, note.slots = route, account.status, from_zone, slots

    def _count_dry_run(self, account: Account, foretold: Foretold) -> None:
        namespace, service = (account.route.owner.namespace, account.route.service) if account.route else ("", "")
        dollars = foretold.tariff.dollars(account.request_bytes, account.response_bytes)
        self.recorder.dry_run(namespace, service, foretold.reason.value, dollars=dollars)


def _line(format: LineFormat, request: RequestHead | None, origin: Origin, record: AccessRecord) -> bytes:
    return format.line(Logged(record, request, origin))


class _Noted(NamedTuple):
    """What the lines of requests with the same fields have in common."""

    host: str
    user_agent: str | None
    referer: str | None
    trace_id: str | None


def _record(account: Account, from_zone: str, seconds: float) -> AccessRecord:
    request = account.request or _NO_REQUEST  # a refused head has a line, too, without what was not understood
    route, pick = account.route, account.pick
    owner = route.owner if route else _NOBODY
    host, user_agent, referer, trace_id = _noted(request)
    span = account.span
    record = AccessRecord(  # by position, because names would take eight times as long
        time.time(),
        account.client,
        request.method.decode("ascii"),
        host,
        request.raw_target.decode("latin-1"),
        request.protocol,
        account.status,
        account.request_bytes,
        account.response_bytes,
        seconds,
        account.endpoint_seconds,
        owner.namespace,
        owner.name,
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
    )
    # What few requests have, so not in the call: with more than 30 arguments CPython makes a list of them first.
    if pick is not None and pick.foretold is not None:
        record.dry_run_reason = pick.foretold.reason.value
    if account.error is not None:
        record.error = account.error._value_
    if span is not None:
        record.trace_id, record.span_id = span.trace_id, span.span_id
    elif trace_id is not None:
        record.trace_id = trace_id
    if account.grpc_status is not None:
        record.grpc_status = account.grpc_status
    return record


def _reason(account: Account) -> str | None:
    reason = account.pick.reason if account.pick else account.refusal
    code: str | None = reason._value_ if reason is not None else None
    return code


def _noted(request: RequestHead) -> _Noted:
    repeated = request.repeated
    noted = repeated.noted
    if not isinstance(noted, _Noted):
        host = request.authority.decode("latin-1")
        trace = trace_context_of(request.fields)
        trace_id = None if trace is None else trace.trace_id
        noted = _Noted(host, _text(request, b"user-agent"), _text(request, b"referer"), trace_id)
        repeated.noted = noted
    return noted


def _text(request: RequestHead, name: bytes) -> str | None:
    value = field_value(request.fields, name)
    return None if value is None else value.decode("latin-1")
