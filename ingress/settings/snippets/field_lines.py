"""Reads the lines of snippets about header fields: add_header, more_set_headers, expires and so on.

Sources: nginx ngx_http_headers_module, ngx_http_proxy_module; headers-more-nginx-module. Does not know variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from balancer.http.field_names import FORWARDING, HTTPOXY, OF_ONE_CONNECTION, OF_ONE_REQUEST
from balancer.model.scripts import Expiry, FieldBeside, FieldChange
from ingress.settings.snippets.lexing import Directive, SnippetProblem

_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,100}")  # RFC 9110 5.1
_VALUE = re.compile(r"[\t\x20-\x7e]{0,2048}")  # RFC 9110 5.5, without bytes above ASCII
_STATUSES = re.compile(r"[1-5][0-9][0-9]")
_TYPES = re.compile(r"[a-z0-9][a-z0-9!#$&^_.+-]*/[a-z0-9*][a-z0-9!#$&^_.+-]*", re.IGNORECASE)
_TIME = re.compile(
    r"(-?)(?:(\d{1,4})y)?(?:(\d{1,5})M)?(?:(\d{1,6})w)?(?:(\d{1,6})d)?(?:(\d{1,8})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s?)?"
)
_UNITS = (365 * 86400, 30 * 86400, 7 * 86400, 86400, 3600, 60, 1)
_EPOCH = Expiry(date="Thu, 01 Jan 1970 00:00:01 GMT", control="no-cache")
_MAX = Expiry(date="Thu, 31 Dec 2037 23:55:55 GMT", control="max-age=315360000")
# What belongs to one hop, to the framing or to one body (RFC 9110 7.6.1, 8.3 to 8.8).
_NOT_OURS = frozenset(name.decode() for name in OF_ONE_CONNECTION) | {
    "content-encoding",
    "content-range",
    "content-type",
    "date",
    "location",
    "proxy-authenticate",
}
# nginx replaces these two instead of adding to them.
_REPLACED = frozenset(("etag", "last-modified"))
# ingress-nginx sends these to endpoints itself, so nginx would send them twice.
_SENT_ANYWAY = frozenset(name.decode() for name in FORWARDING | {HTTPOXY}) | {
    "x-forwarded-prefix",
    "x-original-forwarded-for",
    "x-original-forwarded-host",
    "x-original-uri",
    "x-request-id",
}


def beside_of(line: Directive) -> FieldBeside:
    """add_header name value [always]."""
    args = line.args
    if not (len(args) == 2 or (len(args) == 3 and args[2] == "always")):
        raise SnippetProblem(line.line, "add_header takes a name, a value and always")
    if args[0].lower() in _REPLACED:
        raise SnippetProblem(line.line, f"add_header {args[0]} replaces the field", "use more_set_headers")
    return FieldBeside(_name(line, args[0]), _value(line, args[1]), always=len(args) == 3)


def changes_of(line: Directive) -> tuple[FieldChange, ...]:
    """more_set_headers or more_clear_headers, with -s and -t."""
    statuses: list[int] = []
    types: list[str] = []
    texts: list[str] = []
    args = iter(line.args)
    for arg in args:
        if arg == "-s":
            statuses += map(int, _words(line, next(args, ""), _STATUSES))
        elif arg == "-t":
            types += _words(line, next(args, ""), _TYPES)
        elif arg.startswith("-"):
            raise SnippetProblem(line.line, f"{line.name} {arg} is not carried out", "use add_header or -s and -t")
        else:
            texts.append(arg)
    if not texts:
        raise SnippetProblem(line.line, f"{line.name} names no field")
    return tuple(_change(line, text, tuple(statuses), tuple(types)) for text in texts)


def hidden_of(line: Directive) -> str:
    """proxy_hide_header name, in lower case."""
    if len(line.args) != 1:
        raise SnippetProblem(line.line, "proxy_hide_header takes a name")
    return _name(line, line.args[0]).lower()


def request_field_of(line: Directive) -> tuple[str, str]:
    """proxy_set_header name value."""
    if len(line.args) != 2 or not _NAME.fullmatch(line.args[0]):
        raise SnippetProblem(line.line, "proxy_set_header takes a name and a value")
    name, lower = line.args[0], line.args[0].lower()
    if lower == "host":
        raise SnippetProblem(line.line, "nginx would send Host twice", "use the annotation upstream-vhost")
    if lower in {"upgrade", "connection"}:
        why = f"{name} is sent as a connection needs it"
        raise SnippetProblem(line.line, why, "remove the line: WebSocket works without it")
    if lower in _SENT_ANYWAY or lower.startswith("ssl-client-"):
        why = f"nginx would send {name} twice"
        raise SnippetProblem(line.line, why, "use the key proxy-set-headers of the ConfigMap")
    if lower.encode() in OF_ONE_REQUEST:
        raise SnippetProblem(line.line, f"{name} belongs to one connection", "remove the line")
    return name, _value(line, line.args[1])


def expiry_of(line: Directive) -> Expiry | None:
    """expires time, epoch, max or off; None is off."""
    text = line.args[0] if len(line.args) == 1 else ""
    if text in _FIXED:
        return _FIXED[text]
    found = _TIME.fullmatch(text)
    if found is None or not any(found.groups()[1:]):
        raise SnippetProblem(line.line, "expires takes a time, epoch, max or off", "use add_header Cache-Control")
    seconds = sum(int(number or 0) * unit for number, unit in zip(found.groups()[1:], _UNITS, strict=True))
    if seconds > _UNITS[0] * 100:
        raise SnippetProblem(line.line, "expires takes at most 100 years")
    return Expiry(-seconds if found[1] else seconds)


_FIXED = {"off": None, "epoch": _EPOCH, "max": _MAX}


def _change(line: Directive, text: str, statuses: tuple[int, ...], types: tuple[str, ...]) -> FieldChange:
    name, _, value = text.partition(":")
    name, value = name.strip(), value.strip()
    if line.name == "more_clear_headers":
        if value:
            raise SnippetProblem(line.line, "more_clear_headers takes names")
        beginning = name.removesuffix("*")
        _name(line, beginning)
        if name != beginning and any(each.startswith(beginning.lower()) for each in _NOT_OURS):
            raise SnippetProblem(line.line, f"{name} may stand for a field of the connection", "name the fields")
        return FieldChange(name, "", statuses, types)
    return FieldChange(_name(line, name), _value(line, value), statuses, types)


def _name(line: Directive, name: str) -> str:
    if not _NAME.fullmatch(name) or "$" in name or "*" in name:
        raise SnippetProblem(line.line, f"{line.name} needs the name of a field")
    if name.lower() in _NOT_OURS:
        raise SnippetProblem(line.line, f"{name} belongs to one connection or one body", "let the Pod send it")
    return name


def _value(line: Directive, value: str) -> str:
    value = value.strip()
    if not _VALUE.fullmatch(value):
        raise SnippetProblem(line.line, "a value has at most 2048 characters and no line breaks")
    return value


def _words(line: Directive, text: str, form: re.Pattern[str]) -> Iterator[str]:
    words: Sequence[str] = text.split()
    if not words or not all(map(form.fullmatch, words)):
        raise SnippetProblem(line.line, f"{line.name} needs statuses behind -s and media types behind -t")
    return iter(words)
