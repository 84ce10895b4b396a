"""Makes an access log line: the record of one request, in one of two formats.

Makes one bounded, safe line out of any record. Does not know where lines go.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from enum import Enum
from typing import Any, Final

import msgspec

# Long enough for any honest path, and short enough that 4 MiB hold hundreds of the worst lines.
FIELD_CHARACTERS_MAX: Final = 2048


class AccessLogFormat(Enum):
    """The format of a line. The text format has the name that users of ingress-nginx know."""

    JSON = "json"
    UPSTREAMINFO = "upstreaminfo"
    OFF = "off"


class FailedAttempt(msgspec.Struct, frozen=True, gc=False):
    """A failed attempt that another attempt followed. `status` is None if the endpoint sent none. `duration` is in
    seconds.
    """

    status: int | None
    duration: float


class AccessRecord(msgspec.Struct, gc=False, omit_defaults=True):
    """One request. Every JSON line has the fields without default, in this order. It has another field only if the
    field is set.

    `time` is when the request ended, in Unix time; lines show it as RFC 3339. Durations are in seconds. `bytes_in` and
    `bytes_out` are body bytes. `endpoints` are all endpoints that were tried, in order, as `address:port`.
    `endpoint_duration` and `endpoint_status` belong to the last endpoint, `failed_attempts` to those before it.
    `dry_run_reason` is the reason that the policy would have given. `error` is the kind of the error that the proxy met
    (`ErrorKind`). `trace_id` is the trace of the request, `span_id` the span that the proxy made of it. `grpc_status`
    is the grpc-status of a gRPC call, and `hook` the hook of the operator that answered. Header text must be
    decoded as latin-1.
    Never add Authorization, Cookie or Set-Cookie.
    """

    time: float
    client: str
    method: str
    host: str
    path: str
    protocol: str
    status: int
    bytes_in: int
    bytes_out: int
    duration: float
    endpoint_duration: float | None
    namespace: str
    ingress: str
    service: str
    endpoints: tuple[str, ...]
    from_zone: str
    to_zone: str
    locality: str
    reason: str
    request_id: str
    endpoint_status: int | None = None
    failed_attempts: tuple[FailedAttempt, ...] = ()
    service_port: str = ""
    head_bytes: int = 0
    user_agent: str | None = None
    referer: str | None = None
    dry_run_reason: str | None = None
    error: str | None = None
    trace_id: str | None = None
    span_id: str | None = None
    grpc_status: int | None = None
    hook: str | None = None


_REPEATED: Final = frozenset(
    ("client", "method", "host", "path", "protocol", "status", "user_agent", "referer", "trace_id")
)


def _field(field: msgspec.structs.FieldInfo) -> tuple[str, Any] | tuple[str, Any, Any]:
    return (field.name, field.type) if field.required else (field.name, field.type, field.default)


# What records of requests with the same target and fields share, and a status, as in the record.
_Repeating: Final = msgspec.defstruct(
    "_Repeating",
    [_field(field) for field in msgspec.structs.fields(AccessRecord) if field.name in _REPEATED],
    gc=False,
    omit_defaults=True,
)
_STATUS: Final = ',"status":'
_NO_STATUS: Final = _STATUS + "0"


def repeating(  # noqa: PLR0917 -- by position, because names cost requests that differ
    client: str,
    method: str,
    host: str,
    path: str,
    protocol: str,
    user_agent: str | None,
    referer: str | None,
    trace_id: str | None,
) -> tuple[str, str]:
    """The part of a JSON line between the time and the status, and the part after the size of the head, with its end.

    They hold for requests without rare fields.
    """
    record = _Repeating(client, method, host, path, protocol, 0, user_agent, referer, trace_id)
    opening, _, closing = in_ascii(_encode(record)).decode("ascii").partition(_NO_STATUS)
    return opening[1:] + _STATUS, closing + "\n"


def line_format(format: AccessLogFormat) -> Callable[[AccessRecord], bytes] | None:
    """The function that makes the line of a record, newline included; None for the format `OFF`.

    The function changes the record: it rounds durations and clears the time. It must be called from one thread only.
    """
    match format:
        case AccessLogFormat.JSON:
            return JsonLine()
        case AccessLogFormat.UPSTREAMINFO:
            return _TextLine()
        case AccessLogFormat.OFF:
            return None


_encode: Final = msgspec.json.Encoder().encode

# The beginning of an encoded record without its time; the first field is `time`.
_NO_TIME_BYTES: Final = len('{"time":0.0,')


class JsonLine:
    """Makes JSON lines. Caches the text of the current second and millisecond."""

    __slots__ = ("_millisecond", "_second", "_start", "_start_of_second")

    def __init__(self) -> None:
        self._second = -1
        self._millisecond = -1
        self._start = ""
        self._start_of_second = ""

    def start(self, epoch_seconds: float) -> str:
        """The text of a line that ends then, up to the field after the time."""
        millisecond = int(epoch_seconds * 1000 + 0.5)
        if millisecond != self._millisecond:
            self._follow(millisecond)
        return self._start

    def __call__(self, record: AccessRecord) -> bytes:
        start = self.start(record.time)
        record.time = 0.0
        # Four times as fast as round(seconds, 6), which works on decimal digits.
        record.duration = int(record.duration * 1e6 + 0.5) / 1e6
        if record.endpoint_duration is not None:
            record.endpoint_duration = int(record.endpoint_duration * 1e6 + 0.5) / 1e6
        try:
            encoded = _encode(record)
        except UnicodeEncodeError:
            encoded = _encode(_tamed(record))
        # If the whole line is short, no field is too long. Nearly all lines are short.
        if len(encoded) > FIELD_CHARACTERS_MAX:
            encoded = _encode(_tamed(record))
        return start.encode() + in_ascii(encoded)[_NO_TIME_BYTES:] + b"\n"

    def _follow(self, millisecond: int) -> None:
        self._millisecond = millisecond
        second, rest = divmod(millisecond, 1000)
        if second != self._second:
            self._second = second
            self._start_of_second = f'{{"time":"{datetime.fromtimestamp(second, UTC):%Y-%m-%dT%H:%M:%S}'
        self._start = f'{self._start_of_second}.{rest:03d}Z",'


_BEYOND_ASCII: Final = re.compile("[^\x00-\x7e]")
_DEL: Final = 0x7F  # an integer, because `in` costs ten times as much with bytes


def in_ascii(encoded: bytes) -> bytes:
    """The JSON in printable ASCII: a terminal may obey some characters that JSON allows, and clients choose paths.

    Such characters are inside of strings only, where an escape means the same character.
    """
    if encoded.isascii() and _DEL not in encoded:
        return encoded
    return _BEYOND_ASCII.sub(_as_escape, encoded.decode()).encode()


def _as_escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1] if match[0] != "\x7f" else "\\u007f"


def _tamed(record: AccessRecord) -> AccessRecord:
    """The record with texts cut to `FIELD_CHARACTERS_MAX`, without lone surrogates (UTF-8 cannot encode them)."""
    texts = {name: value for name in record.__struct_fields__ if isinstance(value := getattr(record, name), str)}
    return msgspec.structs.replace(record, **{name: _tame(value) for name, value in texts.items()})


def _tame(text: str) -> str:
    return text[:FIELD_CHARACTERS_MAX].encode("utf-8", "replace").decode()


class _TextLine:
    """Makes lines in ingress-nginx's default format (its ConfigMap key `log-format-upstream`).

    Caches the text of the current second. A missing value is `-`. `$remote_user` is always `-`, because its value would
    come from Authorization. zonal has no alternative backends, so the brackets of `$proxy_alternative_upstream_name`
    hold the error: parsers of the format accept any text without a space there.
    """

    __slots__ = ("_second", "_time_local")

    def __init__(self) -> None:
        self._second = -1
        self._time_local = ""

    def __call__(self, record: AccessRecord) -> bytes:
        second = int(record.time)
        if second != self._second:
            self._second = second
            self._time_local = f"{datetime.fromtimestamp(second, UTC):%d/%b/%Y:%H:%M:%S %z}"
        request = f"{escaped(record.method)} {escaped(record.path)} {escaped(record.protocol)}"
        line = (
            f'{record.client} - - [{self._time_local}] "{request}" {record.status} {record.bytes_out}'
            f' "{escaped(record.referer)}" "{escaped(record.user_agent)}"'
            f" {record.head_bytes + record.bytes_in} {record.duration:.3f} [{escaped(backend_name(record))}]"
            f" [{error_of(record)}] {_attempts(record)} {escaped(record.request_id)}\n"
        )
        return line.encode("ascii")


def backend_name(record: AccessRecord) -> str:
    """The name of the backend in the form of ingress-nginx: namespace, Service and port, with `-` between them."""
    if not record.service:
        return "upstream-default-backend"
    return f"{record.namespace}-{record.service}-{record.service_port}"


def error_of(record: AccessRecord) -> str:
    """The proxy's own error. It takes the place where ingress-nginx names an alternative backend."""
    return "" if record.error is None else f"error={record.error}"


