"""Writes heads: which fields go on, which are removed, which the proxy adds. No I/O.

Which fields those are says `balancer.http.passing`.
"""

from __future__ import annotations

from functools import lru_cache

from balancer.http import calls
from balancer.http.edits import HeadEdit
from balancer.http.looping import LOOP_FIELD, LOOP_FIELDS, MARK
from balancer.http.memos import Memo, recalled
from balancer.http.messages import HTTP_1_1, Fields, RequestHead, ResponseHead, phrase_of
from balancer.http.origin import Origin
from balancer.http.passing import HSTS, NOT_FOR_CLIENTS, NOT_FOR_ENDPOINTS, NOT_IN_INTERIM, Passing, nominated
from balancer.http.streams import Outgoing
from balancer.http1.fieldlines import beginning_onward
from balancer.http1.framing import CHUNKED
from balancer.http1.heads import Http1Response, RepeatedLines

# The names that clients use are few. The longest have 8 KiB and are held twice: nobody can make this hold over 4 MiB.
_NAMES_REMEMBERED_MAX = 256
_RULES_REMEMBERED = 4  # for clients and for trusted proxies, under the settings in use and those before
_BODILESS = frozenset((b"GET", b"HEAD", b"DELETE", b"OPTIONS"))
_END_OF_LINE = b"\r\n"
# The lines that a client has not written, or under another name. Tests find every one in heads.
_OWN_NAMES = frozenset(
    b"host x-forwarded-for x-forwarded-host x-forwarded-port x-forwarded-proto x-forwarded-scheme "
    b"x-original-forwarded-for x-original-forwarded-host x-real-ip x-request-id x-scheme".split()
)
_VERSION, _VERSION_1_0 = b" HTTP/1.1\r\n", b" HTTP/1.0\r\n"
_NOBODY: frozenset[bytes] = frozenset()


