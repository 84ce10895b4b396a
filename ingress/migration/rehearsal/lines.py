"""Reads lines of an access log of ingress-nginx: its format upstreaminfo, another format, or JSON.

Source: ingress-nginx v1.15.1, nginx.tmpl (`log_format upstreaminfo`). Does not know what a request would become.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

UPSTREAMINFO = (
    '$remote_addr - $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"'
    " $request_length $request_time [$proxy_upstream_name] [$proxy_alternative_upstream_name] $upstream_addr"
    " $upstream_response_length $upstream_response_time $upstream_status $req_id"
)
"""The default of log-format-upstream."""

DEFAULT_BACKEND = "upstream-default-backend"
"""The name under which ingress-nginx logs the default backend, the operator's or that of an Ingress."""

_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
# Several attempts are written as `a, b`, and internal redirects as `a : b` (ngx_http_upstream_module).
_ATTEMPTS = r"((?:[^ ,]+(?:,| :) )*[^ ]*)"
_TIMES = ("%d/%b/%Y:%H:%M:%S %z", "%Y-%m-%dT%H:%M:%S%z")
# What people call a value in their JSON, beside the name of the variable itself.
_ALIASES: Mapping[str, tuple[str, ...]] = {
    "host": ("vhost", "http_host", "server_name", "hostname", "request_host"),
    "request_uri": ("uri", "path", "url", "request_path"),
    "request_method": ("method", "verb", "http_method"),
    "status": ("response_code", "status_code"),
    "remote_addr": ("client_ip", "remote_ip", "client", "the_real_ip", "x_forward_for"),
    "proxy_upstream_name": ("upstream_name", "upstream"),
    "proxy_alternative_upstream_name": ("alternative_upstream_name",),
    "upstream_addr": ("upstream_address",),
    "http_user_agent": ("user_agent", "useragent", "agent"),
    "http_referer": ("referer", "referrer", "http_referrer"),
    "request_length": ("bytes_received", "request_size"),
    "body_bytes_sent": ("bytes_sent", "bytes", "response_size", "upstream_response_length"),
    "time_local": ("time_iso8601", "time", "timestamp", "@timestamp"),
    "scheme": ("proto", "protocol_scheme"),
}


# In the order in which `_made` takes their values.
_WANTED = (
    "request",
    "request_method",
    "request_uri",
    "uri",
    "status",
    "host",
    "remote_addr",
    "proxy_upstream_name",
    "proxy_alternative_upstream_name",
    "upstream_addr",
    "upstream_status",
    "upstream_response_time",
    "request_length",
    "body_bytes_sent",
    "http_user_agent",
    "http_referer",
    "scheme",
    "time_local",
)
# A line has one of these if an endpoint was asked.
_OF_ENDPOINT = ("upstream_addr", *_ALIASES["upstream_addr"], "upstream_status", "upstream_response_time")


class UnknownFormat(ValueError):
    """A format of lines cannot be read. The text says what is missing."""


class LoggedRequest(NamedTuple):
    """One line. Texts that the log does not hold are empty; `host` is empty in the default format of ingress-nginx.

    `upstream` is the name of the backend, such as `shop-web-80`. `passed`: an endpoint was asked; None: the log
    does not say. `address` is that of the last endpoint. Sizes in bytes. `time` is as the log writes it.
    """

    host: str
    method: str
    target: str
    status: int
    client: str
    upstream: str
    alternative: str
    passed: bool | None
    address: str
    request_bytes: int
    response_bytes: int
    agent: str
    referer: str
    scheme: str
    time: str


LineReader = Callable[[str], LoggedRequest | None]
"""Reads a line; None for a line that is no request."""


def line_reader(format_text: str = UPSTREAMINFO) -> LineReader:
    """What reads lines of this format of nginx, and lines that are JSON objects. Raises `UnknownFormat`."""
    pattern, names = _compiled(format_text)
    if "status" not in names or not ({"request", "request_uri", "uri"} & set(names)):
        raise UnknownFormat("the format needs $status, and $request or $request_uri")
    place = {name: number for number, name in enumerate(names)}
    match, picked = pattern.match, tuple(_place_of(name, place) for name in _WANTED)
    says_endpoint = not place.keys().isdisjoint(_OF_ENDPOINT)

    def read(line: str) -> LoggedRequest | None:
        if line.startswith("{"):
            return _from_json(line)
        found = match(line)
        if found is None:
            return None
        groups = (*found.groups(), "")  # the last one stands for what the format does not hold
        return _made([groups[number] for number in picked], says_endpoint=says_endpoint)

    return read


def _place_of(name: str, place: Mapping[str, int]) -> int:
    """Where a line holds a value, by the name of its variable or of another one that says the same; else -1."""
    return next((place[known] for known in (name, *_ALIASES.get(name, ())) if known in place), -1)


def epoch_seconds(time: str) -> float | None:
    """The time of a line in seconds since the epoch, None if it cannot be read."""
    for form in _TIMES:
        try:
            return datetime.strptime(time.replace("Z", "+0000"), form).timestamp()
        except ValueError:
            continue
    return None


def _compiled(text: str) -> tuple[re.Pattern[str], list[str]]:
    parts: list[str] = []
    names: list[str] = []
    end = 0
    for found in _VARIABLE.finditer(text):
        parts.append(re.escape(text[end : found.start()]))
        name = found[1] or found[2]
        names.append(name)
        parts.append(_group(name, text[found.end() : found.end() + 1]))
        end = found.end()
    parts.append(re.escape(text[end:]))
    return re.compile("".join(parts)), names


def _group(name: str, following: str) -> str:
    if following == '"':
        return r'((?:[^"\\]|\\.)*)'
    if name == "remote_user":
        return "(.*?)"
    if name.startswith("upstream_") and following in {" ", ""}:
        return _ATTEMPTS
    return f"([^{re.escape(following)}]*)" if following else "(.*)"


def _from_json(line: str) -> LoggedRequest | None:
    try:
        fields = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return None

    def value(name: str) -> str:
        for known in (name, *_ALIASES.get(name, ())):
            found = fields.get(known)
            if found is not None and found != "":
                return str(found)
        return ""

    return _made([value(name) for name in _WANTED], says_endpoint=not fields.keys().isdisjoint(_OF_ENDPOINT))


def _made(values: list[str], *, says_endpoint: bool) -> LoggedRequest | None:
    """The request of the values of `_WANTED`. `says_endpoint`: the log holds whether an endpoint was asked."""
    request, method, uri, path, status, host, client, upstream, alternative, address, *rest = values
    endpoint_status, endpoint_time, sent, received, agent, referer, scheme, time = rest
    if len(status) != 3 or not status.isdigit():
        return None
    if request:
        method, _, uri = request.partition(" ")
        uri = uri.rpartition(" ")[0] or uri
    target = uri or path
    if not target:
        return None
    if " " in address:
        address = address.rpartition(" ")[2]
    return LoggedRequest(
        host.lower(),
        method or "GET",
        target,
        int(status),
        client,
        _said(upstream),
        _said(alternative),
        (address or endpoint_status or endpoint_time) not in {"", "-"} if says_endpoint else None,
        _said(address),
        int(sent) if sent.isdigit() else 0,
        int(received) if received.isdigit() else 0,
        _said(agent),
        _said(referer),
        scheme,
        time,
    )


def _said(text: str) -> str:
    return "" if text == "-" else text
