"""Reads values of a request under the names that annotations use: fields, cookies, arguments, text with variables.

Supports a part of nginx's variables. Does not know what their values decide. Names are compiled once (`variable_name`,
`compile_text`), so that a request only looks them up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from balancer.http.messages import RequestHead
from balancer.matching.basic_credentials import basic_credentials

TextOf = Callable[[RequestHead, str], bytes]
"""Returns the value of a text for a request and the address of its client."""

# Fields that decide framing or the connection. heads.py removes them from the other fields, and no rule may use them.
_NOT_READABLE = frozenset((b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))
VARIABLE = re.compile(r"\$(?:\{([a-zA-Z0-9_]+)\}|([a-zA-Z0-9_]+))")
"""A variable in a text, `$name` or `${name}`; its name is in one of the two groups."""

_TEXT = re.compile(r"[A-Za-z0-9_${}-]{1,1024}")


class UnknownVariable(ValueError):
    """The text is malformed or names an unsupported variable; the message says which."""


def variable_name(name: str) -> bytes:
    """A field's name as `header_of` takes it: in any case, with `-` and `_` as equal."""
    return name.lower().replace("_", "-").encode()


def is_readable(name: bytes) -> bool:
    """Whether `header_of` may read a field."""
    return name not in _NOT_READABLE


def header_of(request: RequestHead, name: bytes) -> bytes | None:
    """The first value of a field by its `variable_name`, or None."""
    if name == b"host":
        return request.authority
    for each, value in request.fields:
        if each == name or (b"_" in each and each.replace(b"_", b"-") == name):
            return value
    return None


def cookies_of(request: RequestHead, name: bytes) -> list[bytes]:
    """The values of all cookies of this name, in order (RFC 6265 5.4; names are case-sensitive)."""
    values = []
    for each, field in request.fields:
        if each == b"cookie" and name in field:
            for pair in field.split(b";"):
                key, equals, value = pair.partition(b"=")
                if equals and key.strip() == name:
                    values.append(value.strip())
    return values


class Cookies:
    """The cookies of one request, read once for all who ask for a name: as many may ask as tenants like."""

    __slots__ = ("_request", "_values")

    def __init__(self, request: RequestHead) -> None:
        self._request = request
        self._values: dict[bytes, list[bytes]] | None = None

    def named(self, name: bytes) -> Sequence[bytes]:
        """As `cookies_of`."""
        if self._values is None:
            self._values = {}
            for each, field in self._request.fields:
                for pair in field.split(b";") if each == b"cookie" else ():
                    key, equals, value = pair.partition(b"=")
                    if equals:
                        self._values.setdefault(key.strip(), []).append(value.strip())
        return self._values.get(name, ())


@lru_cache(maxsize=1024)  # every translation and every swap asks, and there are as many texts as annotations
def compile_text(text: str) -> TextOf:
    """A function that evaluates `text` with its variables, `$name` or `${name}`. Raises `UnknownVariable`.

    Supported are $remote_addr, $binary_remote_addr (the same text here), $remote_user, $request_uri, $uri, $host,
    $http_NAME, $cookie_NAME and $arg_NAME. A value that the request lacks is empty (nginx ngx_http_core_module,
    "Embedded Variables").
    """
    if not _TEXT.fullmatch(text):
        raise UnknownVariable("use letters, digits, -, _ and variables")
    parts: list[TextOf] = []
    end = 0
    for match in VARIABLE.finditer(text):
        parts += _literal(text[end : match.start()])
        parts.append(compile_variable(match[1] or match[2]))
        end = match.end()
    parts += _literal(text[end:])
    if len(parts) == 1:
        return parts[0]
    return lambda request, peer: b"".join([part(request, peer) for part in parts])


def compile_variable(name: str) -> TextOf:
    """A function that gives the value of the variable `$name`. Raises `UnknownVariable`; `compile_text` says which are
    known.
    """
    if name in _PLAIN:
        return _PLAIN[name]
    kind, _, rest = name.partition("_")
    wanted = rest.encode()
    if rest and kind == "http" and is_readable(field := variable_name(rest)):
        return lambda request, peer: header_of(request, field) or b""
    if rest and kind == "cookie":
        return lambda request, peer: next(iter(cookies_of(request, wanted)), b"")
    if rest and kind == "arg":
        return lambda request, peer: _argument(request.raw_target, wanted)
    raise UnknownVariable(f"${name} is not supported" if name else "$ needs the name of a variable")


def _literal(text: str) -> list[TextOf]:
    if any(sign in text for sign in "${}"):
        raise UnknownVariable("$, { and } only stand around the name of a variable")
    value = text.encode()
    return [lambda request, peer: value] if value else []


_PLAIN: Mapping[str, TextOf] = {
    "remote_addr": lambda request, peer: peer.encode(),
    "binary_remote_addr": lambda request, peer: peer.encode(),
    "remote_user": lambda request, peer: _remote_user(request),
    "request_uri": lambda request, peer: request.raw_target,
    "uri": lambda request, peer: request.path,
    "host": lambda request, peer: request.host_name,
}


def _remote_user(request: RequestHead) -> bytes:
    """Who the client says that it is, whether or not anybody has asked (nginx ngx_http_variable_remote_user)."""
    given = basic_credentials(request.fields)
    return b"" if given is None else given.user


def _argument(target: bytes, name: bytes) -> bytes:
    """The first argument of a name, in any case (nginx ngx_http_arg). Searched, because a query has thousands."""
    query = b"&" + target.partition(b"?")[2]
    found = query.lower().find(b"&%b=" % name.lower())
    return query[found + len(name) + 2 :].partition(b"&")[0] if found >= 0 else b""
