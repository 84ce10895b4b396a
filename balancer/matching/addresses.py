"""Addresses and networks, compiled so that many addresses can be looked up in them. No I/O.

An address costs two binary searches at most. Addresses that mean the same (`192.0.2.1` and `::ffff:192.0.2.1`) are
judged alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Address, IPv6Network, collapse_addresses, ip_address, ip_network

_ADDRESSES_REMEMBERED = 1024  # a connection asks for its own address again with every request
_LISTS_REMEMBERED = 256  # every path of an Ingress has the same networks
_CHARACTERS_MOST = 64  # of an IPv6 address with its zone; what is remembered stays small

Address = tuple[int, int]
"""IP version and number."""


class AddressSet:
    """The addresses of some networks, as disjoint intervals of numbers for each IP version."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, networks: Iterable[str]) -> None:
        parsed = [ip_network(network) for network in networks]
        v4 = collapse_addresses(each for each in parsed if isinstance(each, IPv4Network))
        v6 = collapse_addresses(each for each in parsed if isinstance(each, IPv6Network))
        disjoint = {
            4: [(int(each[0]), int(each[-1])) for each in v4],
            6: [(int(each[0]), int(each[-1])) for each in v6],
        }
        self._starts = {version: [start for start, _ in some] for version, some in disjoint.items()}
        self._ends = {version: [end for _, end in some] for version, some in disjoint.items()}

    def __contains__(self, address: Address) -> bool:
        """Whether an address, given as IP version and number, is in one of the networks."""
        version, number = address
        place = bisect_right(self._starts[version], number) - 1
        return place >= 0 and number <= self._ends[version][place]


@lru_cache(maxsize=_LISTS_REMEMBERED)
def compile_networks(networks: tuple[str, ...]) -> AddressSet:
    """The addresses of `networks`, such as `10.0.0.0/8` and `2001:db8::/32`, without host bits."""
    return AddressSet(networks)


def address_of(text: str) -> Address | None:
    """IP version and number of an address (a zone does not count), or None if `text` is none."""
    return _address(text) if len(text) <= _CHARACTERS_MOST else None


@lru_cache(maxsize=_ADDRESSES_REMEMBERED)
def _address(text: str) -> Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address.version, int(address)
