"""Reads the bytes of a whole request head into a `RequestHead`; `responses` does so for responses. No I/O.

`fieldlines` splits the fields and refuses invalid ones. The code here checks limits, and reads the start line and what
decides framing or routing. Heads come from `collecting`, so every line end is CRLF.

Most heads of a connection repeat the previous one: clients send the same fields, often with the same target, and
endpoints answer alike. Both readers remember the last head and compare bytes instead of parsing again.
"""

from __future__ import annotations

import re
from functools import lru_cache, partial

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import HTTP_1_0, HTTP_1_1, Fields, Repeated, RequestHead, ResponseHead
from balancer.http.passing import Passing, passing
from balancer.http.rules import (
    check_method,
    expects_continue,
    forwarded_once_more,
    members,
    path_of,
    target_onward,
)
from balancer.http.target import host_name, matchable_path
from balancer.http1.fieldlines import FieldLineReader, FieldLines, beginning_onward
from balancer.http1.framing import request_framing
from balancer.model.settings import ProxySettings

Names = tuple[bytes, ...]
"""The names of fields in their order, spelled as they came."""

_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)(.*)", re.DOTALL)
# A request line without escape or fragment, and without a backslash in its path. Only `//` and `/.` in its path need
# another check, by `find`: for `in`, CPython first makes and drops an exception, because what is searched for is no
# integer.
_PLAIN_LINE = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|PATCH) ((/[!$&->@-\[\]-~]*)(?:\?[!\x22$-~]*)?) HTTP/1\.1")

REMEMBERED_BYTES_MAX = 4096
"""A head with more bytes is not remembered, because there are many connections and most of them are idle."""

# Fields that decide framing, routing or the connection. All others pass on as they are.
_SPECIAL = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))
_WELL_KNOWN_OPTIONS = {b"keep-alive": (b"keep-alive",), b"close": (b"close",)}
_RULES_REMEMBERED = 4  # of the settings in use and those before
_USUAL_OPTIONS = frozenset(((), (b"keep-alive",)))  # no field that they name goes on


@lru_cache(maxsize=_RULES_REMEMBERED)
def _reader_under(underscores: bool, kept: tuple[str, ...]) -> tuple[Passing, FieldLineReader]:
    """One for all connections under equal rules, because what it remembers is as an endpoint gets it."""
    rules = passing(underscores, kept)
    return rules, FieldLineReader(_SPECIAL, ErrorKind.BAD_REQUEST, partial(beginning_onward, rules=rules))


class RepeatedLines(Repeated):
    """The field lines of a request head, with what HTTP/1 worked out from them.

    `onward` belongs to `fields`: the lines as an endpoint gets them, and what they depend on.
    """

    __slots__ = ("names", "onward")

    def __init__(
        self,
        fields: Fields,
        names: Names,
        connection_options: tuple[bytes, ...],
        request_id: bytes | None,
        onward: tuple[Passing, bytes] | None = None,
    ) -> None:
        self.request_id = request_id  # this and what follows as the base class does, which would search for it
        self.memo = None
        self.logged = None
        self.connection_options = connection_options
        self.names = names
        self.onward = onward


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


