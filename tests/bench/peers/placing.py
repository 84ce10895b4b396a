"""Which cores are the proxy's and which are everybody else's. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec


class Cores(msgspec.Struct, frozen=True):
    """`two`: for the contender with two workers. They are `one` as well where the load needs what is left."""

    one: tuple[int, ...]
    two: tuple[int, ...]
    rest: tuple[int, ...]


def share_out(available: Iterable[int]) -> Cores:
    """The first core is the proxy's, the others make and answer the load; with four, two workers get two.

    A machine of one core has it shared by all, which the page says.
    """
    cores = tuple(sorted(available))
    if len(cores) == 1:
        return Cores(cores, cores, cores)
    if len(cores) < 4:
        return Cores(cores[:1], cores[:1], cores[1:])
    return Cores(cores[:1], cores[:2], cores[2:])
