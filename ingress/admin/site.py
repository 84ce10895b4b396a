"""Says what a browser may do with the pages of the admin port. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from aiohttp import hdrs

# Nothing but our own files, no inline script or style, no form to elsewhere, no frame, and no HTML made from text.
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)

SECURITY_FIELDS: Final[Mapping[str, str]] = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    hdrs.CACHE_CONTROL: "no-store",
}
"""Header fields of every answer of the admin port."""
