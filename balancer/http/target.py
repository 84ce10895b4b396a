"""Reads the request target: the path that routes are matched against. No I/O.

The target itself is forwarded as it came; matching uses a normalised copy, as nginx does: percent-decoded once, `//`
collapsed, dot segments resolved (RFC 3986 5.2.4).
"""

from __future__ import annotations

import re
from urllib.parse import unquote_to_bytes

from balancer.errors import ErrorKind, Refusal

_PLAIN = re.compile(rb"(?!.*/[/.])[^%?#\\]*", re.DOTALL)  # nothing to decode, collapse or resolve
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_SLASHES = re.compile(rb"//+")
_ENCODED_SLASH = re.compile(rb"%2[fF]")
_KEPT_SLASH = b"\x00"  # a decoded path with a NUL was refused before
_DOT_SEGMENT = re.compile(rb"(?:^|/)\.{1,2}(?:/|$)")
_HOST = re.compile(rb"(?:(\[[0-9A-Fa-f:.]+\])|([0-9A-Za-z_-]+(?:\.[0-9A-Za-z_-]+)*)\.?)(?::[0-9]{0,5})?")


def host_name(host: bytes) -> bytes:
    """The name in a Host field or authority, in lower case, without port and trailing dot (RFC 3986 3.2.2).

    Raises `Refusal(BAD_REQUEST)` unless it is an address or a registered name of letters, digits, `-` and `_`. A name
    that begins with a dot is a registered name, which no host can have: `Refusal(NO_ROUTE)`.
    """
    match = _HOST.fullmatch(host)
    if match is None:
        if host[:1] == b"." and _HOST.fullmatch(host[1:]):
            raise Refusal(ErrorKind.NO_ROUTE, "a Host that no host can have")
        raise Refusal(ErrorKind.BAD_REQUEST, "an invalid Host")
    return (match[1] or match[2]).lower()


def matchable_path(target: bytes) -> bytes:
    """The normalised path of an origin-form target, to which routes are compared.

    Raises `Refusal(BAD_REQUEST)` for a bad escape, a NUL, a fragment, and a path that climbs above the root. Also for a
    path whose dot segments resolve differently with and without decoding `%2f`, because it could bypass a protection.
    A backslash is refused, because some endpoints take it for a slash (WHATWG URL 4.4); an encoded one is refused in a
    path that has dot segments for such an endpoint.
    """
    path = target.partition(b"?")[0]
    if b"#" not in target and _PLAIN.fullmatch(path):
        return path
    if b"#" in target or _BAD_ESCAPE.search(path):
        raise Refusal(ErrorKind.BAD_REQUEST, "a fragment or a bad escape in the target")
    if b"\\" in path:
        raise Refusal(ErrorKind.BAD_REQUEST, "a backslash in the path")
    decoded = unquote_to_bytes(path)
    if b"\x00" in decoded:
        raise Refusal(ErrorKind.BAD_REQUEST, "a NUL in the target")
    if b"\\" in decoded and _DOT_SEGMENT.search(decoded.replace(b"\\", b"/")):
        raise Refusal(ErrorKind.BAD_REQUEST, "an encoded backslash beside dot segments")
    if not _DOT_SEGMENT.search(decoded):
        return _SLASHES.sub(b"/", decoded)
    resolved = _resolve(_SLASHES.sub(b"/", decoded))
    literal = _resolve(b"/".join(_decoded_segment(segment) for segment in path.split(b"/")))
    if _SLASHES.sub(b"/", literal.replace(_KEPT_SLASH, b"/")) != resolved:
        raise Refusal(ErrorKind.BAD_REQUEST, "a path that can be read in two ways")
    return resolved


def _decoded_segment(segment: bytes) -> bytes:
    """One path segment decoded, except for encoded slashes, which become a byte that no path contains."""
    return _KEPT_SLASH.join(unquote_to_bytes(part) for part in _ENCODED_SLASH.split(segment))


def _resolve(path: bytes) -> bytes:
    """RFC 3986 5.2.4, refusing to climb above the root."""
    segments: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            if not segments:
                raise Refusal(ErrorKind.BAD_REQUEST, "a path above the root")
            segments.pop()
        elif segment != b".":
            segments.append(segment)
    if path.endswith((b"/.", b"/..")):
        segments.append(b"")
    return b"/" + b"/".join(segments)