class RequestHeadReader:
    """Reads the request heads of one client connection.

    `keep_alive` says whether another request may follow the last one that was read.
    """

    __slots__ = (
        "_known",
        "_known_line",
        "_known_lines",
        "_line_reader",
        "_passing",
        "_settings",
        "_shortest_limit",
        "keep_alive",
    )

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        passing, line_reader = _reader_under(settings.underscores_in_headers, settings.kept_fields)
        self._passing = passing
        self._line_reader = line_reader
        line_bytes, head_bytes = settings.head_line_bytes, settings.head_bytes
        self._shortest_limit = line_bytes if line_bytes < head_bytes else head_bytes  # `min` costs more than both
        self._known: RequestHead | None = None
        self._known_line = b""  # its request line
        self._known_lines = b""  # its field lines
        self.keep_alive = False

    def recognise(self, data: bytes) -> RequestHead | None:
        """The request in `data`, if that is one plain request line before the field lines of the last request.

        The result equals that of `read`. None means that `read` has to decide.
        """
        known, lines = self._known, self._known_lines
        if known is None or not data.endswith(lines) or len(data) > self._shortest_limit:
            return None
        text = data  # which compiled code slices without a slice object, as below
        line = text[: len(data) - len(lines)]
        if line == self._known_line:
            return known
        parts = _PLAIN_LINE.fullmatch(line)
        if parts is None:
            return None
        method, target, path = parts.groups()
        if path.find(b"//") >= 0 or path.find(b"/.") >= 0:
            return None
        request = RequestHead(
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
        if len(data) <= REMEMBERED_BYTES_MAX:
            self._known = request
            self._known_line = line
        return request

    def read(self, head: bytes, lines: list[bytes] | None = None) -> RequestHead:
        """The request in `head`. Raises `Refusal` for a head that is invalid, ambiguous or over a limit.

        `lines` are those of the head, if they are known, as `HeadCollector.take_lines` gives them.
        """
        texts = head.split(b"\r\n")[:-1] if lines is None else lines
        draft, reader, known = _Draft(), self._line_reader, self._known
        line = texts[0]
        if known is not None and line == self._known_line:
            _repeat_request_line(known, draft)
        else:
            _read_request_line(line, draft)
        found = reader.read(texts[1:-1])
        self._check_limits(len(head), found)
        _apply_special(draft, found, known)
        self.keep_alive = draft.keep_alive
        method = draft.method
        check_method(method)
        is_remembered = method != b"OPTIONS"
        fields, framing = tuple(found.fields), draft.framing
        if not is_remembered:
            fields = tuple([forwarded_once_more(field) for field in fields])
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
            len(head),
            RepeatedLines(
                fields,
                tuple(found.names),
                draft.connection_options,
                found.request_id,
                self._onward(draft, found) if is_remembered else None,
            ),
        )
        if is_remembered and len(head) <= REMEMBERED_BYTES_MAX and _is_ordinary(draft):
            text = head
            self._known = request
            self._known_line = line
            self._known_lines = text[len(line) : len(head)]
        return request

    def _onward(self, draft: _Draft, found: FieldLines) -> tuple[Passing, bytes] | None:
        """`RepeatedLines.onward`, or None where Connection names fields that end here."""
        if draft.connection_options not in _USUAL_OPTIONS:
            return None
        pieces = found.onward
        written = b"X-Forwarded-Host: " + draft.authority + b"".join(pieces) + b"\r\n"
        return self._passing, written

    def _check_limits(self, head_bytes: int, found: FieldLines) -> None:
        if found.count() > self._settings.head_lines_max:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "too many fields")
        limit = self._settings.head_line_bytes
        if head_bytes > limit and any(
            len(name) + len(value) + 2 > limit for fields in (found.fields, found.special) for name, value in fields
        ):
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "a field over its limit")


def _repeat_request_line(known: RequestHead, draft: _Draft) -> None:
    """The request line is that of an ordinary request, so nothing of it depends on the fields."""
    draft.method = known.method
    draft.raw_target = known.raw_target
    draft.target = known.target
    draft.path = known.path
    draft.minor = 1


def _read_request_line(line: bytes, draft: _Draft) -> None:
    plain = _PLAIN_LINE.fullmatch(line)
    if plain is not None:
        method, target, path = plain.groups()
        draft.method = method
        draft.raw_target = target
        draft.target = target
        draft.path = path if path.find(b"//") < 0 and path.find(b"/.") < 0 else b""
        draft.minor = 1
        return
    parts = line.split(b" ")
    if len(parts) != 3:
        raise Refusal(ErrorKind.BAD_REQUEST, "a request line that has not three parts")
    method, target, version = parts
    draft.method = method
    if version == b"HTTP/1.1":
        draft.minor = 1
    elif version == b"HTTP/1.0":
        draft.minor = 0
    else:
        raise Refusal(ErrorKind.BAD_REQUEST, "a version other than HTTP/1.0 and HTTP/1.1")
    draft.raw_target = target
    draft.target = target_onward(draft.method, target)
    draft.path = b""


