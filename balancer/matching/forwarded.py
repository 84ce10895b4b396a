"""Recovers from whom a request came before trusted proxies passed it on. No I/O.

Any client can send the fields. They are believed only from peers in the trusted networks, and only as far as the chain
of addresses is trusted (nginx ngx_http_realip_module with `real_ip_recursive on`; scheme, port and host as in the Lua
code of ingress-nginx). A value that cannot be read is not believed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address

from balancer.errors import Refusal
from balancer.http.messages import RequestHead, field_value
from balancer.http.origin import HTTPS_PORT, Origin
from balancer.http.target import host_name
from balancer.matching.addresses import Address, address_of, compile_networks
from balancer.model.settings import TrustedProxies

_FORWARDED_FOR = b"x-forwarded-for"
_SEPARATORS = re.compile(rb"[ \t,]+")
# 4 to 45 characters of an address, in brackets if a port follows. Some load balancers write the client's port.
_HOP = re.compile(rb"(?:\[([0-9A-Fa-f:.]{2,45})\]|([0-9.]{7,15})|([0-9A-Fa-f:.]{2,45}))(?::[0-9]{1,5})?")
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]{0,31}")
_PORT = re.compile(rb"[0-9]{1,5}")
_PORT_MOST = 65535
_HOST_BYTES_MOST = 262  # of a name of 255 and a port
_PLAIN_SCHEMES = frozenset((b"http", b"ws"))
# No honest request passes more proxies. Without a bound a head full of addresses would cost milliseconds.
_HOPS_MOST = 50
_HOP_BYTES_MOST = 64  # of an IPv6 address with brackets and port
_HOPS_REMEMBERED = 4096  # to read one anew costs as much as half a request


class ForwardedReader:
    """Reads what trusted proxies say about a request. Made at the swap."""

    __slots__ = ("_address_field", "_rules", "_trusted")

    def __init__(self, rules: TrustedProxies) -> None:
        self._rules = rules
        self._address_field = rules.address_field.encode()
        self._trusted = compile_networks(rules.networks)

    def origin_of(self, origin: Origin, request: RequestHead) -> Origin:
        """The origin of `request`, which came over a connection with `origin`. The same if its peer is not trusted."""
        if not self._is_trusted(origin.peer):
            return origin
        rules = self._rules
        peer = self._first_untrusted(origin.peer, request) if rules.address_field else origin.peer
        recovered = Origin(peer=peer, entry_point=origin.entry_point, port=origin.port, server_name=origin.server_name)
        recovered.proof = origin.proof
        if rules.believes_all:
            self._believe(recovered, origin, request)
        return recovered

    def _believe(self, recovered: Origin, origin: Origin, request: RequestHead) -> None:
        """Takes scheme, port, host and, if wanted, the list of addresses from the request. Other fields go on."""
        recovered.is_trusted = True
        if (scheme := _first(request, b"x-forwarded-proto", _SCHEME)) is not None and origin.port != HTTPS_PORT:
            recovered.scheme = scheme
            recovered.https = scheme.lower() not in _PLAIN_SCHEMES
        # Without a field the port stays that of the listener, whatever the scheme (ingress-nginx, `pass_server_port`).
        recovered.port = _port(request) or origin.shown_port
        recovered.host = _host(request)
        if self._rules.appends:
            before = [value for name, value in request.fields if name == _FORWARDED_FOR and value]
            recovered.forwarded_for = b", ".join([*before, origin.peer.encode()])

    def _first_untrusted(self, peer: str, request: RequestHead) -> str:
        """The last address, from the right, whose predecessors are all trusted. An unreadable one ends the search."""
        for element in _hops_from_right(request, self._address_field):
            hop = _hop(element) if len(element) <= _HOP_BYTES_MOST else None
            if hop is None:
                return peer
            address, peer = hop
            if address not in self._trusted:
                return peer
        return peer

    def _is_trusted(self, text: str) -> bool:
        address = address_of(text)
        return address is not None and address in self._trusted


def _hops_from_right(request: RequestHead, name: bytes) -> Iterator[bytes]:
    """The addresses that a field lists over all its lines, the last proxy's first (RFC 9110 5.3)."""
    left = _HOPS_MOST
    for each, value in reversed(request.fields):
        if each == name:
            for hop in reversed(_SEPARATORS.split(value)):
                if hop and left:
                    left -= 1
                    yield hop


@lru_cache(maxsize=_HOPS_REMEMBERED)
def _hop(element: bytes) -> tuple[Address, str] | None:
    """An element of the list as an address, and as logs and endpoints see it; None if it is no address.

    The text is in the shortest form, and that of an IPv4-mapped address is IPv4.
    """
    match = _HOP.fullmatch(element)
    text = (match[1] or match[2] or match[3]).decode() if match is not None else ""
    address = address_of(text)
    if address is None:
        return None
    version, number = address
    return address, str(IPv4Address(number) if version == 4 else IPv6Address(number))


def _first(request: RequestHead, name: bytes, grammar: re.Pattern[bytes]) -> bytes | None:
    """The first element of a field, if it is well-formed."""
    value = (field_value(request.fields, name) or b"").partition(b",")[0].strip()
    return value if grammar.fullmatch(value) else None


def _port(request: RequestHead) -> int:
    """The port that the client connected to; 0 if no field names one."""
    port = int(_first(request, b"x-forwarded-port", _PORT) or 0)
    return port if port <= _PORT_MOST else 0


def _host(request: RequestHead) -> bytes:
    """The Host that the client sent to the first proxy; empty if no field names one."""
    value = (field_value(request.fields, b"x-forwarded-host") or b"").partition(b",")[0].strip()
    try:
        return value if len(value) <= _HOST_BYTES_MOST and host_name(value) else b""
    except Refusal:
        return b""
