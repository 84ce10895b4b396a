"""Reads the fields of a request into a `RequestHead` (RFC 9113 8.3.1). No I/O.

Target, host, method, Expect and Max-Forwards are judged by the code that HTTP/1 uses. A client sends the same fields
with another path again and again: the last ones are remembered, and recognised by comparison.
"""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal
from balancer.http.looping import LOOP_FIELD, PASSES_MOST, passes_of
from balancer.http.messages import HTTP_2_0, Field, Fields, Repeated, RequestHead
from balancer.http.rules import (
    check_method,
    expects_continue,
    forwarded_once_more,
    path_of,
    target_onward,
)
from balancer.http.target import host_name
from balancer.http2.fields import NAMES, MalformedMessage, check_fields, length_of

REMEMBERED_BYTES_MAX = 4096
"""A head with more in its fields is not remembered: connections are many, and most of them idle."""

_PATH = b":path"
_PSEUDO = frozenset((b":method", b":scheme", b":authority", _PATH))
_SCHEMES = (b"https", b"http")
# Fields that decide framing or routing; the rest is passed on field by field.
_SPECIAL = frozenset((b"host", b"content-length", b"expect", b"cookie", LOOP_FIELD))
# A target without escape or fragment, and without a backslash in its path, that needs no second look but for `//` and
# `/.` in the path.
_PLAIN_TARGET = re.compile(rb"(/[!$&->@-\[\]-~]*)(?:\?[!\x22$-~]*)?")
_BAD = ErrorKind.BAD_REQUEST


class RequestReader:
    """Reads the requests of one client connection."""

    __slots__ = (
        "_field_bytes",
        "_fields_max",
        "_known",
        "_known_ends",
        "_known_fields",
        "_list_bytes",
        "_path_at",
        "_remembered_most",
    )

    def __init__(self, *, field_bytes: int, fields_max: int, list_bytes: int) -> None:
        """The most bytes of one field, the most fields, and the most bytes of all, with 32 for each (RFC 9113 6.5.2).

        The target is a field by its size. Pseudo-fields and the pieces of a cookie do not count.
        """
        self._field_bytes = field_bytes
        self._fields_max = fields_max
        self._list_bytes = list_bytes
        self._remembered_most = min(REMEMBERED_BYTES_MAX, list_bytes - field_bytes)  # every target fits beside so much
        self._known: RequestHead | None = None
        self._known_fields: Fields = ()
        self._known_ends = False
        self._path_at = 0

    def read(self, fields: Fields, ends: bool) -> RequestHead:
        """The request in `fields`. `ends`: the stream has no body.

        Raises `Refusal` for a request that is invalid, ambiguous or over a limit; `MalformedMessage` is one.
        """
        known, known_fields = self._known, self._known_fields
        if known is None or ends is not self._known_ends:
            return self._read(fields, ends)
        if fields == known_fields:
            return known
        at = self._path_at
        if (
            len(fields) == len(known_fields)
            and fields[at][0] == _PATH
            and fields[:at] == known_fields[:at]
            and fields[at + 1 :] == known_fields[at + 1 :]
        ):
            target = fields[at][1]
            plain = _PLAIN_TARGET.fullmatch(target)
            if plain is not None and len(target) <= self._field_bytes:
                path = plain[1]
                if path.find(b"//") < 0 and path.find(b"/.") < 0:  # for `in`, CPython makes and drops an exception
                    return _like(known, path, target)
        return self._read(fields, ends)

    def _read(self, fields: Fields, ends: bool) -> RequestHead:
        fields = tuple([_sharing(field) for field in fields])
        pseudo, rest = _divide(fields)
        method, raw_target = pseudo[b":method"], pseudo[_PATH]
        list_bytes = self._check_limits(fields, rest, raw_target)
        special, others = _special(rest)
        if LOOP_FIELD in special and sum(map(passes_of, special[LOOP_FIELD])) >= PASSES_MOST:
            raise Refusal(ErrorKind.LOOP, "a request that comes back again and again")
        target = target_onward(method, raw_target)
        check_method(method)
        authority = _authority(pseudo, special.get(b"host", []))
        path = path_of(method, target)
        if path is None:
            raise Refusal(_BAD, "a path in no known form")
        if method == b"OPTIONS":
            others = [forwarded_once_more(field) for field in others]
        passed = tuple(others)
        expectations = special.get(b"expect")
        request = RequestHead(
            method,
            authority,
            host_name(authority),
            path,
            target,
            raw_target,
            passed,
            _body_bytes(special.get(b"content-length"), ends),
            expects_continue(expectations) if expectations else False,
            b"",
            HTTP_2_0,
            list_bytes,
            Repeated(passed),
        )
        if method != b"OPTIONS" and list_bytes - len(raw_target) <= self._remembered_most:
            self._path_at = next(at for at, field in enumerate(fields) if field[0] == _PATH)
            self._known = request
            self._known_ends = ends
            self._known_fields = fields
        return request

    def _check_limits(self, fields: Fields, rest: Fields, target: bytes) -> int:
        """The bytes of all fields, as HTTP/2 counts them."""
        if len(target) > self._field_bytes:
            raise Refusal(ErrorKind.TARGET_TOO_LONG, "a path over its limit")
        if len(rest) > self._fields_max and sum(name != b"cookie" for name, _ in rest) > self._fields_max:
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "too many fields")
        list_bytes = sum(len(name) + len(value) for name, value in fields) + 32 * len(fields)
        limit = self._field_bytes
        if list_bytes > self._list_bytes or (
            list_bytes > limit and any(len(name) + len(value) + 2 > limit for name, value in rest)
        ):
            raise Refusal(ErrorKind.HEAD_TOO_LARGE, "fields over their limit")
        return list_bytes


