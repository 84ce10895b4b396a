"""Turns lines of allow and deny into lists of networks: the first line that names an address decides about it.

Source: nginx ngx_http_access_module. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_network

from balancer.model.gates import SourceRanges
from ingress.settings.snippets.levels import AccessEntry

_Range = tuple[int, int]
"""The first and the last address, as numbers."""

_Network = tuple[int, int, int]
"""The version of IP, the first address, and the length of the prefix."""

_BITS = {4: 32, 6: 128}
_ADDRESS = {4: IPv4Address, 6: IPv6Address}


def ranges_of(entries: Iterable[AccessEntry]) -> SourceRanges:
    """The ranges that let in whom the lines let in. Whom no line names is let in."""
    return _ranges_of(tuple(entries))


@lru_cache(maxsize=1024)  # a hundred lines take some milliseconds, and every translation reads the same lines
def _ranges_of(entries: tuple[AccessEntry, ...]) -> SourceRanges:
    left = {version: [(0, 2**bits - 1)] for version, bits in _BITS.items()}
    taken: dict[tuple[bool, int], list[_Range]] = {
        (allows, version): [] for allows in (True, False) for version in left
    }
    for entry in entries:
        for text in entry.networks:
            net = ip_network(text)
            wanted = int(net.network_address), int(net.broadcast_address)
            inside, left[net.version] = _split(left[net.version], wanted)
            taken[entry.allows, net.version] += inside
    denied, allowed = _networks(taken, allows=False), _networks(taken, allows=True)
    if any(left.values()) or not allowed:
        return SourceRanges(denied=_written(denied))
    # Every address is in one of the two lists, so each of them alone says all.
    if denied and len(denied) < len(allowed):
        return SourceRanges(denied=_written(denied))
    return SourceRanges(allowed=_written(allowed))


def _split(left: list[_Range], wanted: _Range) -> tuple[list[_Range], list[_Range]]:
    """What of `left`, which is sorted, lies in `wanted`, and what does not."""
    first, last = wanted
    inside: list[_Range] = []
    rest: list[_Range] = []
    for begin, end in left:
        if end < first or begin > last:
            rest.append((begin, end))
            continue
        inside.append((max(begin, first), min(end, last)))
        if begin < first:
            rest.append((begin, first - 1))
        if end > last:
            rest.append((last + 1, end))
    return inside, rest


def _networks(taken: Mapping[tuple[bool, int], list[_Range]], *, allows: bool) -> list[_Network]:
    """The fewest networks that hold what was taken, those of IPv4 first."""
    return [
        (version, first, prefix)
        for version, bits in _BITS.items()
        for joined in _joined(taken[allows, version])
        for first, prefix in _networks_in(joined, bits)
    ]


def _joined(ranges: Iterable[_Range]) -> Iterator[_Range]:
    """The ranges in order, those that touch each other as one."""
    held: _Range | None = None
    for begin, end in sorted(ranges):
        if held is not None and held[1] + 1 == begin:
            held = held[0], end
            continue
        if held is not None:
            yield held
        held = begin, end
    if held is not None:
        yield held


def _networks_in(range_: _Range, bits: int) -> Iterator[tuple[int, int]]:
    """The networks that fill a range: the first address and the length of the prefix of each."""
    first, last = range_
    while first <= last:
        aligned = (first & -first).bit_length() - 1 if first else bits
        size = min(aligned, (last - first + 1).bit_length() - 1)
        yield first, bits - size
        first += 1 << size


def _written(networks: Iterable[_Network]) -> tuple[str, ...]:
    return tuple(f"{_ADDRESS[version](first)}/{prefix}" for version, first, prefix in networks)
