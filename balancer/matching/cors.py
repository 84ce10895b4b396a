"""Decides which origins may read responses, and edits the heads of responses for them (CORS). No I/O.

Source: https://fetch.spec.whatwg.org/#http-cors-protocol, and the template of ingress-nginx. Expressions are anchored
at both ends, unlike those of ingress-nginx.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from balancer.http.edits import HeadEdit, ResponseEditor
from balancer.http.messages import Fields, RequestHead, ResponseHead, field_value
from balancer.http.origin import Origin
from balancer.model.edits import CorsFields

_ALL = b"*"
_ALLOWED = b"Access-Control-Allow-Origin"
_VARIES = (b"Vary", b"Origin")
_LABEL = re.compile(rb"[A-Za-z0-9-]+")  # what `*` stands for, as in ingress-nginx


class Origins:
    """The origins of one route. Case does not count, as in ingress-nginx."""

    __slots__ = ("_exact", "_takes_all", "_wildcards")

    def __init__(self, origins: Iterable[str]) -> None:
        """`origins` are as in `CorsFields`."""
        names = [name.lower().encode() for name in origins]
        self._takes_all = _ALL in names
        self._exact = frozenset(name for name in names if _ALL not in name)
        # Whatever stands before and behind the star.
        self._wildcards = tuple((parts[0], parts[2]) for name in names if (parts := name.partition(_ALL))[1])

    @property
    def depends_on_request(self) -> bool:
        """Whether responses differ between origins, so that caches must keep them apart."""
        return not self._takes_all

    def allowed(self, request: RequestHead) -> bytes | None:
        """The value of Access-Control-Allow-Origin for `request`, or None if its origin is not allowed."""
        if self._takes_all:
            return _ALL
        origin = field_value(request.fields, b"origin")
        return origin if origin is not None and self._has(origin.lower()) else None

    def _has(self, origin: bytes) -> bool:
        if origin in self._exact:
            return True
        for before, behind in self._wildcards:
            if origin.startswith(before) and origin.endswith(behind):
                label = origin[len(before) : len(origin) - len(behind)]
                if len(before) + len(behind) < len(origin) and _LABEL.fullmatch(label):
                    return True
        return False


class CorsEditor(ResponseEditor):
    """Adds the fields of CORS to every response for an allowed origin, in place of those of the endpoint.

    Other responses keep the endpoint's own fields, as in ingress-nginx.
    """

    __slots__ = ("_fields", "_last", "_names", "_origins")

    def __init__(self, rule: CorsFields) -> None:
        self._origins = Origins(rule.origins)
        self._fields: Fields = tuple((name.encode("ascii"), value.encode("ascii")) for name, value in rule.fields)
        # The newest edit with what it was made of: equal heads with one edit are written once (`http1.fields`).
        self._last: tuple[HeadEdit, tuple[bytes | None, bool], HeadEdit] | None = None
        self._names = frozenset((_ALLOWED.lower(), *(name.lower() for name, _ in self._fields)))

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        allowed = self._origins.allowed(request)
        varies = self._origins.depends_on_request and not varies_already(response.fields)
        last = self._last
        if last is not None and last[0] is given and last[1] == (allowed, varies):
            return last[2]
        edit = self._edit(given, allowed, varies=varies)
        self._last = given, (allowed, varies), edit
        return edit

    def _edit(self, given: HeadEdit, allowed: bytes | None, *, varies: bool) -> HeadEdit:
        added = (*given.added, _VARIES) if varies else given.added
        if allowed is None:
            return HeadEdit(given.removed, added)
        kept = tuple(field for field in added if field[0].lower() not in self._names)
        return HeadEdit(given.removed | self._names, (*kept, (_ALLOWED, allowed), *self._fields))


def varies_already(fields: Fields) -> bool:
    """Whether Vary names Origin already, or everything."""
    listed = (item.strip().lower() for name, value in fields if name == b"vary" for item in value.split(b","))
    return any(item in (b"origin", _ALL) for item in listed)
