"""Compresses response bodies with gzip if the client accepts it and the response allows it. No I/O.

Chooses responses as nginx's gzip module does with the template of ingress-nginx, but more strictly: a response that
must not be transformed is not (RFC 9110 7.7), and a body with a digest field stays as it is.
"""

from __future__ import annotations

import zlib
from typing import NamedTuple

from balancer.http.messages import HTTP_1_0, Field, Fields, RequestHead, ResponseHead, field_value
from balancer.model.settings import Compression

_STATUSES = frozenset((200, 403, 404))  # nginx: ngx_http_gzip_header_filter
_ALWAYS = b"text/html"  # nginx: gzip_types has it whatever is listed
_ANY_TYPE = b"*"
_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib: a gzip header and trailer around the deflated data
_MEMORY_LEVEL = 8
_CODED: Field = (b"Content-Encoding", b"gzip")
_VARIES: Field = (b"Vary", b"Accept-Encoding")
_CODINGS = (b"gzip", b"x-gzip")  # RFC 9110 8.4.1.3: both mean the same
# A range of the coded body is not a range of the endpoint's.
_RANGES = frozenset((b"accept-ranges",))
_TAGGED = _RANGES | {b"etag"}
# Each would be wrong for the coded body, or forbids to code it.
_AS_IT_IS = frozenset(
    (b"content-encoding", b"content-range", b"content-digest", b"repr-digest", b"digest", b"content-md5")
)


class BodyFilter:
    """Compresses one body, piece by piece. It holds no more than the window of zlib, 256 KiB at most.

    With `flushes` each piece can be read at once by the client: so it is where the endpoint does not say how long the
    body is, because such a body may be a stream of events.
    """

    __slots__ = ("_deflater", "_flushes")

    def __init__(self, level: int, *, flushes: bool) -> None:
        self._deflater = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW, _MEMORY_LEVEL)
        self._flushes = flushes

    def feed(self, data: bytes) -> bytes:
        """The compressed bytes for a piece of the body; they may be empty."""
        coded = self._deflater.compress(data)
        return coded + self._deflater.flush(zlib.Z_SYNC_FLUSH) if self._flushes and data else coded

    def end(self) -> bytes:
        """The compressed bytes at the end of the body."""
        return self._deflater.flush()


class Coded(NamedTuple):
    """What compression changes about one response. `body` None: only the head is changed, the body stays as it is.

    Names in `removed` are in lower case.
    """

    body: BodyFilter | None
    removed: frozenset[bytes]
    added: Fields


class Compressor:
    """Decides which responses are compressed."""

    __slots__ = ("_level", "_min_bytes", "_takes_all", "_types")

    def __init__(self, settings: Compression) -> None:
        self._level = settings.level
        self._min_bytes = settings.min_bytes
        self._types = frozenset((_ALWAYS, *(name.lower().encode("ascii") for name in settings.types)))
        self._takes_all = _ANY_TYPE in self._types

    def code(self, request: RequestHead, response: ResponseHead) -> Coded | None:
        """How a response to `request` is compressed; None leaves it alone.

        A response that would be compressed for another client gets Vary, so that no cache serves one client's form to
        another.
        """
        if response.status not in _STATUSES or request.method == b"HEAD" or not self._may_code(response):
            return None
        vary = () if _varies(response.fields) else (_VARIES,)
        if request.protocol == HTTP_1_0 or not accepts_gzip(request.fields):
            return Coded(None, frozenset(), vary) if vary else None
        etag = field_value(response.fields, b"etag")
        body = BodyFilter(self._level, flushes=response.body_bytes is None)
        if etag is None:
            return Coded(body, _RANGES, (_CODED, *vary))
        return Coded(body, _TAGGED, (_CODED, (b"ETag", _weak(etag)), *vary))

    def _may_code(self, response: ResponseHead) -> bool:
        if response.body_bytes is not None and response.body_bytes < max(self._min_bytes, 1):
            return False
        fields = response.fields
        if any(name in _AS_IT_IS or (name == b"cache-control" and _forbids(value)) for name, value in fields):
            return False
        kind = field_value(fields, b"content-type")
        return kind is not None and (self._takes_all or kind.partition(b";")[0].strip().lower() in self._types)


def accepts_gzip(fields: Fields) -> bool:
    """Whether Accept-Encoding allows gzip with a weight of more than 0 (RFC 9110 12.5.3).

    A weight that cannot be read counts as 0. Without the field nothing is compressed: some old clients expect that.
    """
    allowed, others = None, False
    for name, value in fields:
        if name != b"accept-encoding":
            continue
        for item in value.split(b","):
            coding, _, parameter = item.partition(b";")
            coding = coding.strip().lower()
            if coding in _CODINGS:
                allowed = bool(allowed) or _weight(parameter) > 0
            elif coding == b"*":
                others = _weight(parameter) > 0
    return others if allowed is None else allowed


def _weight(parameter: bytes) -> float:
    """The value of `q=` (RFC 9110 12.4.2); 1 if there is none."""
    name, _, value = parameter.partition(b"=")
    if not name.strip():
        return 1.0
    try:
        weight = float(value) if name.strip().lower() == b"q" else 0.0
    except ValueError:
        return 0.0
    return weight if 0.0 <= weight <= 1.0 else 0.0


def _varies(fields: Fields) -> bool:
    """Whether Vary names Accept-Encoding already, or everything."""
    listed = (item.strip().lower() for name, value in fields if name == b"vary" for item in value.split(b","))
    return any(item in (b"accept-encoding", b"*") for item in listed)


def _forbids(cache_control: bytes) -> bool:
    """Whether Cache-Control holds `no-transform` (RFC 9111 5.2.2.6)."""
    return any(item.strip().lower() == b"no-transform" for item in cache_control.split(b","))


def _weak(etag: bytes) -> bytes:
    """The same tag as a weak one (RFC 9110 8.8.1): the coded body is equivalent and not equal."""
    return etag if etag.startswith(b"W/") else b"W/" + etag