def attempts_of(record: AccessRecord) -> tuple[Sequence[str], ...] | None:
    """Addresses, body bytes, durations and statuses of all attempts, oldest first; None if no endpoint was tried."""
    if not record.endpoints:
        return None
    failed = record.failed_attempts
    lengths = [*("0" for _ in failed), str(record.bytes_out)]
    durations = [*(_seconds(each.duration) for each in failed), _seconds(record.endpoint_duration)]
    statuses = [*(_status(each.status) for each in failed), _status(record.endpoint_status)]
    return record.endpoints, lengths, durations, statuses


def _attempts(record: AccessRecord) -> str:
    """The four facts about attempts, each with its values separated by commas."""
    facts = attempts_of(record)
    return "- - - -" if facts is None else " ".join(map(", ".join, facts))


def _seconds(duration: float | None) -> str:
    return "-" if duration is None else f"{duration:.3f}"


def _status(status: int | None) -> str:
    return "-" if status is None else str(status)


def escaped(text: str | None) -> str:
    """Escape as nginx's `escape=default` does: `"`, `\\` and all bytes outside printable ASCII as `\\xXX`."""
    if not text:
        return "-"
    text = text[:FIELD_CHARACTERS_MAX]
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    try:
        octets = text.encode("latin-1")
    except UnicodeEncodeError:
        octets = text.encode("utf-8", "replace")
    return "".join(map(_ESCAPES.__getitem__, octets))


_ESCAPES: Final = tuple(
    f"\\x{octet:02X}" if octet < 0x20 or octet > 0x7E or octet in b'"\\' else chr(octet) for octet in range(256)
)