def _sharing(field: Field) -> Field:
    """The field with a name that is shared. One of another class may say that it must never be indexed."""
    name = NAMES.get(field[0])
    return field if name is None or name is field[0] or type(field) is not tuple else (name, field[1])


def _like(known: RequestHead, path: bytes, target: bytes) -> RequestHead:
    """The request whose fields are those of `known`, but for its target."""
    return RequestHead(  # by position, in the order of its fields: names would cost more
        known.method,
        known.authority,
        known.host_name,
        path,
        target,
        target,
        known.fields,
        known.body_bytes,
        known.expects_continue,
        b"",
        HTTP_2_0,
        known.head_bytes - len(known.raw_target) + len(target),
        known.repeated,
    )


def check_request(fields: Fields, ends: bool) -> None:
    """Raises `MalformedMessage` for what RFC 9113 8.1.1 calls malformed; another `Refusal` is for an answer."""
    _, rest = _divide(fields)
    _body_bytes([value for name, value in rest if name == b"content-length"] or None, ends)


def _divide(fields: Fields) -> tuple[dict[bytes, bytes], Fields]:
    """The pseudo-fields, of which none is missing but perhaps :authority, and the others."""
    pseudo: dict[bytes, bytes] = {}
    count = 0
    for name, value in fields:
        if name[:1] != b":":
            break
        if name not in _PSEUDO or name in pseudo:
            raise MalformedMessage(_BAD, "an unknown or repeated pseudo-field")
        pseudo[name] = value
        count += 1
    rest = fields[count:]
    check_fields(rest, _BAD)
    if pseudo.get(b":method") == b"CONNECT":
        check_method(b"CONNECT")
    if not pseudo.get(b":method") or not pseudo.get(_PATH) or pseudo.get(b":scheme") not in _SCHEMES:
        raise MalformedMessage(_BAD, "a pseudo-field that is missing, or an unknown scheme")
    return pseudo, rest


def _special(rest: Fields) -> tuple[dict[bytes, list[bytes]], list[Field]]:
    """The values of special fields by name, and the fields to pass on, with one cookie (RFC 9113 8.2.3)."""
    special: dict[bytes, list[bytes]] = {}
    others: list[Field] = []
    cookie_at = 0
    for field in rest:
        name = field[0]
        if name not in _SPECIAL:
            others.append(field)
            continue
        if name == b"cookie" and name not in special:
            cookie_at = len(others)
            others.append(field)
        elif name == LOOP_FIELD:
            others.append(field)
        special.setdefault(name, []).append(field[1])
    crumbs = special.get(b"cookie", ())
    if len(crumbs) > 1:
        others[cookie_at] = (b"cookie", b"; ".join(filter(None, crumbs)))  # an empty one would leave a space at an end
    return special, others


def _authority(pseudo: dict[bytes, bytes], hosts: list[bytes]) -> bytes:
    """:authority, or Host in its place; two of them must agree (RFC 9113 8.3.1)."""
    authority = pseudo.get(b":authority")
    if len(hosts) > 1 or (authority is not None and hosts and hosts[0].lower() != authority.lower()):
        raise Refusal(_BAD, "more than one host")
    if authority is None and hosts:
        authority = hosts[0]
    if not authority:
        raise Refusal(_BAD, "no host")
    return authority


def _body_bytes(lengths: list[bytes] | None, ends: bool) -> int | None:
    """The bytes of the body, None if only its end will tell."""
    if lengths is None:
        return 0 if ends else None
    length = length_of(lengths, _BAD)
    if ends and length:
        raise MalformedMessage(_BAD, "a length without a body")
    return length
