"""The PROXY protocol: whoever stands in front sends the client's address before the first byte. No I/O.

Reads versions 1 and 2, and writes version 2.

The result depends on the position of the first violation, so it is the same however the bytes were split. The rules are
those of HAProxy's proxy-protocol.txt (sections 2.1 and 2.2). Optional parts that do not give the client's address are
skipped.
"""

from __future__ import annotations

import ipaddress
import re
from typing import NamedTuple

HEADER_BYTES_MAX = 4096  # of a header, as in nginx; addresses and the extensions of cloud providers fit

_V1 = b"PROXY "
_V1_LINE_MAX = 107  # with CRLF; section 2.1 counts it for the longest addresses
_V1_PROXIED = re.compile(rb"PROXY TCP([46]) (\S+) (\S+) (0|[1-9][0-9]{0,4}) (0|[1-9][0-9]{0,4})", re.ASCII)
_V1_UNKNOWN = re.compile(rb"PROXY UNKNOWN(?: [^\r\n]*)?")
_V2 = b"\r\n\r\n\x00\r\nQUIT\n"
_V2_FIXED = 16
_LOCAL, _PROXY = 0x20, 0x21
_MAPPED = bytes(10) + b"\xff\xff"  # an IPv4 address where IPv6 is spoken (RFC 4291 2.5.5.2)
# By address family and transport: bytes of the addresses and ports, and of one address. 0: nothing that zonal could
# use.
_V2_FAMILIES = {
    0x00: (0, 0),
    0x11: (12, 4),
    0x12: (12, 4),
    0x21: (36, 16),
    0x22: (36, 16),
    0x31: (216, 0),
    0x32: (216, 0),
}


class InvalidHeader(ValueError):
    """A connection does not begin with a PROXY header. The text never contains the received bytes."""


class ProxyHeader(NamedTuple):
    """A whole header: its length in bytes, the client's address, and the load balancer's port to which the client
    connected.

    Both are None if the header has neither; then the connection's own address and port count.
    """

    length: int
    address: str | None
    port: int | None = None


def read_proxy_header(data: bytes) -> ProxyHeader | None:
    """The header at the beginning of `data`; None while it is incomplete. Raises `InvalidHeader`."""
    if data[: len(_V2)] == _V2[: len(data)]:
        return _read_v2(data)
    if data[: len(_V1)] == _V1[: len(data)]:
        return _read_v1(data)
    raise InvalidHeader("no PROXY header")


def proxy_header(source: tuple[str, int], target: tuple[str, int]) -> bytes:
    """A header of version 2 for a TCP connection from `source` to `target`, each an IP address and a port.

    With an address that is none, it says that nothing is known of the client (LOCAL).
    """
    try:
        addresses = [ipaddress.ip_address(address) for address, _ in (source, target)]
    except ValueError:
        return _V2 + bytes((_LOCAL, 0, 0, 0))
    is_v4 = all(each.version == 4 for each in addresses)
    packed = b"".join(each.packed if is_v4 or each.version == 6 else _MAPPED + each.packed for each in addresses)
    said = packed + source[1].to_bytes(2, "big") + target[1].to_bytes(2, "big")
    return _V2 + bytes((_PROXY, 0x11 if is_v4 else 0x21)) + len(said).to_bytes(2, "big") + said


def proxy_line(source: tuple[str, int], target: tuple[str, int]) -> bytes:
    """A header of version 1, as nginx sends it, with the same arguments as `proxy_header`."""
    try:
        addresses = [ipaddress.ip_address(address) for address, _ in (source, target)]
    except ValueError:
        return b"PROXY UNKNOWN\r\n"
    is_v4 = all(each.version == 4 for each in addresses)
    said = [str(each) if is_v4 or each.version == 6 else f"::ffff:{each}" for each in addresses]
    return f"PROXY TCP{4 if is_v4 else 6} {' '.join(said)} {source[1]} {target[1]}\r\n".encode()


def _read_v1(data: bytes) -> ProxyHeader | None:
    end = data.find(b"\r\n", 0, _V1_LINE_MAX)
    if end < 0:
        if len(data) >= _V1_LINE_MAX:
            raise InvalidHeader("a version 1 line without end")
        return None
    line = data[:end]
    if _V1_UNKNOWN.fullmatch(line):
        return ProxyHeader(end + 2, None)
    match = _V1_PROXIED.fullmatch(line)
    if match is None or any(int(port) > 65535 for port in match.group(4, 5)):
        raise InvalidHeader("a version 1 line that does not parse")
    source, _ = (_address(text, version=int(match[1])) for text in match.group(2, 3))
    return ProxyHeader(end + 2, source, int(match[5]))


def _address(text: bytes, *, version: int) -> str:
    try:
        address = ipaddress.ip_address(text.decode("ascii"))
    except ValueError:  # UnicodeDecodeError is one
        raise InvalidHeader("an address that does not parse") from None
    if address.version != version or b"%" in text:
        raise InvalidHeader("an address of another family")
    return _plain(address)


def _read_v2(data: bytes) -> ProxyHeader | None:
    command = data[12:13]
    if command and command[0] not in (_LOCAL, _PROXY):
        raise InvalidHeader("another version or command")
    family = _V2_FAMILIES.get(data[13]) if len(data) > 13 else (0, 0)
    if family is None:
        raise InvalidHeader("an unknown address family")
    if len(data) < _V2_FIXED:
        return None
    addresses_bytes, address_bytes = family
    length = _V2_FIXED + int.from_bytes(data[14:16], "big")
    is_proxied = data[12] == _PROXY
    if length > HEADER_BYTES_MAX or (is_proxied and length < _V2_FIXED + addresses_bytes):
        raise InvalidHeader("a length that does not fit")
    if len(data) < length:
        return None
    if not is_proxied or not address_bytes:
        return ProxyHeader(length, None)  # a health check of the load balancer, or a family without addresses
    source = _plain(ipaddress.ip_address(data[_V2_FIXED : _V2_FIXED + address_bytes]))
    end = _V2_FIXED + addresses_bytes
    return ProxyHeader(length, source, int.from_bytes(data[end - 2 : end], "big"))  # the destination port is last


def _plain(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    """An IPv4-mapped address is written as IPv4, as the peers of connections are."""
    return str(getattr(address, "ipv4_mapped", None) or address)
