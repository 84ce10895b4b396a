"""Makes the record of a request for the access log, and the JSON line of an ordinary request.

Names all fields that are logged, so that no secret (Authorization, Cookie) can slip in. Most of a line is the same for
many requests: what follows from the fields, from the destination and from the pick is kept with these.
"""

from __future__ import annotations

import time
from functools import lru_cache

import msgspec

from balancer.http.memos import Memo
from balancer.http.messages import HTTP_1_1, LOGGED_FIELDS, Repeated, RequestHead
from balancer.http.trace_context import TRACEPARENT, trace_context_of
from balancer.logs import calls
from balancer.logs.accesslines import FIELD_CHARACTERS_MAX, AccessRecord, JsonLine, in_ascii, repeating
from balancer.matching.destinations import Destination, DestinationNames, DestinationNote
from balancer.model.zones import UNKNOWN_ZONE
from balancer.picking.members import PickNote
from balancer.proxy.account import NOBODY, Account
from balancer.proxy.hooked_accounts import HookedAccount

_SECOND = 1_000_000
_PARTS_REMEMBERED = 256  # each with the port of a Service
_encode = msgspec.json.Encoder().encode
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


class Noted(Memo):
    """What the lines of requests with the same fields have in common. `has_id`: the client names the request.

    `opening` is the part of a JSON line from the client to the status if `client` asks for `target` by `method` and
    `protocol`: those of the last request. `closing` is the end after the size of the head. Both are empty at first.
    """

    __slots__ = (
        "client",
        "closing",
        "has_id",
        "host",
        "method",
        "opening",
        "protocol",
        "referer",
        "target",
        "trace_id",
        "user_agent",
    )

    def __init__(self, request: RequestHead) -> None:
        self.beside = None
        self.host = request.authority.decode("latin-1")
        values: dict[bytes, bytes] = {}
        for name, value in request.fields:
            if name in LOGGED_FIELDS and name not in values:
                values[name] = value
        self.user_agent = _text(values.get(b"user-agent"))
        self.referer = _text(values.get(b"referer"))
        trace = trace_context_of(request.fields) if TRACEPARENT in values else None
        self.trace_id = None if trace is None else trace.trace_id
        self.has_id = request.repeated.request_id is not None
        self.client = ""
        self.opening = ""
        self.closing = ""
        self.protocol = ""
        self.method = b""
        self.target = b""

    def open(self, client: str, request: RequestHead) -> None:
        """Makes `opening` and `closing` for a request of `client`."""
        method, path = request.method.decode("ascii"), request.raw_target.decode("latin-1")
        self.client = client
        self.method = request.method
        self.target = request.raw_target
        self.protocol = request.protocol
        opening, closing = repeating(
            client, method, self.host, path, request.protocol, self.user_agent, self.referer, self.trace_id
        )
        self.opening = opening
        self.closing = closing


def ordinary_line(json: JsonLine, account: Account, seconds: float) -> bytes:
    """The JSON line of a request that the note of its pick fits. Empty if it is not ordinary: `record_of` has it then.

    An ordinary request was answered at the first attempt and within a second, and its line has no rare fields. Only
    what differs from request to request is written here.
    """
    request, pick = account.request, account.pick
    if (
        request is None
        or pick is None
        or pick.foretold is not None
        or account.span is not None
        or account.failed_attempts
    ):
        return b""
    note, micros = pick.note, int(seconds * 1e6 + 0.5)
    endpoint_micros = int((account.endpoint_seconds or 0.0) * 1e6 + 0.5)
    if micros >= _SECOND or endpoint_micros >= _SECOND or account.endpoint_status != note.status:
        return b""
    if not note.names and not _compose(note, account.destination):
        return _first_line(json, account, seconds)
    known, head_bytes = request.repeated.logged, request.head_bytes
    noted = known if isinstance(known, Noted) else noted_of(request)
    if (
        noted.target != request.raw_target
        or noted.client != account.client
        or noted.method != request.method
        or noted.protocol != request.protocol
    ):
        noted.open(account.client, request)
    line = calls.json_line(
        json.start(time.time()),
        noted.opening,
        account.status,
        account.request_bytes,
        account.response_bytes,
        micros,
        endpoint_micros,
        note.names,
        _inside(account.request_id) if noted.has_id else account.request_id,
        note.rest,
        head_bytes,
        noted.closing,
    )
    if line and account.grpc_status is not None:  # the last field
        line = b'%b,"grpc_status":%d}\n' % (line[:-2], account.grpc_status)
    return b"" if len(line) > FIELD_CHARACTERS_MAX else line


