"""Makes access log lines in the operator's own format: text with nginx variables.

Source: ingress-nginx v1.15.1, ConfigMap keys log-format-upstream, log-format-escape-json and log-format-escape-none.
Variables that would show a secret have no value. A request makes exactly one line, whatever clients send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import NamedTuple

from balancer.http.messages import RequestHead, field_value
from balancer.http.origin import Origin
from balancer.logs.accesslines import FIELD_CHARACTERS_MAX, AccessRecord, attempts_of, backend_name, error_of, escaped
from balancer.model.settings import LogEscape

DEFAULT_FORMAT = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
    " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr"
    " $upstream_response_length $upstream_response_time $upstream_status $req_id"
)
"""The format of ingress-nginx."""

VARIABLES_MOST = 100
"""The most variables in one format, because each may add 2048 characters to a line."""

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))", re.ASCII)
# Control characters, and characters that turn the direction of text.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
_SECRETS = frozenset(
    (
        b"authorization",
        b"cookie",
        b"proxy-authorization",
        b"set-cookie",
    )
)


class Logged(NamedTuple):
    """The facts that variables read. `request` is None if the head was refused."""

    record: AccessRecord
    request: RequestHead | None
    origin: Origin


_ValueOf = Callable[[Logged], str | None]
_PartOf = Callable[[Logged], str]


class LineFormat:
    """A compiled format."""

    __slots__ = ("_parts",)

    def __init__(self, text: str, escape: LogEscape) -> None:
        """Variables that are unknown, or would show a secret, have no value. Text between variables is copied."""
        self._parts = tuple(_parts(text, _ESCAPES[escape]))

    def line(self, logged: Logged) -> bytes:
        """The line of a request, with a newline."""
        return "".join([part(logged) for part in self._parts]).encode("utf-8", "replace") + b"\n"


@lru_cache(maxsize=16)  # every swap compiles its formats again
def compile_format(text: str, escape: LogEscape) -> LineFormat:
    """Compiles `text`; empty text means the format of ingress-nginx."""
    return LineFormat(text or DEFAULT_FORMAT, escape)


def unknown_variables(text: str) -> tuple[str, ...]:
    """The variables of a format that zonal gives no value, in their order."""
    names = (match[1] or match[2] for match in _VARIABLE.finditer(text))
    return tuple(dict.fromkeys(name for name in names if _value_of(name) is None))


def variables_in(text: str) -> int:
    """The number of variables in a format."""
    return sum(1 for _ in _VARIABLE.finditer(text))


def _parts(text: str, escape: Callable[[str | None], str]) -> list[_PartOf]:
    parts: list[_PartOf] = []
    end = 0
    for match in _VARIABLE.finditer(text):
        if match.start() > end:
            parts.append(_literal(text[end : match.start()]))
        parts.append(_escaped_value(_value_of(match[1] or match[2]) or _missing, escape))
        end = match.end()
    if end < len(text):
        parts.append(_literal(text[end:]))
    return parts


def _literal(text: str) -> _PartOf:
    return lambda logged: text


def _escaped_value(value_of: _ValueOf, escape: Callable[[str | None], str]) -> _PartOf:
    def part(logged: Logged) -> str:
        value = value_of(logged)
        return "" if value == "" else escape(value)  # nginx: only a missing value is `-`

    return part


def _missing(logged: Logged) -> str | None:
    return None


def _value_of(name: str) -> _ValueOf | None:
    """The function that reads a variable; None for a variable that is unknown or would show a secret."""
    if name in _NAMED:
        return _NAMED[name]
    kind, _, rest = name.partition("_")
    if kind == "http" and rest:
        return _field(rest)
    if kind == "arg" and rest:
        wanted = rest.lower()
        return lambda logged: _argument(logged.record.path, wanted)
    return None


def _field(rest: str) -> _ValueOf | None:
    """Reads the request field that a variable names. The name ignores case, and its `_` stand for `-`."""
    name = rest.lower().replace("_", "-").encode()
    if name in _SECRETS:
        return None
    if name == b"host":
        return lambda logged: logged.record.host
    return lambda logged: _text(field_value(logged.request.fields, name)) if logged.request is not None else None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode("latin-1")


def _argument(target: str, name: str) -> str | None:
    for pair in target.partition("?")[2].split("&"):
        key, equals, value = pair.partition("=")
        if equals and key.lower() == name:  # nginx ngx_http_arg: ignores case
            return value
    return None


def _time_local(logged: Logged) -> str:
    return f"{datetime.fromtimestamp(int(logged.record.time), UTC):%d/%b/%Y:%H:%M:%S %z}"


def _request_line(logged: Logged) -> str | None:
    record = logged.record
    return f"{record.method} {record.path} {record.protocol}" if record.method else None


def _attempt(place: int) -> _ValueOf:
    """Reads one of the four facts of `attempts_of`, its values separated by commas."""
    return lambda logged: None if (values := attempts_of(logged.record)) is None else ", ".join(values[place])


_NAMED: Mapping[str, _ValueOf] = {
    "remote_addr": lambda logged: logged.record.client,
    "the_real_ip": lambda logged: logged.record.client,
    "remote_user": _missing,  # it would come from Authorization
    "time_local": _time_local,
    "time_iso8601": lambda logged: datetime.fromtimestamp(int(logged.record.time), UTC).isoformat(),
    "msec": lambda logged: f"{logged.record.time:.3f}",
    "request": _request_line,
    "request_method": lambda logged: logged.record.method,
    "request_uri": lambda logged: logged.record.path,
    "uri": lambda logged: _text(logged.request.path) if logged.request is not None else None,
    "args": lambda logged: logged.record.path.partition("?")[2],
    "query_string": lambda logged: logged.record.path.partition("?")[2],
    "is_args": lambda logged: "?" if logged.record.path.partition("?")[2] else None,
    "server_protocol": lambda logged: logged.record.protocol,
    "scheme": lambda logged: "https" if logged.origin.https else "http",
    "pass_access_scheme": lambda logged: "https" if logged.origin.https else "http",
    "https": lambda logged: "on" if logged.origin.https else None,
    "server_port": lambda logged: str(logged.origin.shown_port),
    "pass_server_port": lambda logged: str(logged.origin.shown_port),
    "host": lambda logged: _text(logged.request.host_name) if logged.request is not None else None,
    "best_http_host": lambda logged: logged.record.host,
    "content_type": _field("content_type") or _missing,
    "status": lambda logged: str(logged.record.status),
    "body_bytes_sent": lambda logged: str(logged.record.bytes_out),
    "bytes_sent": lambda logged: str(logged.record.bytes_out),
    "request_length": lambda logged: str(logged.record.head_bytes + logged.record.bytes_in),
    "request_time": lambda logged: f"{logged.record.duration:.3f}",
    "proxy_upstream_name": lambda logged: backend_name(logged.record),
    "proxy_alternative_upstream_name": lambda logged: error_of(logged.record),
    "upstream_addr": _attempt(0),
    "upstream_response_length": _attempt(1),
    "upstream_response_time": _attempt(2),
    "upstream_status": _attempt(3),
    "opentelemetry_trace_id": lambda logged: logged.record.trace_id,
    "opentelemetry_span_id": lambda logged: logged.record.span_id,
    "req_id": lambda logged: logged.record.request_id,
    "request_id": lambda logged: logged.record.request_id,
    "namespace": lambda logged: logged.record.namespace,
    "ingress_name": lambda logged: logged.record.ingress,
    "service_name": lambda logged: logged.record.service,
    "service_port": lambda logged: logged.record.service_port,
}


def _as_json(value: str | None) -> str:
    """Escapes text for the inside of a JSON string, in ASCII. Bytes that are not UTF-8 are read as Latin-1."""
    if not value:
        return ""
    value = value[:FIELD_CHARACTERS_MAX]
    if not value.isascii():
        try:
            value = value.encode("latin-1").decode("utf-8")
        except UnicodeError:
            value = value.encode("utf-8", "replace").decode()
    return json.dumps(value)[1:-1].replace("\x7f", "\\u007f")


def _as_it_is(value: str | None) -> str:
    """Leaves text as it is, except for control characters, because they could end the line or steer a terminal."""
    if not value:
        return ""
    return _CONTROLS.sub(_as_number, value[:FIELD_CHARACTERS_MAX])


def _as_number(match: re.Match[str]) -> str:
    number = ord(match[0])
    return f"\\x{number:02X}" if number < 0x100 else f"\\u{number:04X}"


_ESCAPES: Mapping[LogEscape, Callable[[str | None], str]] = {
    LogEscape.DEFAULT: escaped,
    LogEscape.JSON: _as_json,
    LogEscape.NONE: _as_it_is,
}
