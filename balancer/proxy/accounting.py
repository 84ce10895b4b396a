"""Reports the facts of one request to the metrics and the access log at its end.

Decides nothing and never fails a request.
"""

from __future__ import annotations

import time
from functools import partial
from typing import NamedTuple

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.logs.accesslines import AccessRecord
from balancer.logs.accesslog import AccessLog
from balancer.logs.lineformats import LineFormat, Logged
from balancer.logs.tracing.outbox import SpanOutbox
from balancer.logs.tracing.spans import SpanContext, finished_span
from balancer.matching.destinations import Destination, DestinationNote
from balancer.matching.logged import LoggedRequests
from balancer.metrics.recorder import Recorder, RequestLabels, RouteLabels
from balancer.model.zones import UNKNOWN_ZONE
from balancer.picking.members import Foretold, Pick, PickNote, Slots
from balancer.proxy import lines
from balancer.proxy.account import Account
from balancer.zones.cost import FREE

_SERVER_ERRORS = 500


class Logging(NamedTuple):
    """The rules of the operator about the access log, and the origin of the request that is logged."""

    rules: LoggedRequests
    origin: Origin


class Accounting:
    """Closes accounts: counts them and writes their lines."""

    __slots__ = ("_access_log", "_json", "_spans", "recorder")

    def __init__(self, *, recorder: Recorder, access_log: AccessLog, spans: SpanOutbox | None = None) -> None:
        """Without `spans` nothing is recorded, whatever gates say."""
        self.recorder = recorder
        self._spans = spans
        self._access_log = access_log if access_log.enabled else None
        self._json = access_log.json_line

    def close(self, account: Account, from_zone: str, logging: Logging | None = None) -> None:
        """Counts and logs a request whose answer was written, or whose client left.

        `logging` are the rules of the operator, None where every request is logged as usual.
        """
        seconds = time.perf_counter() - account.started
        is_noted = self._count(account, from_zone, seconds)
        span = account.span
        if span is not None and span.sampled:
            self._record_span(account, span, from_zone, seconds)
        log = self._access_log
        if log is None:
            return
        to = account.destination
        if to is not None and not to.policy.logged:
            return
        if logging is not None:
            return self._log_by_rules(log, account, from_zone, seconds, logging)
        json = self._json
        if is_noted and json is not None and to is not None:
            line = lines.ordinary_line(json, account, seconds)
            if line:
                return log.write_line(line, to.names.namespace)
        log.write(lines.record_of(account, from_zone, seconds))

    def _log_by_rules(self, log: AccessLog, account: Account, from_zone: str, seconds: float, logging: Logging) -> None:
        to = account.destination
        if logging.rules.takes(account.request, None if to is None else to.route.owner):
            record, format = lines.record_of(account, from_zone, seconds), logging.rules.format_for(log.format)
            line_of = None if format is None else partial(_line, format, account.request, logging.origin)
            log.write(record, line_of)

    def _record_span(self, account: Account, span: SpanContext, from_zone: str, seconds: float) -> None:
        to = account.destination
        if self._spans is None or account.request is None or to is None:
            return
        logged = Logged(lines.record_of(account, from_zone, seconds), account.request, span.origin)
        self._spans.put(finished_span(span, logged, to.route.path), to.tenant)

    def _count(self, account: Account, from_zone: str, seconds: float) -> bool:
        """Counts a request. Says whether the note of its pick fits."""
        pick, sent, received = account.pick, account.request_bytes, account.response_bytes
        recorder = self.recorder
        if account.error is not None:
            recorder.error(account.error.value)
        if account.grpc_status is not None:
            names = lines.names_of(account)
            recorder.grpc(names.namespace, names.ingress, names.service, account.grpc_status)
        dollars = blind_dollars = 0.0
        if pick is not None:
            foretold = pick.foretold
            if foretold is not None:
                self._count_dry_run(account, foretold)
            tariff = pick.tariff
            if tariff is not FREE:
                dollars = tariff.sent * sent + tariff.received * received
                blind_dollars = tariff.blind_sent * sent + tariff.blind_received * received
            note, taken = pick.note, account.endpoint_seconds
            if (
                note.destination is account.destination
                and note.status == account.status
                and note.from_zone == from_zone
                and account.error is None
                and taken is not None
            ):
                recorder.exchange(note.slots, seconds, taken, sent, received, dollars, blind_dollars)
                return True
            if taken is not None and account.error is None and self._turn(note, account, pick, from_zone):
                recorder.exchange(note.slots, seconds, taken, sent, received, dollars, blind_dollars)
                return True
        return self._count_by_name(account, from_zone, seconds, dollars, blind_dollars)

    def _turn(self, note: PickNote, account: Account, pick: Pick, from_zone: str) -> bool:
        """Turns the note of a pick to the destination and status of a request. Whether such requests are known.

        Nothing is kept for each pair of both: there may be thousands of destinations for each pick.
        """
        to = account.destination
        if to is None:
            return False
        status, noted = account.status, to.note
        if (
            noted.to_zone != pick.to_zone
            or noted.status != status
            or noted.reason is not pick.reason
            or noted.locality is not pick.locality
            or noted.from_zone != from_zone
        ) and not self._find(noted, to, status, pick, from_zone):
            return False
        _renew(note, to, status, from_zone, noted.slots)
        return True

    def _find(self, noted: DestinationNote, to: Destination, status: int, pick: Pick, from_zone: str) -> bool:
        """Notes with a destination where such requests to it count. Whether they are known."""
        namespace, ingress, service, _ = to.names
        reason, locality, to_zone = pick.reason, pick.locality, pick.to_zone
        recorder = self.recorder
        slots = recorder.known(
            (namespace, ingress, service, from_zone, to_zone, locality._value_, status, reason._value_, None)
        )
        if slots is None:
            return False
        noted.status = status
        noted.to_zone = to_zone
        noted.reason = reason
        noted.locality = locality
        noted.from_zone = from_zone
        noted.slots = (*slots, self._route_slot(to, status))
        return True

    def _count_by_name(
        self, account: Account, from_zone: str, seconds: float, dollars: float, blind_dollars: float
    ) -> bool:
        """Counts a request of which the like is not known, and notes with the pick where, if it can. Whether it did."""
        to, pick, error = account.destination, account.pick, account.error
        names = lines.names_of(account)
        reason = pick.reason if pick else account.refusal
        code: str | None = reason._value_ if reason is not None else None
        kind = error._value_ if error is not None else None
        to_zone = pick.to_zone if pick else UNKNOWN_ZONE
        locality = pick.locality._value_ if pick else "unknown"  # `value` costs two calls
        recorder = self.recorder
        labels = RequestLabels(
            names.namespace, names.ingress, names.service, from_zone, to_zone, locality, account.status, code, kind
        )
        sent, received, taken = account.request_bytes, account.response_bytes, account.endpoint_seconds
        route = self._route_slot(to, account.status)
        slots = recorder.request(labels, seconds, taken, sent, received, dollars, blind_dollars, route)
        if pick is None or error is not None or slots is None:
            return False
        _renew(pick.note, to, account.status, from_zone, slots)
        return True

    def _route_slot(self, to: Destination | None, status: int) -> int:
        """Where a request to a destination counts for its path; -1 without one."""
        if to is None:
            return -1
        count = to.count
        first = count.slot
        if first < 0:
            recorder, route, kind = self.recorder, to.route, to.route.kind.value
            owner, service = route.owner, route.main.service.name
            first = recorder.route_slot(
                RouteLabels(owner.namespace, owner.name, service, count.host_name, route.path, kind)
            )
            count.slot = first  # without room as well: a table gives none back, so there never will be
        return first + 1 if status >= _SERVER_ERRORS else first

    def _count_dry_run(self, account: Account, foretold: Foretold) -> None:
        names = lines.names_of(account)
        dollars = foretold.tariff.dollars(account.request_bytes, account.response_bytes)
        recorder = self.recorder
        reason, locality = foretold.reason.value, foretold.locality.value
        recorder.dry_run(names.namespace, names.service, reason, locality, dollars=dollars)


def _renew(note: PickNote, to: Destination | None, status: int, from_zone: str, slots: Slots) -> None:
    if note.from_zone != from_zone:
        note.way = ""
    note.destination = to
    note.status = status
    note.from_zone = from_zone
    note.slots = slots
    note.names = ""


def _line(format: LineFormat, request: RequestHead | None, origin: Origin, record: AccessRecord) -> bytes:
    return format.line(Logged(record, request, origin))
