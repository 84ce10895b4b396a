"""Reads the bytes of a whole request head into a `RequestHead`; `responses` does so for responses. No I/O.

httptools (llhttp) splits the fields and refuses invalid ones. Our own code checks limits, and reads the start line and
what decides framing or routing. Heads come from `collecting`, so every line end is CRLF.

Most heads of a connection repeat the previous one: clients send the same fields with another target, and endpoints
answer alike. Both readers remember the last head and compare bytes instead of parsing again.
"""

from __future__ import annotations

import re

import httptools

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import HTTP_1_0, HTTP_1_1, Field, Fields, Repeated, RequestHead, ResponseHead, field_value
from balancer.http.rules import (
    check_method,
    expects_continue,
    forwarded_once_more,
    members,
    path_of,
    target_onward,
)
from balancer.http.target import host_name, matchable_path
from balancer.http1.framing import request_framing
from balancer.model.settings import ProxySettings

Names = tuple[bytes, ...]
"""The names of fields in their order, spelled as they came."""

_LLHTTP_METHODS = frozenset(
    b"GET HEAD POST PUT DELETE PATCH OPTIONS PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH REPORT".split()
)
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)(.*)", re.DOTALL)
# A request line without escape or fragment. Only `//` and `/.` in its path need another check.
_PLAIN_LINE = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|PATCH) ((/[!$&->@-~]*)(?:\?[!\x22$-~]*)?) HTTP/1\.1")

REMEMBERED_BYTES_MAX = 4096
"""A head with more bytes of fields is not remembered, because there are many connections and most of them are idle."""

_NEUTRAL_REQUEST_LINE = b"POST / HTTP/1.1"  # replaces a line that llhttp would refuse; only the fields matter here

# Fields that decide framing, routing or the connection. All others pass on as they are.
_REQUEST_SPECIAL = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))


class RepeatedLines(Repeated):
    """The field lines of a request head, with what HTTP/1 worked out from them.

    `onward` belongs to `fields`: the lines as an endpoint gets them, and what they depend on.
    """

    __slots__ = ("names", "onward")

    def __init__(self, fields: Fields, names: Names, connection_options: tuple[bytes, ...] = ()) -> None:
        self.request_id = field_value(fields, b"x-request-id")  # as the base class does, without another call
        self.noted = self.in_lines = self.in_fields = None
        self.connection_options = connection_options
        self.names = names
        self.onward: tuple[bool, bytes] | None = None


class Http1Response(ResponseHead, frozen=True, eq=False, gc=False, kw_only=True):
    """A response head with what only HTTP/1 knows of it. `framing` is decided for the request that it answers."""

    reason: bytes
    framing: int
    keep_alive: bool
    names: Names


class _Draft:
    """A request head that is being read."""

    __slots__ = (
        "authority",
        "connection_options",
        "expects_continue",
        "framing",
        "host_name",
        "keep_alive",
        "method",
        "minor",
        "path",
        "raw_target",
        "target",
        "upgrade",
    )

    method: bytes
    raw_target: bytes
    target: bytes
    path: bytes
    minor: int
    authority: bytes
    host_name: bytes
    framing: int
    keep_alive: bool
    connection_options: tuple[bytes, ...]
    expects_continue: bool
    upgrade: bytes


class Tokens:
    """What httptools reports of one head: special fields by name, the rest as `fields` with their spelled `names`."""

    __slots__ = ("complete", "fields", "names", "reason", "special", "special_names")

    def __init__(self, special_names: frozenset[bytes]) -> None:
        self.special_names = special_names
        self.clear()

    def clear(self) -> None:
        self.fields: list[Field] = []
        self.names: list[bytes] = []
        self.special: dict[bytes, list[bytes]] = {}
        self.reason = b""
        self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        if lower in self.special_names:
            self.special.setdefault(lower, []).append(value.rstrip(b" \t"))
        else:
            self.names.append(name)
            self.fields.append((lower, value.rstrip(b" \t")))

    def on_status(self, reason: bytes) -> None:
        self.reason = reason

    def on_message_complete(self) -> None:
        self.complete = True

    def count(self) -> int:
        """The number of field lines."""
        return len(self.fields) + sum(map(len, self.special.values()))

    def values(self, name: bytes) -> list[bytes]:
        return self.special.get(name, [])


