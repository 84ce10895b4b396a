"""Writes URLs of the own host, and texts with variables that become part of a URL. No I/O.

Whatever becomes part of a field of a response is escaped, so that no variable can end the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from balancer.http.messages import RequestHead
from balancer.http.origin import Origin
from balancer.matching.variables import UnknownVariable, compile_variable
from balancer.model.redirects import UrlForm

_HTTP_PORT, _HTTPS_PORT = 80, 443  # RFC 9110 4.2.1 and 4.2.2

_PartOf = Callable[[RequestHead, Origin, tuple[bytes, ...]], bytes]

_VARIABLE = re.compile(r"\$(?:([1-9])|\{([a-zA-Z_][a-zA-Z0-9_]*)\}|([a-zA-Z_][a-zA-Z0-9_]*))")
_NOT_IN_URLS = re.compile(rb"[^\x21-\x7e]")
_TEXT = re.compile(r"[\x21-\x7e]{0,2048}")


def scheme(origin: Origin) -> bytes:
    """The scheme that the client speaks, to the proxy or to the load balancer in front of it."""
    return b"https" if origin.https else b"http"


def port_of_scheme(of: bytes) -> int:
    """The port that a URL of this scheme need not name."""
    return _HTTPS_PORT if of == b"https" else _HTTP_PORT


def own_url(form: UrlForm, request: RequestHead, origin: Origin, path: bytes) -> bytes:
    """The URL of `path`, which begins with `/`, at the host of the request.

    As nginx's absolute_redirect and port_in_redirect. A request that names no host gets the path alone, with one slash
    at its beginning: a path with two would name another host (RFC 3986 4.2).
    """
    if form.relative:
        return path
    if not request.host_name:
        return b"/" + path.lstrip(b"/")
    port = form.https_port if origin.https else form.http_port
    is_named = port and port != (_HTTPS_PORT if origin.https else _HTTP_PORT)
    return scheme(origin) + b"://" + request.host_name + (b":%d" % port if is_named else b"") + path


class UrlText:
    """A text with variables, `$name` or `${name}`, and `$1` to `$9` for what a pattern captured.

    `groups` is the highest number that the text uses.
    """

    __slots__ = ("_parts", "groups")

    def __init__(self, text: str) -> None:
        self.groups = 0
        self._parts: list[_PartOf] = []
        end = 0
        for match in _VARIABLE.finditer(text):
            self._add_literal(text[end : match.start()])
            if match[1]:
                self._add_group(int(match[1]))
            else:
                self._add_variable(match[2] or match[3])
            end = match.end()
        self._add_literal(text[end:])

    def write(self, request: RequestHead, origin: Origin, captures: tuple[bytes, ...] = ()) -> bytes:
        """The text for one request. Bytes that no URL holds are percent-encoded (RFC 3986 2.1)."""
        written = b"".join([part(request, origin, captures) for part in self._parts])
        return _NOT_IN_URLS.sub(lambda match: b"%%%02X" % match[0][0], written)

    def _add_literal(self, text: str) -> None:
        if "$" in text:
            raise UnknownVariable("$ only stands before the name of a variable")
        value = text.encode("ascii")
        if value:
            self._parts.append(lambda request, origin, captures: value)

    def _add_group(self, group: int) -> None:
        self.groups = max(self.groups, group)
        self._parts.append(lambda request, origin, captures: captures[group - 1])

    def _add_variable(self, name: str) -> None:
        if name == "scheme":
            self._parts.append(lambda request, origin, captures: scheme(origin))
        else:
            value_of = compile_variable(name)
            self._parts.append(lambda request, origin, captures: value_of(request, origin.peer))


@lru_cache(maxsize=1024)  # every translation and every swap asks for the same texts
def compile_url_text(text: str) -> UrlText:
    """The text with its variables: $scheme and those of `variables.compile_text`. Raises `UnknownVariable`."""
    if not _TEXT.fullmatch(text):
        raise UnknownVariable("use printable ASCII without spaces, at most 2048 characters")
    return UrlText(text)
