"""Prepares at the swap what the proxy changes about the heads of responses. No I/O."""

from __future__ import annotations

import msgspec

from balancer.http.messages import Fields, RequestHead, ResponseHead
from balancer.http.origin import Origin
from balancer.model.settings import ProxySettings

_HSTS = b"Strict-Transport-Security"
_SERVER = b"server"
_OURS = (b"Server", b"zonal")  # without a version


class HeadEdit(msgspec.Struct, frozen=True, eq=False, gc=False):
    """A change that is the same for many heads: removed field names, in lower case, and added fields.

    An edit is compared by identity, so results made with it can be cached with it.
    """

    removed: frozenset[bytes] = frozenset()
    added: Fields = ()


class ResponseEditor:
    """Changes the heads of responses beyond the edits that every response gets. It keeps nothing of one response.

    An editor of a route is made at the swap; a gate may add one for a single request.
    """

    __slots__ = ()

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        """`given`, the edit of `response` so far, with the changes of this editor.

        An answer of the proxy itself has no fields in `response`: all of them are in `given.added`.
        """
        raise NotImplementedError


class FieldSetter(ResponseEditor):
    """Adds fields. With `replaces` on, they take the place of earlier fields of the same names.

    Earlier fields whose names are in `removed`, in lower case, are taken away.
    """

    __slots__ = ("_fields", "_last", "_names")

    def __init__(self, fields: Fields, *, replaces: bool = True, removed: frozenset[bytes] = frozenset()) -> None:
        self._fields = fields
        # The newest edit with what it was made of: equal heads with one edit are written once (`http1.fields`).
        self._last: tuple[HeadEdit, HeadEdit] | None = None
        self._names = removed.union(name.lower() for name, _ in fields) if replaces else removed

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        last = self._last
        if last is not None and last[0] is given:
            return last[1]
        names = self._names
        kept = tuple(field for field in given.added if field[0].lower() not in names) if names else given.added
        edit = HeadEdit(given.removed | names, kept + self._fields)
        self._last = given, edit
        return edit


class SecureFieldSetter(FieldSetter):
    """Adds fields to responses over https alone."""

    __slots__ = ()

    def edit(self, request: RequestHead, origin: Origin, response: ResponseHead, given: HeadEdit) -> HeadEdit:
        return super().edit(request, origin, response, given) if origin.https else given


class ResponseEdits(msgspec.Struct, frozen=True, eq=False, gc=False):
    """The edits of response heads on plain connections and on TLS connections."""

    plain: HeadEdit = HeadEdit()
    secure: HeadEdit = HeadEdit()


def response_edits(settings: ProxySettings) -> ResponseEdits:
    """The edits under `settings`.

    An added field replaces the endpoint's fields of the same name, as in ingress-nginx. So does
    Strict-Transport-Security, which the proxy must not add on a plain connection (RFC 6797 7.2).
    """
    added = tuple((name.encode("ascii"), value.encode("latin-1")) for name, value in settings.response_fields)
    removed = frozenset(name.lower() for name, _ in added)
    if not settings.allow_backend_server_header:
        if settings.names_server and _SERVER not in removed:
            added = (*added, _OURS)
        removed |= {_SERVER}
    removed |= frozenset(name.encode("ascii") for name in settings.hidden_fields)
    plain = HeadEdit(removed, added)
    if settings.hsts is None:
        return ResponseEdits(plain, plain)
    secure = HeadEdit(removed | {_HSTS.lower()}, ((_HSTS, settings.hsts.encode("ascii")), *added))
    return ResponseEdits(plain, secure)
