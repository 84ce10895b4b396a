"""Addresses and networks, compiled so that many addresses can be looked up in them. No I/O.

Lists come sorted and without overlaps from the control process, so compiling them at the swap costs a worker little. An
address costs two binary searches at most. Addresses that mean the same (`192.0.2.1` and `::ffff:192.0.2.1`) are
judged alike.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv6Address, ip_address

_ADDRESSES_REMEMBERED = 1024  # a connection asks for its own address again with every request
_LISTS_REMEMBERED = 256  # every path of an Ingress has the same networks
_CHARACTERS_MOST = 64  # of an IPv6 address with its zone; what is remembered stays small

Address = tuple[int, int]
"""IP version and number."""

_Interval = tuple[int, int, int]
"""IP version, and the numbers of the first and the last address."""


class AddressSet:
    """The addresses of some networks, as disjoint intervals of numbers for each IP version."""

    __slots__ = ("_ends", "_starts")

    def __init__(self, networks: Iterable[str]) -> None:
        """Networks without host bits. Lists of the model are sorted and without overlaps, and cost the least."""
        some = tuple(map(_interval, networks))
        if not all(map(_precedes, some, some[1:])):
            some = _disjoint(some)
        self._starts = {each: [start for version, start, _ in some if version == each] for each in (4, 6)}
        self._ends = {each: [end for version, _, end in some if version == each] for each in (4, 6)}

    def __contains__(self, address: Address) -> bool:
        """Whether an address, given as IP version and number, is in one of the networks."""
        version, number = address
        place = bisect_right(self._starts[version], number) - 1
        return place >= 0 and number <= self._ends[version][place]


def _interval(network: str) -> _Interval:
    """The version of `network`, and its first and last address."""
    first, _, bits = network.partition("/")
    if ":" in first:
        start, free = int(IPv6Address(first)), 128 - int(bits or 128)
        return 6, start, start | (1 << free) - 1
    one, two, three, four = first.split(".")
    start, free = int(one) << 24 | int(two) << 16 | int(three) << 8 | int(four), 32 - int(bits or 32)
    return 4, start, start | (1 << free) - 1


def _precedes(one: _Interval, other: _Interval) -> bool:
    """Whether `one` ends before `other` begins, or is of an earlier version."""
    return one[0] < other[0] or (one[0] == other[0] and one[2] < other[1])


def _disjoint(intervals: Iterable[_Interval]) -> tuple[_Interval, ...]:
    """The addresses of `intervals`, sorted and without overlaps. Of two networks that overlap, one holds the other."""
    found: list[_Interval] = []
    for each in sorted(intervals, key=lambda interval: (interval[0], interval[1], -interval[2])):
        if not found or _precedes(found[-1], each):
            found.append(each)
    return tuple(found)


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
