"""Serves the files of the page `/ui` from the package, and says what a browser may do with any page of this port.

Reads the files once. Does not know what they show.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Final

from aiohttp import hdrs, web

from ingress.admin.guarding import Handler

_CONTENT_TYPES: Final = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_FILES: Final = (
    *("icon.svg", "style.css", "zones.css", "tables.css", "widths.css"),
    *("app.js", "dom.js", "parts.js", "table.js", "charts.js", "route_table.js"),
    *("samples.js", "state.js", "figures.js", "verdict.js", "texts.js"),
    *("zones.js", "services.js", "service.js", "routes.js", "findings.js", "fleet.js", "explain.js", "replica.js"),
)

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


def site_handlers() -> dict[str, Handler]:
    """A handler for each path of the page."""
    return {"/ui": _handler("index.html"), **{f"/ui/{name}": _handler(name) for name in _FILES}}


def _handler(name: str) -> Handler:
    async def serve(_request: web.Request) -> web.Response:
        content_type = _CONTENT_TYPES[name.rpartition(".")[2]]
        return web.Response(body=_content(name), content_type=content_type, charset="utf-8")

    return serve


@cache
def _content(name: str) -> bytes:
    return (files("ingress.admin") / "ui" / name).read_bytes()
