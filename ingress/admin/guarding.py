"""Decides who may see the pages for operators: by the peer's address, and by what a browser says about the request.

A page of another site must not read these pages through the browser of an operator: not by another origin, and not by
a name of its own that leads to this address (DNS rebinding). Knows no page.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from aiohttp import hdrs, web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]

# Names that public DNS does not have, so that nobody outside of the cluster can lead them to this address: names
# without a dot, and these (RFC 6761, RFC 6762, and the names of Kubernetes).
_PRIVATE_NAMES: Final = (".localhost", ".local", ".internal", ".svc")


def for_operators(handler: Handler, *, remote: bool) -> Handler:
    """`handler` for peers on loopback, or with `remote` for every peer, unless a foreign page asks."""

    async def guarded(request: web.Request) -> web.StreamResponse:
        if not remote and not _is_loopback_peer(request):
            return web.Response(status=403, text="only for loopback peers (see --debug-remote)\n")
        if problem := foreign(
            request.headers.get(hdrs.HOST, ""),
            origin=request.headers.get(hdrs.ORIGIN),
            site=request.headers.get("Sec-Fetch-Site", "none"),
            mode=request.headers.get("Sec-Fetch-Mode", ""),
        ):
            return web.Response(status=403, text=f"{problem}\n")
        return await handler(request)

    return guarded


def foreign(host: str, *, origin: str | None, site: str, mode: str) -> str | None:
    """Why a request comes from a page of somebody else; None if it does not.

    The arguments are the fields Host, Origin, Sec-Fetch-Site and Sec-Fetch-Mode. Host may be an address, or a name that
    public DNS does not have. A link on another page may lead here, because that page does not get the answer.
    """
    name = _name_of(host)
    if name and not (_is_address(name) or "." not in name or name.endswith(_PRIVATE_NAMES)):
        return "ask by address, or as localhost: this name could lead here from another site"
    if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
        return "only for pages of this port"
    if site not in ("same-origin", "none") and mode != "navigate":
        return "only for pages of this port"
    return None


def _name_of(host: str) -> str:
    """The name or address in Host, in lower case and without the final dot; empty if no browser wrote it."""
    try:
        name = urlsplit(f"//{host}").hostname
    except ValueError:
        return host
    return (name or "").removesuffix(".")


def _is_address(name: str) -> bool:
    try:
        ip_address(name.partition("%")[0])
    except ValueError:
        return False
    return True


def _is_loopback_peer(request: web.Request) -> bool:
    peer = request.get_extra_info("peername")
    if not isinstance(peer, tuple):
        return False
    address = ip_address(peer[0])
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        # Before 3.13 Python does not count ::ffff:127.0.0.1 as loopback.
        return address.ipv4_mapped.is_loopback
    return address.is_loopback