class RequestHeadReader:
    """Reads the request heads of one client connection.

    `keep_alive` says whether another request may follow the last one that was read.
    """

    __slots__ = ("_known", "_known_lines", "_parser", "_settings", "_shortest_limit", "_tokens", "keep_alive")

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._tokens = Tokens(_REQUEST_SPECIAL)
        self._parser: httptools.HttpRequestParser | None = None
        self._shortest_limit = min(settings.head_line_bytes, settings.head_bytes)
        self._known: RequestHead | None = None
        self._known_lines = b""
        self.keep_alive = False

    def recognise(self, data: bytes) -> RequestHead | None:
        """The request in `data`, if that is one plain request line before the field lines of the last request.

        The result equals that of `read`. None means that `read` has to decide.
        """
        known, lines = self._known, self._known_lines
        if known is None or not data.endswith(lines) or len(data) > self._shortest_limit:
            return None
        line = _PLAIN_LINE.fullmatch(data, 0, len(data) - len(lines))
        if line is None:
            return None
        method, target, path = line.groups()
        if b"//" in path or b"/." in path:
            return None
        return RequestHead(
            method,
            known.authority,
            known.host_name,
            path,
            target,
            target,
            known.fields,
            known.body_bytes,
            known.expects_continue,
            b"",
            HTTP_1_1,
            len(data),
            known.repeated,
        )

    def read(self, head: bytes) -> RequestHead:
        """The request in `head`. Raises `Refusal` for a head that is invalid, ambiguous or over a limit."""
        draft = _Draft()
        head_bytes, line_end = len(head), head.index(b"\r\n")
        self._read_request_line(head[:line_end], draft)
        method = draft.method
        lines = head[line_end:]
        if method not in _LLHTTP_METHODS or draft.raw_target is not draft.target:
            head = _NEUTRAL_REQUEST_LINE + lines
        tokens = self._tokenise(head)
        self._check_limits(len(head), tokens)
        _apply_special(draft, tokens)
        self.keep_alive = draft.keep_alive
        if not draft.keep_alive:
            self._parser = None  # llhttp accepts no message after the last one
        check_method(method)
        if method == b"OPTIONS":
            tokens.fields = [forwarded_once_more(field) for field in tokens.fields]
        fields, framing = tuple(tokens.fields), draft.framing
        request = RequestHead(  # positional arguments, because keywords would cost more
            method,
            draft.authority,
            draft.host_name,
            draft.path,
            draft.target,
            draft.raw_target,
            fields,
            framing if framing >= 0 else None,
            draft.expects_continue,
            draft.upgrade,
            HTTP_1_1 if draft.minor else HTTP_1_0,
            head_bytes,
            RepeatedLines(fields, tuple(tokens.names), draft.connection_options),
        )
        if method != b"OPTIONS" and len(lines) <= REMEMBERED_BYTES_MAX and _is_ordinary(draft):
            self._known, self._known_lines = request, lines
        return request

    def _read_request_line(self, line: bytes, draft: _Draft) -> None:
        parts = line.split(b" ")
        if len(parts) != 3:
            raise Refusal(ErrorKind.BAD_REQUEST, "a request line that has not three parts")
        draft.method, target, version = parts
        if version == b"HTTP/1.1":
            draft.minor = 1
        elif version == b"HTTP/1.0":
            draft.minor = 0
        else:
            raise Refusal(ErrorKind.BAD_REQUEST, "a version other than HTTP/1.0 and HTTP/1.1")
        draft.raw_target, draft.target = target, target_onward(draft.method, target)

    def _tokenise(self, head: bytes) -> Tokens:
        tokens = self._tokens
        tokens.clear()
        parser = self._parser or httptools.HttpRequestParser(tokens)
        self._parser = None
        try:
            parser.feed_data(head)
            if tokens.complete:
                self._parser = parser  # it is ready for the next message
        except httptools.HttpParserUpgrade:
            pass  # llhttp stops at an Upgrade; our own code decides about tunnels
        except httptools.HttpParserError as error:
            raise Refusal(ErrorKind.BAD_REQUEST, "a malformed head") from error
        return tokens

    def _check_limits(self, head_bytes: int, tokens: Tokens) -> None:
        if tokens.count() > self._settings.head_lines_max:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "too many fields")
        limit = self._settings.head_line_bytes
        if head_bytes > limit and (
            any(len(name) + len(value) + 2 > limit for name, value in tokens.fields)
            or any(len(name) + len(value) + 2 > limit for name, values in tokens.special.items() for value in values)
        ):
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "a field over its limit")


