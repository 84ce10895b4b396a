"""Reads the request line of a head, and the fields that decide framing, routing or the connection. No I/O."""

from __future__ import annotations

import re

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.http.rules import expects_continue, members, path_of, target_onward
from balancer.http.target import host_name, matchable_path
from balancer.http1.fieldlines import FieldLines
from balancer.http1.framing import request_framing

_ABSOLUTE = re.compile(rb"(?i:https?)://([^/?#]*)(.*)", re.DOTALL)
# A request line without escape or fragment, and without a backslash in its path. Only `//` and `/.` in its path need
# another check, by `find`: for `in`, CPython first makes and drops an exception, because what is searched for is no
# integer.
PLAIN_LINE = re.compile(rb"(GET|HEAD|POST|PUT|DELETE|PATCH) ((/[!$&->@-\[\]-~]*)(?:\?[!\x22$-~]*)?) HTTP/1\.1")
_WELL_KNOWN_OPTIONS = {b"keep-alive": (b"keep-alive",), b"close": (b"close",)}


class HeadDraft:
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


def repeat_request_line(known: RequestHead, draft: HeadDraft) -> None:
    """The request line is that of an ordinary request, so nothing of it depends on the fields."""
    draft.method = known.method
    draft.raw_target = known.raw_target
    draft.target = known.target
    draft.path = known.path
    draft.minor = 1


def read_request_line(line: bytes, draft: HeadDraft) -> None:
    """Reads method, target and version; the path of a plain line as well, else that stays empty. Raises `Refusal`."""
    plain = PLAIN_LINE.fullmatch(line)
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


def is_ordinary(draft: HeadDraft) -> bool:
    """Whether the fields mean the same with another plain request line."""
    return draft.minor == 1 and draft.keep_alive and draft.raw_target[:1] == b"/" and not draft.upgrade


def apply_special(draft: HeadDraft, found: FieldLines, known: RequestHead | None) -> None:
    """Sets what the special fields decide, and the path if it is still empty. `known` is the last request.

    Raises `Refusal` for fields that contradict each other.
    """
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


def _apply_rare(draft: HeadDraft, found: FieldLines) -> None:
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


def _apply_host(draft: HeadDraft, host: bytes | None, known: RequestHead | None) -> None:
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


def _apply_target(draft: HeadDraft) -> None:
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
