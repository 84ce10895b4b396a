"""Turns lines of allow and deny into lists of networks: the first line that names an address decides about it.

Source: nginx ngx_http_access_module. No I/O.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network

from balancer.model.gates import SourceRanges
from ingress.settings.snippets.levels import AccessEntry

_Network = IPv4Network | IPv6Network


def ranges_of(entries: Iterable[AccessEntry]) -> SourceRanges:
    """The ranges that let in whom the lines let in. Whom no line names is let in."""
    return _ranges_of(tuple(entries))


@lru_cache(maxsize=1024)  # a hundred lines take half a second, and every translation reads the same lines
def _ranges_of(entries: tuple[AccessEntry, ...]) -> SourceRanges:
    left: list[_Network] = [IPv4Network("0.0.0.0/0"), IPv6Network("::/0")]
    allowed: list[_Network] = []
    denied: list[_Network] = []
    for entry in entries:
        for text in entry.networks:
            taken, left = _split(left, ip_network(text))
            (allowed if entry.allows else denied).extend(taken)
    if left or not allowed:
        return SourceRanges(denied=_collapsed(denied))
    return SourceRanges(allowed=_collapsed(allowed))


def _split(left: list[_Network], wanted: _Network) -> tuple[list[_Network], list[_Network]]:
    """What of `left` lies in `wanted`, and what does not."""
    taken: list[_Network] = []
    rest: list[_Network] = []
    for each in left:
        if (isinstance(each, IPv4Network) and isinstance(wanted, IPv4Network)) or (
            isinstance(each, IPv6Network) and isinstance(wanted, IPv6Network)
        ):
            _divide(each, wanted, taken, rest)
        else:
            rest.append(each)
    return taken, rest


def _divide(each: _Network, wanted: _Network, taken: list[_Network], rest: list[_Network]) -> None:
    if each.subnet_of(wanted):  # type: ignore[arg-type]
        taken.append(each)
    elif each.supernet_of(wanted):  # type: ignore[arg-type]
        taken.append(wanted)
        rest.extend(each.address_exclude(wanted))  # type: ignore[arg-type]
    else:
        rest.append(each)


def _collapsed(networks: Iterable[_Network]) -> tuple[str, ...]:
    known = tuple(networks)
    v4 = collapse_addresses(each for each in known if isinstance(each, IPv4Network))
    v6 = collapse_addresses(each for each in known if isinstance(each, IPv6Network))
    return tuple(map(str, (*v4, *v6)))