def _is_ordinary(draft: _Draft) -> bool:
    """Whether the fields mean the same with another plain request line."""
    return draft.minor == 1 and draft.keep_alive and draft.raw_target[:1] == b"/" and not draft.upgrade


def _apply_special(draft: _Draft, found: FieldLines, known: RequestHead | None) -> None:
    draft.connection_options = ()
    draft.expects_continue = False
    draft.upgrade = b""
    draft.keep_alive = draft.minor == 1
    draft.framing = 0
    special = found.special
    if len(special) == 1 and special[0][0] == b"host":  # as in nearly every GET
        _apply_host(draft, special[0][1], known)
    else:
        hosts = found.values(b"host")
        if len(hosts) > 1:
            raise Refusal(ErrorKind.BAD_REQUEST, "more than one Host")
        _apply_rare(draft, found)
        _apply_host(draft, hosts[0] if hosts else None, known)
    if not draft.path:
        _apply_target(draft)


def _apply_rare(draft: _Draft, found: FieldLines) -> None:
    """Framing, connection options, Expect and Upgrade."""
    values: dict[bytes, list[bytes]] = {}
    for name, value in found.special:
        values.setdefault(name, []).append(value)
    lengths, codings = values.get(b"content-length", []), values.get(b"transfer-encoding", [])
    if lengths or codings:
        draft.framing = request_framing(lengths, codings, minor=draft.minor)
    options = options_in(values.get(b"connection", []))
    draft.connection_options = options
    if options:
        draft.keep_alive = b"close" not in options and (draft.minor == 1 or b"keep-alive" in options)
    if expectations := values.get(b"expect"):
        draft.expects_continue = expects_continue(expectations) and draft.minor == 1
    if b"upgrade" in options:
        draft.upgrade = b",".join(values.get(b"upgrade", []))


def _apply_host(draft: _Draft, host: bytes | None, known: RequestHead | None) -> None:
    """Sets authority and host name from the value of Host. `known` is the last request, which often had the same value.

    Raises `Refusal` for an empty Host, and for none in HTTP/1.1 (RFC 9112 3.2).
    """
    if host is None and draft.minor == 1:
        raise Refusal(ErrorKind.BAD_REQUEST, "no Host on HTTP/1.1")
    if host == b"":
        raise Refusal(ErrorKind.BAD_REQUEST, "an empty Host")  # every target that is served has an authority
    draft.authority = host or b""
    if known is not None and known.authority == host:
        draft.host_name = known.host_name
    else:
        draft.host_name = host_name(host) if host else b""


def _apply_target(draft: _Draft) -> None:
    """Sets the path for the origin, absolute and asterisk forms, and what the absolute form says (RFC 9112 3.2)."""
    target = draft.target
    if (path := path_of(draft.method, target)) is not None:
        draft.path = path
    elif match := _ABSOLUTE.fullmatch(target):
        # Host does not count beside it, and does not go on (RFC 9112 3.2.2).
        draft.authority = match[1]
        draft.host_name = host_name(match[1])
        rest = match[2]
        draft.target = rest if rest[:1] == b"/" else b"/" + rest
        draft.path = matchable_path(draft.target)
    elif draft.method != b"CONNECT":
        raise Refusal(ErrorKind.BAD_REQUEST, "a target in no known form")


def options_in(values: list[bytes]) -> tuple[bytes, ...]:
    """The connection options in the values of Connection, in lower case (RFC 9110 7.6.1)."""
    if not values:
        return ()
    if len(values) == 1 and values[0] in _WELL_KNOWN_OPTIONS:
        return _WELL_KNOWN_OPTIONS[values[0]]
    return members(values)
