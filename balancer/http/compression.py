"""Compresses response bodies with gzip or brotli if the client accepts it and the response allows it. No I/O.

Chooses responses as the modules of nginx do with the template of ingress-nginx, but more strictly: a response that must
not be transformed is not (RFC 9110 7.7), and a body with a digest field stays as it is.
"""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from balancer.http.edits import HeadEdit
from balancer.http.filters import BodyFilter, BrotliFilter, GzipFilter
from balancer.http.messages import HTTP_1_0, Field, Fields, RequestHead, ResponseHead, field_value
from balancer.model.settings import Compression

_STATUSES = frozenset((200, 403, 404))  # nginx: ngx_http_gzip_header_filter
_ALWAYS = b"text/html"  # nginx: gzip_types has it whatever is listed
_ANY_TYPE = b"*"
_GZIP: Field = (b"Content-Encoding", b"gzip")
_BROTLI: Field = (b"Content-Encoding", b"br")
_VARIES: Field = (b"Vary", b"Accept-Encoding")
_CODINGS = {b"gzip": b"gzip", b"x-gzip": b"gzip", b"br": b"br"}  # RFC 9110 8.4.1.3: the first two mean the same
# A range of the coded body is not a range of the endpoint's.
_RANGES = frozenset((b"accept-ranges",))
_TAGGED = _RANGES | {b"etag"}
# Each would be wrong for the coded body, or forbids to code it.
_AS_IT_IS = frozenset(
    (b"content-encoding", b"content-range", b"content-digest", b"repr-digest", b"digest", b"content-md5")
)


class Coded(NamedTuple):
    """What compression changes about one response. `body` None: only the head is changed, the body stays as it is.

    Names in `removed` are in lower case.
    """

    body: BodyFilter | None
    removed: frozenset[bytes]
    added: Fields


class Begun(NamedTuple):
    """A response that begins, and the filter that the rest of its body passes; None: it stays as it is."""

    response: ResponseHead
    edit: HeadEdit
    data: bytes
    body: BodyFilter | None


class _Rule:
    """Which responses one coding is for."""

    __slots__ = ("_min_bytes", "_takes_all", "_types", "level")

    def __init__(self, settings: Compression) -> None:
        self.level = settings.level
        self._min_bytes = max(settings.min_bytes, 1)
        self._types = frozenset((_ALWAYS, *(name.lower().encode("ascii") for name in settings.types)))
        self._takes_all = _ANY_TYPE in self._types

    def takes(self, media_type: bytes, body_bytes: int | None) -> bool:
        """Whether a body of this type and length is coded; the length is None where it is not known."""
        return (body_bytes is None or body_bytes >= self._min_bytes) and (self._takes_all or media_type in self._types)


class Compressor:
    """Decides which responses are compressed."""

    __slots__ = ("_brotli", "_gzip")

    def __init__(self, gzip: Compression | None, brotli: Compression | None = None) -> None:
        """None: the coding is not used."""
        self._gzip = None if gzip is None else _Rule(gzip)
        self._brotli = None if brotli is None else _Rule(brotli)

    def code(self, request: RequestHead, response: ResponseHead) -> Coded | None:
        """How a response to `request` is compressed; None leaves it alone.

        A response that would be compressed for another client gets Vary, so that no cache serves one client's form to
        another. Of two codings that the client likes equally, it gets brotli.
        """
        if response.status not in _STATUSES or request.method == b"HEAD" or _must_stay(response.fields):
            return None
        gzip, brotli = self._usable(response)
        if gzip is None and brotli is None:
            return None
        vary = () if _varies(response.fields) else (_VARIES,)
        liked = _NOTHING if request.protocol == HTTP_1_0 else accepted_codings(request.fields)
        flushes = response.body_bytes is None
        if brotli is not None and liked.brotli and (gzip is None or liked.brotli >= liked.gzip):
            return _coded(response, _BROTLI, BrotliFilter(brotli.level, flushes=flushes), vary)
        if gzip is not None and liked.gzip:
            return _coded(response, _GZIP, GzipFilter(gzip.level, flushes=flushes), vary)
        return Coded(None, frozenset(), vary) if vary else None

    def begin(
        self, request: RequestHead, response: ResponseHead, edit: HeadEdit, data: bytes, *, is_whole: bool
    ) -> Begun:
        """The head, its edit and the beginning of the body, compressed if the response may be.

        `is_whole`: the body is no longer than `data`.
        """
        coded = self.code(request, response)
        if coded is None:
            return Begun(response, edit, data, None)
        edit = HeadEdit(edit.removed | coded.removed, edit.added + coded.added)
        if (body := coded.body) is None:
            return Begun(response, edit, data, None)
        data = body.feed(data)
        if is_whole:
            data += body.end()
        return Begun(msgspec.structs.replace(response, body_bytes=None), edit, data, body)

    def _usable(self, response: ResponseHead) -> tuple[_Rule | None, _Rule | None]:
        """The rules for gzip and brotli that take `response`."""
        kind = field_value(response.fields, b"content-type")
        if kind is None:
            return None, None
        media_type, length = kind.partition(b";")[0].strip().lower(), response.body_bytes
        gzip = self._gzip if self._gzip is not None and self._gzip.takes(media_type, length) else None
        brotli = self._brotli if self._brotli is not None and self._brotli.takes(media_type, length) else None
        return gzip, brotli


def _coded(response: ResponseHead, coding: Field, body: BodyFilter, vary: Fields) -> Coded:
    etag = field_value(response.fields, b"etag")
    if etag is None:
        return Coded(body, _RANGES, (coding, *vary))
    return Coded(body, _TAGGED, (coding, (b"ETag", _weak(etag)), *vary))


def _must_stay(fields: Fields) -> bool:
    return any(name in _AS_IT_IS or (name == b"cache-control" and _forbids(value)) for name, value in fields)


class Liking(NamedTuple):
    """The weights that a client gives to codings, from 0 (refused) to 1."""

    gzip: float = 0.0
    brotli: float = 0.0


_NOTHING = Liking()


def accepted_codings(fields: Fields) -> Liking:
    """What Accept-Encoding says of the codings (RFC 9110 12.5.3).

    A weight that cannot be read counts as 0. Without the field nothing is compressed: some old clients expect that.
    """
    weights: dict[bytes, float] = {}
    others = 0.0
    for name, value in fields:
        if name != b"accept-encoding":
            continue
        for item in value.split(b","):
            coding, _, parameter = item.partition(b";")
            known = _CODINGS.get(coding.strip().lower(), b"")
            if known:
                weights[known] = max(weights.get(known, 0.0), _weight(parameter))
            elif coding.strip() == b"*":
                others = _weight(parameter)
    return Liking(weights.get(b"gzip", others), weights.get(b"br", others))


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
    """The tag as a weak one (RFC 9110 8.8.1): the coded body is equivalent and not equal."""
    return etag if etag.startswith(b"W/") else b"W/" + etag
