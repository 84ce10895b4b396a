"""What heads say, and turning the bytes of a whole one into a `RequestHead`; `responses` makes `ResponseHead`s. No I/O.

httptools (llhttp) tokenises the fields and refuses bad ones; the start line, the limits and everything that decides
framing or routing are ours. A head comes from `collecting`, so line ends are already known to be CRLF.

Most heads on a connection repeat what the one before said: a client sends the same fields with another target, an
endpoint answers alike. Both readers remember the last one and recognise it byte by byte, instead of reading it anew.
"""

from __future__ import annotations

import re

import httptools

from balancer.errors import ErrorKind, Refusal
from balancer.http1.framing import request_framing
from balancer.http1.target import host_name, matchable_path
from balancer.model import ProxySettings

Field = tuple[bytes, bytes, bytes]
"""A field as (name as it came, name in lower case, value without surrounding white space)."""

_LLHTTP_METHODS = frozenset(
    b"GET HEAD POST PUT DELETE PATCH OPTIONS PROPFIND PROPPATCH MKCOL COPY MOVE LOCK UNLOCK SEARCH REPORT".split()
)
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_TARGET = re.compile(rb"[\x21-\x7e\x80-\xff]+")
_NOT_ASCII = re.compile(rb"[\x80-\xff]")
_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)(.*)", re.DOTALL)
# A request line without escape or fragment, that needs no second look but for `//` and `/.` in the path.
_PLAIN_LINE = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|PATCH) ((/[!$&->@-~]*)(?:\?[!\x22$-~]*)?) HTTP/1\.1")
_HOPS_DIGITS_MAX = 9  # a longer Max-Forwards never gets to zero

REMEMBERED_BYTES_MAX = 4096
"""A head with more in its fields is not remembered: connections are many, and most of them idle."""

_NEUTRAL_REQUEST_LINE = b"POST / HTTP/1.1"  # stands in for a line that llhttp would not take; only fields matter

# Fields that decide framing, routing or the connection; the rest is passed on field by field.
_REQUEST_SPECIAL = frozenset((b"host", b"content-length", b"transfer-encoding", b"connection", b"expect", b"upgrade"))


class Repeated:
    """What is remembered with the field lines of a request, for the next one with the same.

    `request_id` is X-Request-ID, empty where there is none. `onward` belongs to `fields` (the lines as an endpoint gets
    them), `noted` to `accounting`.
    """

    __slots__ = ("noted", "onward", "request_id")

    def __init__(self, fields: list[Field]) -> None:
        self.request_id = b""
        for _, lower, value in fields:
            if lower == b"x-request-id":
                self.request_id = value
                break
        self.onward: tuple[bool, bytes, bool] | None = None
        self.noted: object | None = None


class RequestHead:
    """A valid request head. `path` is normalised for matching; `target` is what goes on to the endpoint.

    `head_bytes` counts the head as it came, with its line ends. `repeated` is shared by requests with the same fields.
    """

    __slots__ = (
        "connection_options",
        "expects_continue",
        "fields",
        "framing",
        "head_bytes",
        "host",
        "host_name",
        "keep_alive",
        "method",
        "minor",
        "path",
        "raw_target",
        "repeated",
        "target",
        "upgrade",
    )

    method: bytes
    raw_target: bytes
    target: bytes
    path: bytes
    minor: int
    host: bytes
    host_name: bytes
    fields: list[Field]
    framing: int
    keep_alive: bool
    connection_options: tuple[bytes, ...]
    expects_continue: bool
    upgrade: bytes
    head_bytes: int
    repeated: Repeated


class ResponseHead:
    """A valid response head from an endpoint; `framing` is decided for the request it answers.

    `onward` belongs to `fields`: the head as it went to the last client, and what that depended on.
    """

    __slots__ = (
        "connection_options",
        "fields",
        "framing",
        "keep_alive",
        "minor",
        "onward",
        "reason",
        "status",
        "upgrade",
    )

    status: int
    reason: bytes
    minor: int
    fields: list[Field]
    framing: int
    keep_alive: bool
    connection_options: tuple[bytes, ...]
    upgrade: bytes
    onward: tuple[object, bytes] | None


