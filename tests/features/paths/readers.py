"""One function for each kind of endpoint: the path that it serves for a target, None if it refuses the target.

Each is written from the specification or the source that it names, and shares nothing with zonal.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes, urlsplit

Reader = Callable[[bytes], bytes | None]


def node_url(target: bytes) -> bytes | None:
    """`new URL(request.url, "http://host").pathname` (WHATWG URL 4.4, the states of its basic URL parser)."""
    text = re.sub(rb"[\t\r\n]", b"", target).partition(b"#")[0].partition(b"?")[0]
    if (absolute := re.match(rb"(?i)https?:[/\\]*[^/\\]*", text)) is not None:
        text = text[absolute.end() :] or b"/"
    elif re.match(rb"[/\\]{2}", text):  # relative to a special URL: an authority, however many slashes there are
        text = re.sub(rb"\A[/\\]+[^/\\]*", b"", text) or b"/"
    segments = re.split(rb"[/\\]", text)[1:]
    path: list[bytes] = []
    for at, segment in enumerate(segments):
        plain = re.sub(rb"(?i)%2e", b".", segment)
        is_last = at == len(segments) - 1
        if plain == b"..":
            del path[-1:]
        if plain in {b".", b".."}:
            if is_last:
                path.append(b"")
        else:
            path.append(segment)
    return b"/" + b"/".join(path)


def node_url_decoded(target: bytes) -> bytes | None:
    """The same through `decodeURIComponent`, which throws for bytes that are no UTF-8."""
    path = node_url(target)
    assert path is not None
    decoded = unquote_to_bytes(path)
    try:
        decoded.decode()
    except UnicodeDecodeError:
        return None
    return decoded


def node_decoded_url(target: bytes) -> bytes | None:
    """`new URL(decodeURIComponent(request.url), "http://host").pathname`, a mistake that many make."""
    return node_url(unquote_to_bytes(target).strip(bytes(range(0x21))))


def python_decoded_urlsplit(target: bytes) -> bytes | None:
    """`urlsplit(unquote(target)).path`, the same mistake."""
    return urlsplit(unquote_to_bytes(target).decode("latin-1")).path.encode("latin-1") or b"/"


def express(target: bytes) -> bytes | None:
    """Routers that take `request.url` up to the query, and resolve nothing (npm parseurl)."""
    return target.partition(b"?")[0]


def servlet(target: bytes) -> bytes | None:
    """Servlet 6.0, 3.5.2, up to its list of suspicious sequences, which a container may be told to allow."""
    path = target.partition(b"#")[0].partition(b"?")[0]
    segments = [unquote_to_bytes(segment.partition(b";")[0]) for segment in path.split(b"/")[1:]]
    kept = [segment for segment in segments[:-1] if segment]
    kept += segments[-1:]
    return _without_dots(kept)


def servlet_of_spring(target: bytes) -> bytes | None:
    """The same with encoded slashes and backslashes as slashes (Tomcat: encodedSolidusHandling, ALLOW_BACKSLASH)."""
    path = re.sub(rb";[^/]*", b"", target.partition(b"?")[0])
    decoded = unquote_to_bytes(path).replace(b"\\", b"/")
    return _without_dots(re.sub(rb"/+", b"/", decoded).split(b"/")[1:])


def python_files(target: bytes) -> bytes | None:
    """`http.server.SimpleHTTPRequestHandler.translate_path`."""
    path = unquote_to_bytes(target.partition(b"?")[0].partition(b"#")[0])
    words = [word for word in posixpath.normpath(path).split(b"/") if word not in {b"", b".", b".."}]
    return b"/" + b"/".join(words)


def python_wsgi(target: bytes) -> bytes | None:
    """PATH_INFO of PEP 3333: decoded, and nothing resolved."""
    return unquote_to_bytes(target.partition(b"?")[0])


def python_urlsplit(target: bytes) -> bytes | None:
    """`urllib.parse.urlsplit(target).path`, decoded."""
    return unquote_to_bytes(urlsplit(target.decode("latin-1")).path.encode("latin-1")) or b"/"


def go_mux(target: bytes) -> bytes | None:
    """`net/http.ServeMux`: `url.ParseRequestURI`, then `cleanPath`."""
    return _cleaned(unquote_to_bytes(target.partition(b"?")[0]))


def go_raw_mux(target: bytes) -> bytes | None:
    """Routers on `URL.EscapedPath()` that clean it and decode it afterwards (gorilla/mux with UseEncodedPath)."""
    return unquote_to_bytes(_cleaned(target.partition(b"?")[0]))


def nginx(target: bytes) -> bytes | None:
    """`ngx_http_parse_complex_uri` with `merge_slashes on`: decoded once, then merged, then resolved."""
    decoded = unquote_to_bytes(target.partition(b"#")[0].partition(b"?")[0])
    if b"\0" in decoded:
        return None
    return _without_dots(re.sub(rb"/+", b"/", decoded).split(b"/")[1:])


def behind_a_decoding_proxy(target: bytes) -> bytes | None:
    """nginx with `proxy_pass http://endpoint/`, which sends the decoded path on, before another nginx."""
    path = nginx(target)
    return nginx(path.replace(b"?", b"%3f").replace(b"#", b"%23")) if path is not None else None


def windows(target: bytes) -> bytes | None:
    """A decoded path on a system with both slashes (IIS, static files of .NET)."""
    decoded = unquote_to_bytes(target.partition(b"?")[0]).replace(b"\\", b"/")
    return _without_dots(re.sub(rb"/+", b"/", decoded).split(b"/")[1:])


def lax_utf8(target: bytes) -> bytes | None:
    """A decoder that takes overlong UTF-8 for the characters that it stands for (CVE-2000-0884)."""
    decoded = unquote_to_bytes(target.partition(b"?")[0])
    decoded = re.sub(rb"\xc0([\x80-\xbf])", lambda found: bytes((found[1][0] & 0x3F,)), decoded)
    decoded = re.sub(rb"\xe0\x80([\x80-\xbf])", lambda found: bytes((found[1][0] & 0x3F,)), decoded)
    return windows(decoded.replace(b"%", b"%25").replace(b"?", b"%3f"))


def careless_utf8(target: bytes) -> bytes | None:
    """A decoder of UTF-8 that checks nothing: it counts by the first byte, and takes six bits of each further one."""
    rest = list(unquote_to_bytes(target.partition(b"?")[0]))
    found = bytearray()
    while rest:
        first = rest.pop(0)
        size = next(
            (size for size, mark in ((5, 0xFC), (4, 0xF8), (3, 0xF0), (2, 0xE0), (1, 0xC0)) if first >= mark), 0
        )
        if size == 0 or len(rest) < size:
            found.append(first)
            continue
        value = first & (0x3F >> size)
        for _ in range(size):
            value = value << 6 | rest.pop(0) & 0x3F
        found += (
            value.to_bytes(4, "big")[-1:] if value < 0x100 else chr(min(value, 0x10FFFF)).encode("utf-8", "replace")
        )
    return windows(bytes(found).replace(b"%", b"%25").replace(b"?", b"%3f"))


def _cleaned(path: bytes) -> bytes:
    """Go `path.Clean` of a rooted path, which keeps the final slash in `cleanPath`."""
    clean = posixpath.normpath(b"/" + path.lstrip(b"/"))
    return clean + b"/" if path.endswith(b"/") and clean != b"/" else clean


def _without_dots(segments: list[bytes]) -> bytes:
    """RFC 3986 5.2.4 over segments, where nothing is above the root."""
    kept: list[bytes] = []
    for segment in segments:
        if segment == b"..":
            del kept[-1:]
        elif segment != b".":
            kept.append(segment)
    return b"/" + b"/".join(kept)


READERS: tuple[Reader, ...] = (
    node_url,
    node_url_decoded,
    node_decoded_url,
    python_decoded_urlsplit,
    express,
    servlet,
    servlet_of_spring,
    python_files,
    python_wsgi,
    python_urlsplit,
    go_mux,
    go_raw_mux,
    nginx,
    behind_a_decoding_proxy,
    windows,
    lax_utf8,
    careless_utf8,
)
