"""Decides to which addresses and hosts a tenant may have requests sent. No I/O.

The rule is a list of what may be reached, so an address of a kind that nobody thought of is refused: addresses that are
routed in the whole Internet, and those that clusters give to pods and Services. What leads into this pod or to the
metadata service of a cloud is never one of them.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import NamedTuple

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address


class _Networks(NamedTuple):
    """Networks of each version, each as its mask and its first address, so that a look costs no objects."""

    v4: tuple[tuple[int, int], ...]
    v6: tuple[tuple[int, int], ...]

    def hold(self, address: IpAddress) -> bool:
        """Whether one of them has the address."""
        number = int(address)
        known = self.v4 if address.version == 4 else self.v6
        return any(number & mask == first for mask, first in known)


def _networks(*texts: str) -> _Networks:
    known = [(each.version, int(each.netmask), int(each.network_address)) for each in map(ipaddress.ip_network, texts)]
    of_version = {each: tuple((mask, first) for version, mask, first in known if version == each) for each in (4, 6)}
    return _Networks(of_version[4], of_version[6])


# Ranges of clusters: RFC 1918, RFC 4193, and RFC 6598, which some clouds give to pods.
_OF_CLUSTERS = _networks("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7")
# Special ranges that GKE allows for pods. They count where the cluster says the address of a pod, and nowhere else.
_OF_PODS = _networks(
    "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
    "2001:db8::/32",
)  # fmt: skip
# Services of clouds that give out credentials, beside the link-local ones: Azure, Alibaba (twice); AWS, Google,
# Scaleway, Linode, Oracle.
_METADATA = _networks(
    "168.63.129.16", "100.100.100.200", "fd00:100::/32", "fd00:ec2::/32", "fd20:ce::/32", "fd00:42::/32",
    "fd00:a9fe::/32", "fd00:c1::/32",
)  # fmt: skip
# What ipaddress calls global in some version of Python, and IANA does not: protocol assignments with Teredo and ORCHID,
# 6to4 and its relays, documentation, dummy prefixes.
_SPECIAL = _networks("192.0.0.0/24", "192.88.99.0/24", "2001::/23", "2002::/16", "2001:db8::/32", "3fff::/20")
_BROADCAST = ipaddress.IPv4Address("255.255.255.255")
_ALLOCATED = _networks("2000::/3")  # all other IPv6 addresses are special, or of no use yet
# Prefixes whose IPv6 addresses end in an IPv4 address: NAT64 (RFC 6052), and the old compatible form (RFC 4291
# 2.5.5.1). Where the local prefixes of RFC 8215 hold the IPv4 address, only their network knows: they are refused.
_IPV4_ENDED = _networks("64:ff9b::/96", "::/96")
_ISATAP = frozenset((0x0000_5EFE, 0x0200_5EFE))  # before the IPv4 address (RFC 5214 6.1)
_NUMBER = re.compile(r"[0-9]+|0[xX][0-9A-Fa-f]*")


def is_forbidden(address: IpAddress) -> bool:
    """Whether a tenant may not have requests sent to an address."""
    end = reached(address)
    if isinstance(end, ipaddress.IPv4Address):
        return not _is_block_allowed(int(end) >> 8) or _METADATA.hold(end)
    if _METADATA.hold(end) or _in_isatap(end):
        return True
    return not (_OF_CLUSTERS.hold(end) or is_public(end))


def is_forbidden_endpoint(address: IpAddress) -> bool:
    """Whether an address may not be that of an endpoint which an EndpointSlice names."""
    return is_forbidden(address) and (address == _BROADCAST or not _OF_PODS.hold(address))


def is_public(address: IpAddress) -> bool:
    """Whether an address, or the IPv4 address inside of it, is routed in the whole Internet."""
    end = reached(address)
    if end.is_multicast or not end.is_global or _SPECIAL.hold(end):
        return False
    return isinstance(end, ipaddress.IPv4Address) or _ALLOCATED.hold(end)


@lru_cache(maxsize=4096)
def _is_block_allowed(block: int) -> bool:
    """Whether IPv4 addresses with these 24 bits in common are public or of a cluster.

    No special network that is smaller lies among those. Cached, because a first sync asks for thousands of endpoints.
    """
    address = ipaddress.IPv4Address(block << 8 | 128)
    return _OF_CLUSTERS.hold(address) or is_public(address)


def is_forbidden_host(host: str) -> bool:
    """Whether the host of a URL, with or without brackets, is a forbidden address, a name of this machine, or a name
    that the system would read as an address without looking it up (`2130706433`, `127.1`, `0x7f.1`).

    Any other name is judged by the addresses that it stands for.
    """
    name = host.strip("[]").rstrip(".").lower()
    if not name or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return is_forbidden(ipaddress.ip_address(name))
    except ValueError:
        return ":" in name or is_numeric_name(name)


def is_numeric_name(name: str) -> bool:
    """Whether a name ends in a number. inet_aton may read such a name as an IPv4 address, and no domain has one."""
    return _NUMBER.fullmatch(name.rstrip(".").rpartition(".")[2]) is not None


def reached(address: IpAddress) -> IpAddress:
    """The address that is reached: the IPv4 address inside of an IPv6 address, if there is one."""
    if isinstance(address, ipaddress.IPv4Address) or address.is_unspecified or address.is_loopback:
        return address
    if _IPV4_ENDED.hold(address):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address


def _in_isatap(address: ipaddress.IPv6Address) -> bool:
    """Whether a forbidden IPv4 address is inside of the ISATAP form."""
    number = int(address)
    return (number >> 32) & 0xFFFFFFFF in _ISATAP and is_forbidden(ipaddress.IPv4Address(number & 0xFFFFFFFF))