class Tokens:
    """What httptools reports of one head, sorted into special fields and the rest."""

    __slots__ = ("complete", "count", "fields", "reason", "special", "special_names")

    def __init__(self, special_names: frozenset[bytes]) -> None:
        self.special_names = special_names
        self.clear()

    def clear(self) -> None:
        self.fields: list[Field] = []
        self.special: dict[bytes, list[bytes]] = {}
        self.count = 0
        self.reason = b""
        self.complete = False

    def on_header(self, name: bytes, value: bytes) -> None:
        lower = name.lower()
        self.count += 1
        if lower in self.special_names:
            self.special.setdefault(lower, []).append(value.rstrip(b" \t"))
        else:
            self.fields.append((name, lower, value.rstrip(b" \t")))

    def on_status(self, reason: bytes) -> None:
        self.reason = reason

    def on_message_complete(self) -> None:
        self.complete = True

    def values(self, name: bytes) -> list[bytes]:
        return self.special.get(name, [])


class RequestHeadReader:
    """Reads the heads of one client connection, one after the other."""

    __slots__ = ("_known", "_known_lines", "_parser", "_settings", "_shortest_limit", "_tokens")

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._tokens = Tokens(_REQUEST_SPECIAL)
        self._parser: httptools.HttpRequestParser | None = None
        self._shortest_limit = min(settings.head_line_bytes, settings.head_bytes)
        self._known: RequestHead | None = None
        self._known_lines = b""

    def recognise(self, data: bytes) -> RequestHead | None:
        """The request in `data`, if that is one plain request line before the field lines of the last request.

        It is what `read` would make of it; None says nothing.
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
        request = RequestHead()
        request.method = method
        request.raw_target = request.target = target
        request.path = path
        request.minor = 1
        request.host = known.host
        request.host_name = known.host_name
        request.fields = known.fields
        request.framing = known.framing
        request.keep_alive = True
        request.connection_options = known.connection_options
        request.expects_continue = known.expects_continue
        request.upgrade = b""
        request.head_bytes = len(data)
        request.repeated = known.repeated
        return request

    def read(self, head: bytes) -> RequestHead:
        """The request in `head`. Raises `Refusal` for a head that is invalid, ambiguous or over a limit."""
        request = RequestHead()
        request.head_bytes = len(head)
        line_end = head.index(b"\r\n")
        self._read_request_line(head[:line_end], request)
        method = request.method
        lines = head[line_end:]
        if method not in _LLHTTP_METHODS or request.raw_target is not request.target:
            head = _NEUTRAL_REQUEST_LINE + lines
        tokens = self._tokenise(head)
        request.fields = tokens.fields
        request.repeated = Repeated(tokens.fields)
        self._check_limits(len(head), tokens)
        _apply_special(request, tokens)
        if not request.keep_alive:
            self._parser = None  # llhttp takes nothing after a last message
        if method in (b"CONNECT", b"TRACE"):
            raise Refusal(ErrorKind.METHOD_NOT_ALLOWED, "CONNECT and TRACE are not served")
        if method == b"OPTIONS":
            request.fields = [_forwarded_once_more(field) for field in request.fields]
        elif len(lines) <= REMEMBERED_BYTES_MAX and _is_ordinary(request):
            self._known, self._known_lines = request, lines
        return request

    def _read_request_line(self, line: bytes, request: RequestHead) -> None:
        parts = line.split(b" ")
        if len(parts) != 3:
            raise Refusal(ErrorKind.BAD_REQUEST, "a request line that has not three parts")
        request.method, target, version = parts
        if version == b"HTTP/1.1":
            request.minor = 1
        elif version == b"HTTP/1.0":
            request.minor = 0
        else:
            raise Refusal(ErrorKind.BAD_REQUEST, "a version other than HTTP/1.0 and HTTP/1.1")
        if not _TARGET.fullmatch(target) or not _TOKEN.fullmatch(request.method):
            raise Refusal(ErrorKind.BAD_REQUEST, "a malformed method or target")
        request.raw_target = request.target = target
        if not target.isascii():
            request.target = _NOT_ASCII.sub(lambda match: b"%%%02X" % match[0][0], target)

    def _tokenise(self, head: bytes) -> Tokens:
        tokens = self._tokens
        tokens.clear()
        parser = self._parser or httptools.HttpRequestParser(tokens)
        self._parser = None
        try:
            parser.feed_data(head)
            if tokens.complete:
                self._parser = parser  # it stands at the start of the next message
        except httptools.HttpParserUpgrade:
            pass  # llhttp stops at an Upgrade; whether it may become a tunnel is not its decision
        except httptools.HttpParserError as error:
            raise Refusal(ErrorKind.BAD_REQUEST, "a malformed head") from error
        return tokens

    def _check_limits(self, head_bytes: int, tokens: Tokens) -> None:
        if tokens.count > self._settings.head_lines_max:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "too many fields")
        limit = self._settings.head_line_bytes
        if head_bytes > limit and (
            any(len(name) + len(value) + 2 > limit for name, _, value in tokens.fields)
            or any(len(name) + len(value) + 2 > limit for name, values in tokens.special.items() for value in values)
        ):
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "a field over its limit")


def _is_ordinary(request: RequestHead) -> bool:
    """Whether its fields mean the same under another plain request line."""
    return request.minor == 1 and request.keep_alive and request.raw_target[:1] == b"/" and not request.upgrade


def _apply_special(request: RequestHead, tokens: Tokens) -> None:
    request.connection_options = ()
    request.expects_continue = False
    request.upgrade = b""
    request.keep_alive = request.minor == 1
    request.framing = 0
    hosts = tokens.values(b"host")
    if len(hosts) > 1:
        raise Refusal(ErrorKind.BAD_REQUEST, "more than one Host")
    if not hosts or len(tokens.special) > 1:  # more than nearly every GET has
        _apply_rare(request, tokens)
    _apply_target(request, hosts[0] if hosts else None)


def _apply_rare(request: RequestHead, tokens: Tokens) -> None:
    """Framing, connection options, Expect and Upgrade."""
    lengths, codings = tokens.values(b"content-length"), tokens.values(b"transfer-encoding")
    if lengths or codings:
        request.framing = request_framing(lengths, codings, minor=request.minor)
    request.connection_options = options = options_in(tokens.values(b"connection"))
    if options:
        request.keep_alive = b"close" not in options and (request.minor == 1 or b"keep-alive" in options)
    if expectations := tokens.values(b"expect"):
        request.expects_continue = request.minor == 1 and b"100-continue" in map(bytes.lower, expectations)
    if b"upgrade" in options:
        request.upgrade = b",".join(tokens.values(b"upgrade"))


def _apply_target(request: RequestHead, host: bytes | None) -> None:
    """Settle Host, host name and path, for the origin, absolute and asterisk forms (RFC 9112 3.2)."""
    target = request.target
    if host is None and request.minor == 1:
        raise Refusal(ErrorKind.BAD_REQUEST, "no Host on HTTP/1.1")
    request.host = host or b""
    request.host_name = host_name(host) if host else b""
    if target[:1] == b"/":
        request.path = matchable_path(target)
    elif target == b"*" and request.method == b"OPTIONS":
        request.path = b"/"
    elif match := _ABSOLUTE.fullmatch(target):
        authority = host_name(match[1])
        if host is not None and authority != request.host_name:
            raise Refusal(ErrorKind.BAD_REQUEST, "an absolute target that disagrees with Host")
        request.host, request.host_name = match[1], authority
        rest = match[2]
        request.target = rest if rest[:1] == b"/" else b"/" + rest
        request.path = matchable_path(request.target)
    elif request.method != b"CONNECT":
        raise Refusal(ErrorKind.BAD_REQUEST, "a target in no known form")


def _forwarded_once_more(field: Field) -> Field:
    """Max-Forwards of an OPTIONS counts down (RFC 9110 7.6.2); at zero the request ends here."""
    name, lower, value = field
    if lower != b"max-forwards" or not value.isdigit() or len(value) > _HOPS_DIGITS_MAX:
        return field
    if int(value) == 0:
        raise Refusal(ErrorKind.METHOD_NOT_ALLOWED, "an OPTIONS for the proxy itself")
    return name, lower, b"%d" % (int(value) - 1)


def options_in(values: list[bytes]) -> tuple[bytes, ...]:
    """The connection options in the values of Connection, in lower case (RFC 9110 7.6.1)."""
    if not values:
        return ()
    return tuple(option.strip(b" \t").lower() for value in values for option in value.split(b","))
