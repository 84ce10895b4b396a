"""Names the header fields that no message may hand on to another one: those of a connection, of framing, of a request.

Names in lower case. Does not know which further fields a recipient must not get.
"""

from __future__ import annotations

from typing import Final

OF_ONE_CONNECTION: Final = frozenset(
    (
        b"connection",
        b"content-length",
        b"keep-alive",
        b"proxy-connection",
        b"te",
        b"trailer",
        b"transfer-encoding",
        b"upgrade",
    )
)
"""Fields of a request or response that concern its connection and the framing of its body (RFC 9110 7.6.1, 8.6)."""

OF_ONE_REQUEST: Final = OF_ONE_CONNECTION | {b"expect", b"host", b"http2-settings"}
"""Fields of a request that concern its connection, its recipient, or when its body is sent (RFC 9110 7.2, 10.1.1)."""

FORWARDING: Final = frozenset(
    (
        b"x-forwarded-for",
        b"x-forwarded-host",
        b"x-forwarded-port",
        b"x-forwarded-proto",
        b"x-forwarded-scheme",
        b"x-real-ip",
        b"x-scheme",
    )
)
"""What the proxy tells endpoints about the client and what it asked for."""

HTTPOXY: Final = b"proxy"
"""CGI programs take this field for the address of their proxy (CVE-2016-5385)."""
