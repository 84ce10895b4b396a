"""Counts what a search of a path for all expressions of a host may cost, and with how many matches a request may be
compared there, and divides that among tenants.

A tenant may hold as much as it leaves free for others, as in `balancer.runtime.shares`, along every line of paths:
expressions of which one begins like the other are searched side by side, and others are not.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from operator import attrgetter

from balancer.matching.regexes import INSTRUCTIONS_MAX

# Of wide expressions that begin alike. A tenant alone may have half of them. A search of `SEARCHED_BYTES_WIDE` bytes of
# a path that was made for them takes at most 2 ms then, and 4 ms if other tenants use up the rest.
_WIDE_TOGETHER = 2 * INSTRUCTIONS_MAX
_NARROW_TOGETHER = 16 * INSTRUCTIONS_MAX
# All wide expressions of a host, which bounds what it costs to count them.
_WIDE_OF_HOST = 256 * INSTRUCTIONS_MAX
# What a search does at one place of the path for an expression in which nothing is repeated, optional or alternative,
# and for another narrow one.
_IN_LINE, _NARROW = 4, 8
_BRANCHES = frozenset("*+?{|")
# Of matches of a host with which one request may be compared, a microsecond or two for each unit.
_COMPARED_MOST = 4 * 1024


class _HeldBeginning:
    """The units that tenants hold at one beginning of paths: a node of a tree, in which longer beginnings are below.

    `below` are the nodes of the next longer beginnings, sorted. `heaviest` is, by tenant, the weight of the heaviest
    line of nodes below this one; under the empty name for tenants who hold nothing below.
    """

    __slots__ = ("beginning", "below", "heaviest", "total", "units")

    def __init__(self, beginning: str) -> None:
        self.beginning = beginning
        self.units: Counter[str] = Counter()
        self.total = 0
        self.below: list[_HeldBeginning] = []
        self.heaviest: dict[str, int] = {"": 0}

    def weight(self, tenant: str) -> int:
        """The weight of this node to `tenant`: own units count twice, because as many must stay free for others."""
        return self.total + self.units[tenant]

    def heaviest_below(self, tenant: str) -> int:
        return self.heaviest.get(tenant, self.heaviest[""])

    def next(self, beginning: str) -> _HeldBeginning | None:
        """The node of `below` with whose beginning `beginning` begins; None if there is none."""
        place = bisect_right(self.below, beginning, key=_beginning_of) - 1
        found = self.below[place] if place >= 0 else None
        return found if found is not None and beginning.startswith(found.beginning) else None

    def beginning_with(self, beginning: str) -> slice:
        """The nodes of `below` whose beginnings begin with `beginning`, as a part of the list."""
        first = last = bisect_left(self.below, beginning, key=_beginning_of)
        while last < len(self.below) and self.below[last].beginning.startswith(beginning):
            last += 1
        return slice(first, last)

    def insert(self, held: _HeldBeginning) -> None:
        """Makes `held` a node below this one, and moves nodes whose beginnings begin with its own below `held`."""
        place = self.beginning_with(held.beginning)
        held.below = self.below[place]
        self.below[place] = [held]
        for each in held.below:
            held.know(each)

    def know(self, below: _HeldBeginning) -> None:
        """Updates `heaviest` after units were taken at the node `below`, or below that."""
        for tenant in self.heaviest.keys() | below.heaviest.keys() | below.units.keys():
            weight = below.weight(tenant) + below.heaviest_below(tenant)
            self.heaviest[tenant] = max(self.heaviest_below(tenant), weight)


_beginning_of = attrgetter("beginning")


class _Pool:
    """Instructions that are held at each beginning, by tenant, and the most that one search may meet."""

    __slots__ = ("_most", "_root")

    def __init__(self, most: int) -> None:
        self._most = most
        self._root = _HeldBeginning("")

    def allows(self, tenant: str, beginning: str, units: int, *, looks_below: bool) -> bool:
        """Whether the share of `tenant` allows `units` on every line of paths through `beginning`.

        Without `looks_below` only that what lies above counts, as far as it came before.
        """
        line = self._line(beginning)
        met = sum(each.weight(tenant) for each in line)
        if looks_below:
            below = line[-1].below[line[-1].beginning_with(beginning)]
            met += max((each.weight(tenant) + each.heaviest_below(tenant) for each in below), default=0)
        return met + 2 * units <= self._most

    def take(self, tenant: str, beginning: str, units: int) -> None:
        """Holds `units` more at `beginning`."""
        line = self._line(beginning)
        if line[-1].beginning != beginning:
            held = _HeldBeginning(beginning)
            line[-1].insert(held)
            line.append(held)
        line[-1].units[tenant] += units
        line[-1].total += units
        for above, below in zip(line[-2::-1], line[:0:-1], strict=True):
            above.know(below)

    def _line(self, beginning: str) -> list[_HeldBeginning]:
        """The nodes from the root to that of `beginning`, or to the last one above it."""
        line = [self._root]
        while line[-1].beginning != beginning and (found := line[-1].next(beginning)) is not None:
            line.append(found)
        return line


class ExpressionCosts:
    """The instructions of all expressions of one host, and the matches that are not found by a value."""

    __slots__ = ("_compared", "_narrow", "_of_host", "_wide")

    def __init__(self) -> None:
        self._wide = _Pool(_WIDE_TOGETHER)
        self._narrow = _Pool(_NARROW_TOGETHER)
        self._of_host = _Pool(_WIDE_OF_HOST)
        self._compared = _Pool(_COMPARED_MOST)

    def take_wide(self, tenant: str, beginning: str, instructions: int) -> bool:
        """Counts a wide expression. False: its tenant has no room for it, and it does not count."""
        if not self._wide.allows(tenant, beginning, instructions, looks_below=True):
            return False
        if not self._of_host.allows(tenant, "", instructions, looks_below=False):
            return False
        self._wide.take(tenant, beginning, instructions)
        self._of_host.take(tenant, "", instructions)
        return True

    def take_narrow(self, tenant: str, beginning: str, text: str) -> bool:
        """Counts a narrow expression, which its author wrote as `text`."""
        units = _IN_LINE if _BRANCHES.isdisjoint(text) else _NARROW
        if not self._narrow.allows(tenant, beginning, units, looks_below=False):
            return False
        self._narrow.take(tenant, beginning, units)
        return True

    def take_compared(self, tenant: str, units: int) -> bool:
        """Counts a match with which requests are compared."""
        if not self._compared.allows(tenant, "", units, looks_below=False):
            return False
        self._compared.take(tenant, "", units)
        return True
