"""Counts what a search of a path for all expressions of a host may cost, and divides that among tenants.

A tenant may hold as much as it leaves free for others, as in `balancer.runtime.shares`, along every line of paths:
expressions of which one begins like the other are searched side by side, and others are not.
"""

from __future__ import annotations

from collections import Counter

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


class _Pool:
    """Instructions that are held at each beginning, by tenant, and the most that one search may meet."""

    __slots__ = ("_held", "_most")

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: dict[str, Counter[str]] = {}

    def take(self, tenant: str, beginning: str, units: int, *, looks_below: bool) -> bool:
        """Takes `units` if the share of `tenant` allows that on every line of paths through `beginning`.

        Without `looks_below` only that what lies above counts, as far as it came before.
        """
        above = Counter[str]()
        for end in range(len(beginning) + 1):
            above.update(self._held.get(beginning[:end], ()))
        lines = [above]
        if looks_below:
            lines += [self._line(each, above, beginning) for each in self._held if each.startswith(beginning)]
        if any(line[tenant] + units > self._most - line.total() - units for line in lines):
            return False
        self._held.setdefault(beginning, Counter())[tenant] += units
        return True

    def _line(self, end: str, above: Counter[str], beginning: str) -> Counter[str]:
        """What a search meets on its way to `end`, which lies below `beginning`."""
        line = above.copy()
        for place in range(len(beginning) + 1, len(end) + 1):
            line.update(self._held.get(end[:place], ()))
        return line


class ExpressionCosts:
    """The instructions of all expressions of one host."""

    __slots__ = ("_narrow", "_of_host", "_wide")

    def __init__(self) -> None:
        self._wide, self._narrow = _Pool(_WIDE_TOGETHER), _Pool(_NARROW_TOGETHER)
        self._of_host = _Pool(_WIDE_OF_HOST)

    def take_wide(self, tenant: str, beginning: str, instructions: int) -> bool:
        """Counts a wide expression. False: its tenant has no room for it, and it does not count."""
        return self._wide.take(tenant, beginning, instructions, looks_below=True) and self._of_host.take(
            tenant, "", instructions, looks_below=False
        )

    def take_narrow(self, tenant: str, beginning: str, text: str) -> bool:
        """Counts a narrow expression, which its author wrote as `text`."""
        units = _IN_LINE if _BRANCHES.isdisjoint(text) else _NARROW
        return self._narrow.take(tenant, beginning, units, looks_below=False)
