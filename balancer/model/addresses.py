"""Decides which addresses lead into this pod or its cloud, where no tenant may send requests. No I/O."""

from __future__ import annotations

import ipaddress

IpAddress = ipaddress.IPv4Address | ipaddress.IPv6Address

# Cloud metadata services give out credentials (AWS, GCP, Azure; Alibaba; fd00:ec2::254 is AWS's IPv6 address).
_METADATA = frozenset({"169.254.169.254", "100.100.100.200", "fd00:ec2::254"})
# Prefixes whose IPv6 addresses end in an IPv4 address: NAT64 (RFC 6052), and the old compatible form (RFC 4291
# 2.5.5.1).
_IPV4_ENDED = (ipaddress.IPv6Network("64:ff9b::/96"), ipaddress.IPv6Network("::/96"))


def is_local(address: IpAddress) -> bool:
    """Whether an address is loopback, link-local, unspecified, multicast or that of a metadata service."""
    end = reached(address)
    if end.is_loopback or end.is_link_local or end.is_unspecified or end.is_multicast:
        return True
    return str(end) in _METADATA


def is_local_literal(host: str) -> bool:
    """Whether a host name or address, without brackets, is such an address."""
    try:
        return is_local(ipaddress.ip_address(host))
    except ValueError:
        return False


def reached(address: IpAddress) -> IpAddress:
    """The address that is reached: the IPv4 address inside of an IPv6 address, if there is one. 6to4 is RFC 3056."""
    if isinstance(address, ipaddress.IPv4Address) or address.is_unspecified or address.is_loopback:
        return address
    if any(address in network for network in _IPV4_ENDED):
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address
