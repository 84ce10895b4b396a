"""Writes the fields of a request to an endpoint. No I/O.

What passes is what passes in HTTP/1: `balancer.http.passing` says so.
"""

from __future__ import annotations

from balancer.http.looping import LOOP_FIELD, LOOP_FIELDS, MARK
from balancer.http.memos import Memo, recalled
from balancer.http.messages import Fields, RequestHead
from balancer.http.origin import Origin
from balancer.http.passing import NOT_FOR_ENDPOINTS, Passing, name_onward, nominated
from balancer.http.streams import Outgoing

_BODILESS = frozenset((b"GET", b"HEAD", b"DELETE", b"OPTIONS"))
_WITH_LENGTH = (b"POST", b"PUT", b"PATCH")
_NOBODY: frozenset[bytes] = frozenset()
_TE = (b"te", b"trailers")


class FieldsOnward(Memo):
    """The client's fields as an endpoint gets them under `passing`; None before the first."""

    __slots__ = ("fields", "passing")

    def __init__(self) -> None:
        self.beside = None
        self.fields: Fields = ()
        self.passing: Passing | None = None


class OriginFields(Memo):
    """The fields about the client, empty until they are made."""

    __slots__ = ("fields",)

    def __init__(self) -> None:
        self.beside = None
        self.fields: Fields = ()


def endpoint_request_fields(outgoing: Outgoing, secure: bool) -> Fields:
    """The fields that go to the endpoint, with their pseudo-fields. `secure`: the endpoint is spoken to in TLS.

    They say what the head of an HTTP/1 request to the same endpoint would say. `te: trailers` passes, because gRPC
    demands it. An upgrade is not offered.
    """
    request, origin = outgoing.request, outgoing.origin
    repeated = request.repeated
    held = repeated.memo
    known = held if isinstance(held, FieldsOnward) else recalled(repeated, FieldsOnward)
    fields_onward = known.fields
    if outgoing.removed or origin.host:  # these are of this one request, and `known` serves others too
        fields_onward = _fields_onward(request, outgoing.passing, origin.host, outgoing.removed)
    elif known.passing is not outgoing.passing:
        known.passing = outgoing.passing
        fields_onward = _fields_onward(request, outgoing.passing, b"", _NOBODY)
        known.fields = fields_onward
    told = origin.memo
    about = told if isinstance(told, OriginFields) else _origin_fields(origin)
    method = request.method
    fields = (
        (b":method", method),
        (b":scheme", b"https" if secure else b"http"),
        (b":authority", outgoing.host or origin.host or request.authority),
        (b":path", request.target),
        *about.fields,
        *fields_onward,
    )
    if outgoing.request_id is not None and repeated.request_id is None:
        fields += ((b"x-request-id", outgoing.request_id),)
    if outgoing.replaced or outgoing.added:
        fields = _with_added(fields, outgoing)
    if request.body_bytes != 0 or method not in _BODILESS:
        length = request.body_bytes
        if length is not None and (length > 0 or method in _WITH_LENGTH):
            fields += ((b"content-length", b"%d" % length),)
    if request.expects_continue:
        fields += ((b"expect", b"100-continue"),)
    return fields


def _fields_onward(request: RequestHead, passing: Passing, host: bytes, removed: frozenset[bytes]) -> Fields:
    """The client's fields without those named in `removed`. `host` is the Host that the first proxy got, if any."""
    options = request.repeated.connection_options
    ended = nominated(options) if options else NOT_FOR_ENDPOINTS
    fields = [(b"x-forwarded-host", host or request.authority)]
    for field in request.fields:
        name = field[0]
        if name in removed and name != LOOP_FIELD:
            continue
        if name == b"te":
            if field[1].lower() == b"trailers":
                fields.append(_TE)
        elif name not in ended and (onward := name_onward(name, passing)):
            fields.append(field if onward is name else (onward.lower(), field[1]))  # as it is: perhaps never indexed
    return tuple(fields)


def _origin_fields(origin: Origin) -> OriginFields:
    """The fields about the client, which are the same for every request with one origin and made once."""
    known = recalled(origin, OriginFields)
    if known.fields:
        return known
    address, scheme = origin.peer.encode("ascii", "replace"), origin.scheme
    known.fields = (
        (b"x-real-ip", address),
        (b"x-forwarded-for", origin.forwarded_for or address),
        (b"x-forwarded-port", b"%d" % origin.shown_port),
        (b"x-forwarded-proto", scheme),
        (b"x-forwarded-scheme", scheme),
        (b"x-scheme", scheme),
        (LOOP_FIELD, MARK),
    )
    return known


def _with_added(fields: Fields, outgoing: Outgoing) -> Fields:
    """`fields` without those replaced, and with those of this one request. A Host among them is the authority."""
    replaced = outgoing.replaced
    added = tuple((name.lower(), value) for name, value in outgoing.added)
    if b"host" in replaced:
        hosts = [value for name, value in added if name == b"host"]
        fields = tuple((name, hosts[0] if name == b":authority" and hosts else value) for name, value in fields)
    replaced -= LOOP_FIELDS
    kept = tuple(field for field in fields if field[0] not in replaced) if replaced else fields
    return kept + tuple(field for field in added if field[0] != b"host")
