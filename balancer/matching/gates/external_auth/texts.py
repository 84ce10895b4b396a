"""Reads text with variables that becomes a URL or the value of a field. No I/O.

Knows more of nginx's variables than `balancer/matching/variables.py`, because a request at its gates knows its
connection. Names are compiled once, at the swap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from urllib.parse import quote_from_bytes

from balancer.matching.gates.verdicts import Asked
from balancer.matching.variables import VARIABLE, UnknownVariable, compile_variable

AskedText = Callable[[Asked], bytes]
"""Returns the value of a text for a request at its gates."""

_UNSAFE = re.compile(rb"[^!-~]|#")


def safe(text: bytes) -> bytes:
    """`text` with every byte percent-encoded that must not stand in a request target or Location (RFC 3986 2)."""
    return _UNSAFE.sub(lambda match: b"%%%02X" % match[0][0], text) if _UNSAFE.search(text) else text


def escaped(text: bytes) -> bytes:
    """`text` as one component of a URL: only unreserved characters stay (nginx `NGX_ESCAPE_URI_COMPONENT`)."""
    return quote_from_bytes(text, safe="").encode()


@lru_cache(maxsize=1024)  # every translation and every swap asks, and there are as many texts as annotations
def compile_asked_text(text: str) -> AskedText:
    """A function that evaluates `text` with its variables, `$name` or `${name}`. Raises `UnknownVariable`.

    Supported are the variables of `compile_variable`, and $scheme, $pass_access_scheme, $server_port, $pass_port,
    $http_host, $best_http_host, $escaped_request_uri, $request_method, $request_id, $req_id, $args, $query_string and
    $is_args. Any other character stands for itself.
    """
    parts: list[AskedText] = []
    end = 0
    for match in VARIABLE.finditer(text):
        parts += _literal(text[end : match.start()])
        parts.append(_value(match[1] or match[2]))
        end = match.end()
    parts += _literal(text[end:])
    if len(parts) == 1:
        return parts[0]
    return lambda asked: b"".join([part(asked) for part in parts])


def _literal(text: str) -> list[AskedText]:
    if "$" in text:
        raise UnknownVariable("$ only stands before the name of a variable")
    value = text.encode()
    return [lambda asked: value] if value else []


def _value(name: str) -> AskedText:
    if name in _OF_ASKED:
        return _OF_ASKED[name]
    read = compile_variable(name)
    return lambda asked: read(asked.request, asked.origin.peer)


def _query(asked: Asked) -> bytes:
    return asked.request.target.partition(b"?")[2]


def _port(asked: Asked) -> bytes:
    return b"%d" % asked.origin.shown_port


_OF_ASKED: Mapping[str, AskedText] = {
    "scheme": lambda asked: b"https" if asked.secure else b"http",
    "pass_access_scheme": lambda asked: asked.origin.scheme,
    "server_port": _port,
    "pass_port": _port,
    "http_host": lambda asked: asked.request.authority,
    "best_http_host": lambda asked: asked.origin.host or asked.request.authority,
    # In origin form, whatever form the client used (nginx ngx_http_parse_request_line).
    "request_uri": lambda asked: asked.request.target,
    "escaped_request_uri": lambda asked: escaped(asked.request.target),
    "req_id": lambda asked: asked.request_id,
    "request_id": lambda asked: asked.request_id,
    "request_method": lambda asked: asked.request.method,
    "args": _query,
    "query_string": _query,
    "is_args": lambda asked: b"?" if _query(asked) else b"",
}