def _compose(note: PickNote, to: Destination | None) -> bool:
    """Puts together what follows from a pick, a destination and a status. Whether pick and destination had lines."""
    if to is None:
        return False
    named = to.note
    if not named.names or not note.way:
        return False
    note.names = named.names + note.way
    note.rest = f'","endpoint_status":{note.status}{named.port}'
    return True


def _first_line(json: JsonLine, account: Account, seconds: float) -> bytes:
    """The line of the record. Keeps what further requests with the same pick or destination have in their lines."""
    pick, to = account.pick, account.destination
    assert pick is not None
    line = json(record_of(account, pick.note.from_zone, seconds))
    if to is not None and len(line) <= FIELD_CHARACTERS_MAX:
        _keep_parts(line.decode("ascii"), pick.note, to.note)
    return line


def _keep_parts(line: str, note: PickNote, named: DestinationNote) -> None:
    """Cuts what follows from pick and destination out of `line`. No value has a quote that is not escaped, as keys
    have.
    """
    names = line.index(',"namespace":')
    way = line.index(',"endpoints":', names)
    request_id = _after(line, ',"request_id":"', way)
    port = _after(line, f'","endpoint_status":{note.status}', request_id)
    named.names = line[names:way]
    named.port = _one_of_equal(line[port : _after(line, ',"head_bytes":', port)])
    note.way = line[way:request_id]


@lru_cache(maxsize=_PARTS_REMEMBERED)
def _one_of_equal(part: str) -> str:
    """One object for equal parts of lines, of which there are few: it stays in the caches of the processor."""
    return part


def _after(line: str, key: str, start: int) -> int:
    """Where the value of `key` begins."""
    return line.index(key, start) + len(key)


def names_of(account: Account) -> DestinationNames:
    """The names under which a request is counted and logged."""
    to = account.destination
    return NOBODY if to is None else to.names


def noted_of(request: RequestHead) -> Noted:
    """What is noted with the fields of `request`."""
    repeated = request.repeated
    noted = repeated.logged
    if not isinstance(noted, Noted):
        noted = Noted(request)
        repeated.logged = noted
    return noted


def _inside(value: bytes) -> bytes:
    """What stands between the quotes."""
    return in_ascii(_encode(value.decode("latin-1")))[1:-1]


def record_of(account: Account, from_zone: str, seconds: float) -> AccessRecord:
    request = account.request or _NO_REQUEST  # a refused head has a line, too, without what was not understood
    pick, names = account.pick, names_of(account)
    noted = noted_of(request)
    span = account.span
    record = AccessRecord(  # by position, because names would take eight times as long
        time.time(),
        account.client,
        request.method.decode("ascii"),
        noted.host,
        request.raw_target.decode("latin-1"),
        request.protocol,
        account.status,
        account.request_bytes,
        account.response_bytes,
        seconds,
        account.endpoint_seconds,
        names.namespace,
        names.ingress,
        names.service,
        account.tried,
        from_zone,
        pick.to_zone if pick else UNKNOWN_ZONE,
        pick.locality._value_ if pick else "unknown",
        _reason(account) or "",
        account.request_id.decode("latin-1"),
        account.endpoint_status,
        account.failed_attempts,
        names.port,
        request.head_bytes,
        noted.user_agent,
        noted.referer,
    )
    # What few requests have, so not in the call: with more than 30 arguments CPython makes a list of them first.
    if pick is not None and pick.foretold is not None:
        record.dry_run_reason = pick.foretold.reason.value
    if account.error is not None:
        record.error = account.error._value_
    if span is not None:
        record.trace_id = span.trace_id
        record.span_id = span.span_id
    elif noted.trace_id is not None:
        record.trace_id = noted.trace_id
    if account.grpc_status is not None:
        record.grpc_status = account.grpc_status
    if isinstance(account, HookedAccount) and account.hook:
        record.hook = account.hook
    return record


def _reason(account: Account) -> str | None:
    reason = account.pick.reason if account.pick else account.refusal
    code: str | None = reason._value_ if reason is not None else None
    return code


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")