def _is_ordinary(draft: _Draft) -> bool:
    """Whether the fields mean the same with another plain request line."""
    return draft.minor == 1 and draft.keep_alive and draft.raw_target[:1] == b"/" and not draft.upgrade


def _apply_special(draft: _Draft, tokens: Tokens) -> None:
    draft.connection_options = ()
    draft.expects_continue = False
    draft.upgrade = b""
    draft.keep_alive = draft.minor == 1
    draft.framing = 0
    hosts = tokens.values(b"host")
    if len(hosts) > 1:
        raise Refusal(ErrorKind.BAD_REQUEST, "more than one Host")
    if not hosts or len(tokens.special) > 1:  # nearly every GET has only Host
        _apply_rare(draft, tokens)
    _apply_target(draft, hosts[0] if hosts else None)


def _apply_rare(draft: _Draft, tokens: Tokens) -> None:
    """Framing, connection options, Expect and Upgrade."""
    lengths, codings = tokens.values(b"content-length"), tokens.values(b"transfer-encoding")
    if lengths or codings:
        draft.framing = request_framing(lengths, codings, minor=draft.minor)
    draft.connection_options = options = options_in(tokens.values(b"connection"))
    if options:
        draft.keep_alive = b"close" not in options and (draft.minor == 1 or b"keep-alive" in options)
    if expectations := tokens.values(b"expect"):
        draft.expects_continue = expects_continue(expectations) and draft.minor == 1
    if b"upgrade" in options:
        draft.upgrade = b",".join(tokens.values(b"upgrade"))


def _apply_target(draft: _Draft, host: bytes | None) -> None:
    """Sets Host, host name and path for the origin, absolute and asterisk forms (RFC 9112 3.2)."""
    target = draft.target
    if host is None and draft.minor == 1:
        raise Refusal(ErrorKind.BAD_REQUEST, "no Host on HTTP/1.1")
    if host == b"":
        raise Refusal(ErrorKind.BAD_REQUEST, "an empty Host")  # every target that is served has an authority
    draft.authority = host or b""
    draft.host_name = host_name(host) if host else b""
    if (path := path_of(draft.method, target)) is not None:
        draft.path = path
    elif match := _ABSOLUTE.fullmatch(target):
        authority = host_name(match[1])
        if host is not None and authority != draft.host_name:
            raise Refusal(ErrorKind.BAD_REQUEST, "an absolute target that disagrees with Host")
        draft.authority, draft.host_name = match[1], authority
        rest = match[2]
        draft.target = rest if rest[:1] == b"/" else b"/" + rest
        draft.path = matchable_path(draft.target)
    elif draft.method != b"CONNECT":
        raise Refusal(ErrorKind.BAD_REQUEST, "a target in no known form")


def options_in(values: list[bytes]) -> tuple[bytes, ...]:
    """The connection options in the values of Connection, in lower case (RFC 9110 7.6.1)."""
    if len(values) == 1 and b"," not in values[0]:  # as `members` does, for nearly all that have the field
        return (values[0].strip(b" \t").lower(),)
    return members(values) if values else ()