class OriginLines(Memo):
    """The lines about the client, empty until they are made."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.beside = None
        self.lines = b""


class LinesOfAnother(Memo):
    """The field lines of a request that another version has read, None until they are made."""

    __slots__ = ("lines",)

    def __init__(self) -> None:
        self.beside = None
        self.lines: RepeatedLines | None = None


class WrittenHead(Memo):
    """The `head` of a response as the last client got it, and what it depends on (`client_response_head`)."""

    __slots__ = ("chunked", "edit", "head", "keep_alive", "protocol")

    def __init__(self) -> None:
        self.beside = None
        self.head = b""
        self.protocol = ""
        self.chunked = False
        self.keep_alive = False
        self.edit: HeadEdit | None = None


class ResponseOfAnother(Memo):
    """The `response` of another version with what only HTTP/1 knows of one, None until it is made."""

    __slots__ = ("response",)

    def __init__(self) -> None:
        self.beside = None
        self.response: Http1Response | None = None


def endpoint_request_head(outgoing: Outgoing) -> bytes:
    """The head that goes to the endpoint, ending in the empty line.

    The framing is written anew, so it is unambiguous whatever the client wrote.
    """
    request = outgoing.request
    method, given, body_bytes = request.method, request.repeated, request.body_bytes
    lines = given if isinstance(given, RepeatedLines) else lines_of(request)  # nearly every request comes by HTTP/1
    known, origin = lines.onward, outgoing.origin
    if outgoing.removed or origin.host:  # of this one request: what is kept with its fields must not know
        known = _lines_onward(request, lines, rules=outgoing.passing, host=origin.host, removed=outgoing.removed)
    elif known is None or known[0] is not outgoing.passing:
        known = _lines_onward(request, lines, rules=outgoing.passing)
        lines.onward = known
    held = origin.memo
    about = held if isinstance(held, OriginLines) else _origin_lines(origin)
    request_id = outgoing.request_id
    if request_id is None or lines.request_id is not None:
        request_id = b""
    is_usual = (
        body_bytes == 0
        and method == b"GET"
        and not (
            outgoing.replaced or outgoing.added or request.upgrade or outgoing.connection or request.expects_continue
        )
    )
    parts = (
        method,
        b" ",
        request.target,
        b" HTTP/1.1\r\nHost: ",
        outgoing.host or origin.host or request.authority,
        b"\r\n",
        about.lines,
        known[1],
        b"X-Request-ID: " if request_id else b"",
        request_id,
        b"\r\n" if request_id else b"",
        b"\r\n" if is_usual else b"",
    )
    head = calls.joined(parts)
    return head if is_usual else _with_more(head, outgoing)


def _with_more(head: bytes, outgoing: Outgoing) -> bytes:
    """The whole head, after what every one begins with: with what most requests do not have."""
    request = outgoing.request
    method, body_bytes = request.method, request.body_bytes
    if outgoing.replaced and _has_line(request, outgoing.replaced):
        head = _without_lines(head, outgoing.replaced)
    if outgoing.added:
        head += _lines(outgoing.added)
    if body_bytes != 0 or method not in _BODILESS:
        head += _framing_field(body_bytes, method)
    if request.expects_continue:
        head += b"Expect: 100-continue\r\n"
    if request.upgrade:
        head += b"Connection: Upgrade\r\nUpgrade: %b\r\n" % request.upgrade
    elif outgoing.connection:
        head = _with_connection(head, outgoing)
    return head + b"\r\n"


def _with_connection(head: bytes, outgoing: Outgoing) -> bytes:
    """`head` with the Connection field that the route asks for, and as HTTP/1.0 if the route says so."""
    if outgoing.http_1_0:
        head = head.replace(_VERSION, _VERSION_1_0, 1)  # the first is that of the request line
    return head + b"Connection: %b\r\n" % outgoing.connection


def _has_line(request: RequestHead, names: frozenset[bytes]) -> bool:
    """Whether the endpoint would get a line called one of `names`, which are in lower case."""
    for name, _ in request.fields:
        if name in names:
            return True
    return not names.isdisjoint(_OWN_NAMES)


def _without_lines(head: bytes, names: frozenset[bytes]) -> bytes:
    """The request line and the lines in `head` without the fields called `names`, which are in lower case."""
    lowered = head.lower()
    for name in names - LOOP_FIELDS:
        line = calls.joined((_END_OF_LINE, name, b":"))
        begun = lowered.find(line)
        while begun >= 0:
            end = lowered.find(_END_OF_LINE, begun + 2)
            head = head[:begun] + head[end:]
            lowered = lowered[:begun] + lowered[end:]
            begun = lowered.find(line, begun)
    return head


def _origin_lines(origin: Origin) -> OriginLines:
    """The lines about the client, which are the same for every request with one origin and written once."""
    known = recalled(origin, OriginLines)
    if known.lines:
        return known
    address, scheme = origin.peer.encode("ascii", "replace"), origin.scheme
    known.lines = (
        b"X-Real-IP: %b\r\nX-Forwarded-For: %b\r\nX-Forwarded-Port: %d\r\n"
        b"X-Forwarded-Proto: %b\r\nX-Forwarded-Scheme: %b\r\nX-Scheme: %b\r\nCDN-Loop: %b\r\n"
    ) % (address, origin.forwarded_for or address, origin.shown_port, scheme, scheme, scheme, MARK)
    return known


def lines_of(request: RequestHead) -> RepeatedLines:
    """The field lines of a request, also of one that HTTP/1 did not read."""
    lines = request.repeated
    if isinstance(lines, RepeatedLines):
        return lines
    known = recalled(lines, LinesOfAnother)
    found = known.lines
    if found is None:
        names = tuple([name for name, _ in request.fields])
        found = RepeatedLines(request.fields, names, lines.connection_options, lines.request_id)
        known.lines = found
    return found


def _lines_onward(
    request: RequestHead,
    lines: RepeatedLines,
    *,
    rules: Passing,
    host: bytes = b"",
    removed: frozenset[bytes] = _NOBODY,
) -> tuple[Passing, bytes]:
    """`rules`, and the client's fields as the endpoint gets them, without those named in `removed`.

    `host` is the Host that the first proxy got, empty if that is the request's own.
    """
    parts = [b"X-Forwarded-Host: ", host or request.authority]
    options = lines.connection_options
    ended = nominated(options) if options else NOT_FOR_ENDPOINTS
    beginnings = _beginnings_under(rules)
    for name, field in zip(lines.names, request.fields, strict=True):
        beginning = beginnings[name]
        if beginning and field[0] not in ended and (field[0] not in removed or field[0] == LOOP_FIELD):
            parts += (beginning, field[1])
    parts.append(b"\r\n")
    return rules, b"".join(parts)


def _lines(fields: Fields) -> bytes:
    parts: list[bytes] = []
    for name, value in fields:
        parts += (name, b": ", value, _END_OF_LINE)
    return b"".join(parts)


class _Beginnings(dict[bytes, bytes]):
    """What `beginning_onward` says of each name that came: a look-up costs a third of a call."""

    def __init__(self, rules: Passing) -> None:
        self._rules = rules

    def __missing__(self, name: bytes) -> bytes:
        if len(self) >= _NAMES_REMEMBERED_MAX:
            self.clear()
        beginning = self[name] = beginning_onward(name, self._rules)
        return beginning


@lru_cache(maxsize=_RULES_REMEMBERED)
def _beginnings_under(rules: Passing) -> _Beginnings:
    return _Beginnings(rules)


def _framing_field(body_bytes: int | None, method: bytes) -> bytes:
    if body_bytes is None:
        return b"Transfer-Encoding: chunked\r\n"
    if body_bytes > 0 or method in (b"POST", b"PUT", b"PATCH"):
        return b"Content-Length: %d\r\n" % body_bytes
    return b""


def client_response_head(
    response: ResponseHead, protocol: str, chunked: bool, keep_alive: bool, edit: HeadEdit
) -> bytes:
    """The head that goes to the client, ending in the empty line.

    `protocol` is the version that the client speaks. `chunked`: the body is sent in chunks, whatever coding it came in.
    `keep_alive`: the connection goes on after it. Beside the fields that `edit` removes, those of one hop end here.
    """
    held = response.written.memo
    if type(held) is WrittenHead:  # mostly, so this is asked first
        written = held
        if (
            written.edit is edit
            and written.keep_alive == keep_alive
            and written.chunked == chunked
            and written.protocol == protocol
        ):
            return written.head
    if not isinstance(response, Http1Response):
        return client_response_head(_as_http1(response), protocol, chunked, keep_alive, edit)
    options = response.connection_options
    ended = NOT_FOR_CLIENTS | nominated(options) if options else NOT_FOR_CLIENTS
    lines = _lines_without(response, edit.removed, ended)
    parts = [b"HTTP/1.1 %d %b\r\n" % (response.status, response.reason), lines]
    if chunked:
        parts.append(b"Transfer-Encoding: chunked\r\n")
    elif response.framing > 0:
        parts.append(b"Content-Length: %d\r\n" % response.framing)
    if edit.added:
        parts.append(_lines(edit.added))
    if response.status == 426 and response.upgrade:
        parts.append(b"Upgrade: %b\r\n" % response.upgrade)  # RFC 9110 15.5.22: it must say which
    if not keep_alive:
        parts.append(b"Connection: close\r\n")
    elif protocol != HTTP_1_1:
        parts.append(b"Connection: keep-alive\r\n")
    parts.append(b"\r\n")
    head = b"".join(parts)
    written = recalled(response.written, WrittenHead)
    written.head = head
    written.protocol = protocol
    written.chunked = chunked
    written.keep_alive = keep_alive
    written.edit = edit
    return head


def _as_http1(response: ResponseHead) -> Http1Response:
    """The head of another version with a reason phrase and spelled names."""
    body_bytes, written = response.body_bytes, recalled(response.written, ResponseOfAnother)
    known = written.response
    if known is not None and known.body_bytes == body_bytes:
        return known
    known = Http1Response(
        status=response.status,
        fields=response.fields,
        body_bytes=body_bytes,
        upgrade=response.upgrade,
        reason=phrase_of(response.status).encode(),
        framing=CHUNKED if body_bytes is None else body_bytes,
        keep_alive=True,
        connection_options=response.connection_options,
        names=tuple(name for name, _ in response.fields),
    )
    written.response = known
    return known


def _lines_without(response: Http1Response, removed: frozenset[bytes], ended: frozenset[bytes]) -> bytes:
    """The lines of the endpoint's fields whose names, in lower case, are neither `removed` nor `ended`."""
    pieces: list[bytes] = []
    for name, field in zip(response.names, response.fields, strict=True):
        if field[0] not in ended and field[0] not in removed:  # one set of both would be made for each response
            pieces += (name, b": ", field[1], b"\r\n")
    return b"".join(pieces)


def switching_response(response: ResponseHead, edit: HeadEdit) -> bytes:
    """The 101 of an endpoint as it goes on to the client: with it both connections become a tunnel."""
    if not isinstance(response, Http1Response):
        response = _as_http1(response)
    return b"HTTP/1.1 101 %b\r\nConnection: Upgrade\r\nUpgrade: %b\r\n%b%b\r\n" % (
        response.reason,
        response.upgrade,
        _lines_without(response, edit.removed, NOT_FOR_CLIENTS | {HSTS}),
        _lines(edit.added),
    )


def interim_response(response: ResponseHead) -> bytes:
    """A 1xx response as it goes on to the client (RFC 9110 15.2)."""
    if not isinstance(response, Http1Response):
        response = _as_http1(response)
    removed = NOT_IN_INTERIM.union(response.connection_options)
    return b"HTTP/1.1 %d %b\r\n%b\r\n" % (response.status, response.reason, _lines_without(response, removed, _NOBODY))


def must_chunk(body_bytes: int | None, protocol: str) -> bool:
    """Whether the body goes to the client in chunks: its length is unknown and the client speaks HTTP/1.1."""
    return body_bytes is None and protocol == HTTP_1_1
