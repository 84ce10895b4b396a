"""Says which fields pass from one side to the other, in every HTTP version. No I/O.

Hop-by-hop fields end at a proxy (RFC 9110 7.6.1). Nothing that a client says about itself is believed: its
X-Forwarded-* and Forwarded fields are replaced or removed, so an endpoint may trust what it reads.
"""

from __future__ import annotations

NOT_FOR_ENDPOINTS = frozenset(
    (
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"http2-settings",
        b"proxy",  # httpoxy, CVE-2016-5385
        b"forwarded",
        b"x-real-ip",
        b"x-forwarded-proto",
        b"x-forwarded-port",
        b"x-forwarded-scheme",
        b"x-scheme",
        b"x-original-forwarded-for",
        b"x-original-forwarded-host",
        b"ssl-client-verify",
        b"ssl-client-cert",
        b"ssl-client-subject-dn",
        b"ssl-client-issuer-dn",
        b"x-ssl-client-verify",
        b"x-ssl-client-cert",
        b"x-forwarded-client-cert",
        b"x-original-url",  # some frameworks route by these two instead of by the target
        b"x-rewrite-url",
    )
)
"""Never passed on to an endpoint: hop-by-hop, or said by us instead. Names in lower case."""

NOT_FOR_CLIENTS = frozenset((b"keep-alive", b"proxy-connection"))
"""Never passed on to a client."""

HSTS = b"strict-transport-security"

NOT_IN_INTERIM = NOT_FOR_CLIENTS | {HSTS, b"server"}
"""A response that is not the final one says nothing about the site or its software."""

PROTECTED = frozenset(
    (b"host", b"content-length", b"transfer-encoding", b"x-request-id", b"authorization", b"cookie", b"accept")
)
"""End-to-end fields that a Connection field must not be able to remove (CVE-2021-32813, CVE-2024-45410)."""

_RENAMED = {
    b"x-forwarded-for": b"X-Original-Forwarded-For",
    b"x-forwarded-host": b"X-Original-Forwarded-Host",
}
# With `_` for `-` they are the same variable to CGI, WSGI and their kin: no way around what only we may say.
_NOT_WITH_UNDERSCORES = NOT_FOR_ENDPOINTS | _RENAMED.keys() | PROTECTED

# Never trailers (RFC 9110 6.5.1): a reader that merges them into the head would frame, route or trust anew.
_NOT_TRAILERS = NOT_FOR_ENDPOINTS | frozenset(
    (
        b"host",
        b"content-length",
        b"transfer-encoding",
        b"connection",
        b"upgrade",
        b"te",
        b"trailer",
        b"expect",
        b"content-type",
        b"content-encoding",
        b"content-range",
        b"authorization",
        b"cookie",
        b"set-cookie",
        b"x-request-id",
    )
)
_LIKE_DASHES = bytes.maketrans(b"_.", b"--")  # to CGI, WSGI, PHP and their kin


def name_onward(name: bytes, *, underscores: bool) -> bytes:
    """The name under which an endpoint gets a field of a client called `name`; empty if the field ends here.

    With `underscores`, names that hold `_` go on, but for those that an endpoint could take for a name that only the
    proxy may say. Names that hold `.` never go on.
    """
    lower = name.lower()
    if lower in NOT_FOR_ENDPOINTS:
        return b""
    if b"_" in lower and (not underscores or lower.replace(b"_", b"-") in _NOT_WITH_UNDERSCORES):
        return b""
    if b"." in lower:  # invalid to nginx too; PHP and its kin read it as `_`
        return b""
    return _RENAMED.get(lower, name)


def nominated(options: tuple[bytes, ...]) -> frozenset[bytes]:
    """The names of fields that the connection `options`, in lower case, end here (RFC 9110 7.6.1)."""
    return frozenset(options) - PROTECTED


def passes_as_trailer(name: bytes) -> bool:
    """Whether a trailer called `name`, in lower case, may go on: no reader may take it for a field of the head."""
    plain = name.translate(_LIKE_DASHES)
    return plain not in _NOT_TRAILERS and not plain.startswith(b"x-forwarded-")
