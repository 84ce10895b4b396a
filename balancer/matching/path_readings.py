"""Says in which ways endpoints may read the path of a target, where it can be read in several. No I/O.

The proxy matches one reading and forwards the target as it came. An endpoint may know another syntax: it may strip path
parameters (Servlet 6.0, 3.5.2), take a backslash for a slash (WHATWG URL 4.4), decode twice, decode before it parses a
URL, or never resolve dot segments. So a path that is matched as an open one could be served as a protected one.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final
from urllib.parse import unquote_to_bytes

from balancer.errors import ErrorKind, Refusal
from balancer.http.target import matchable_path

READINGS_MOST: Final = 16
"""An honest path has at most four readings, and few have more than two."""
READINGS_FEW: Final = 4
"""Where each of them may be searched for milliseconds."""

_BYTES_MOST = 32 * 1024  # of all readings of a path, because each of them costs time

_PARAMETERS = re.compile(rb";[^/]*")
_ENCODED_DOT = re.compile(rb"%2[eE]")
_SLASHES = re.compile(rb"//+")
# What parsers of URLs drop, and what they drop at the end (WHATWG URL 4.4, `urllib.parse`).
_NOT_IN_URLS, _NOT_AT_THEIR_END = b"\t\r\n", bytes(range(0x21))
# UTF-8 with more bytes than a character of ASCII needs, in two to six bytes. Old decoders accept it (Unicode 15, 3.9:
# they must not), and some of them look at the low six bits of each byte only (CVE-2000-0884: %c0%2f, %c1%1c).
_LOW, _HIGH = rb"[\x00\x40\x80\xc0]", rb"[\x01\x41\x81\xc1]"
_FIRSTS = ((rb"\xe0", 0), (rb"\xf0", 1), (rb"\xf8", 2), (rb"\xfc", 3))
_OVERLONG = re.compile(
    b"(?:%b)(.)|(?:%b)(.)"
    % (
        b"|".join((rb"\xc0", *(first + _LOW * (more + 1) for first, more in _FIRSTS))),
        b"|".join((rb"\xc1", *(first + _LOW * more + _HIGH for first, more in _FIRSTS))),
    ),
    re.DOTALL,
)


def readings(target: bytes, *, strips_parameters: bool, most: int = READINGS_MOST) -> frozenset[bytes]:
    """Every path that an endpoint may find in an origin-form target: as it stands, and after steps that readers take.

    `strips_parameters`: some endpoint may strip path parameters. Raises `Refusal(BAD_REQUEST)` for a path with more
    than `most` readings, which no honest one has.
    """
    found = {target.partition(b"?")[0]}
    for step in _STEPS if strips_parameters else _STEPS_WITH_PARAMETERS:
        found |= {step(path) for path in found}
        if len(found) > most or sum(map(len, found)) > _BYTES_MOST:
            raise Refusal(ErrorKind.BAD_REQUEST, "a path that can be read in too many ways")
    return frozenset(found)


def path_without_parameters(target: bytes) -> bytes:
    """The normalised path of an origin-form target whose segments have lost their parameters.

    Parameters go before anything is decoded, so `%3b` begins none (Servlet 6.0, 3.5.2). Raises `Refusal(BAD_REQUEST)`
    as `matchable_path` does.
    """
    return matchable_path(_without_parameters(target.partition(b"?")[0]))


def _without_authority(path: bytes) -> bytes:
    """The path of a reader that takes `//name/` for the beginning of a URL without its scheme (RFC 3986 4.2)."""
    return b"/" + path.lstrip(b"/").partition(b"/")[2] if path.startswith(b"//") else path


def _without_parameters(path: bytes) -> bytes:
    return _PARAMETERS.sub(b"", path) if b";" in path else path


def _with_dots(path: bytes) -> bytes:
    """Encoded dots are dots, and nothing else is decoded (WHATWG URL 4.4)."""
    return _ENCODED_DOT.sub(b".", path) if b"%" in path else path


def _decoded(path: bytes) -> bytes:
    return unquote_to_bytes(path) if b"%" in path else path


def _shortened(path: bytes) -> bytes:
    """Overlong UTF-8 as the character that it stands for."""
    return path if path.isascii() else _OVERLONG.sub(_meant, path)


def _meant(match: re.Match[bytes]) -> bytes:
    low, high = match.groups()
    return bytes((low[0] & 0x3F,)) if low is not None else bytes((high[0] & 0x3F | 0x40,))


def _with_slashes(path: bytes) -> bytes:
    return path.replace(b"\\", b"/")


def _parsed(path: bytes) -> bytes:
    """The path of a reader that takes what it has decoded for a URL: with a query, a fragment and an authority."""
    plain = path.translate(None, _NOT_IN_URLS).partition(b"#")[0].partition(b"?")[0]
    return _without_authority(plain.rstrip(_NOT_AT_THEIR_END))


def _collapsed(path: bytes) -> bytes:
    return _SLASHES.sub(b"/", path) if b"//" in path else path


def _resolved(path: bytes) -> bytes:
    """RFC 3986 5.2.4, where nothing is above the root."""
    if b"/." not in path:
        return path
    segments: list[bytes] = []
    for segment in path.split(b"/")[1:]:
        if segment == b"..":
            del segments[-1:]
        elif segment != b".":
            segments.append(segment)
    if path.endswith((b"/.", b"/..")):
        segments.append(b"")
    return b"/" + b"/".join(segments)


_DECODING = (_decoded, _shortened, _with_slashes, _parsed, _collapsed, _resolved)
_STEPS_WITH_PARAMETERS: tuple[Callable[[bytes], bytes], ...] = (
    _without_authority,
    _with_dots,
    _resolved,
    *_DECODING,
    *_DECODING,  # by the endpoint, of what a proxy of its own has decoded before
)
# A proxy of the endpoint may decode before the endpoint strips, so `%3b` may begin parameters, too.
_STEPS = (
    _without_authority,
    _without_parameters,
    _with_dots,
    _resolved,
    *_DECODING,
    _without_parameters,
    _resolved,
    *_DECODING,
    _without_parameters,
    _resolved,
)
