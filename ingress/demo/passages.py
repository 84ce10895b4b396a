"""Sums up the live demo: what came of the requests in each phase, as its clients saw them.

Only counts and makes text. Does not know when a phase begins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ingress.demo.traffic import Tally

_HEADINGS: Sequence[str] = ("phase", "requests", "failed", "local")


class Passages:
    """The passages of the demo, one after the other, in the traffic that `tally` counts without an end."""

    __slots__ = ("_before", "_failed_before", "_name", "_own_zone", "_rows", "_tally")

    def __init__(self, tally: Tally, *, own_zone: str) -> None:
        self._tally = tally
        self._own_zone = own_zone
        self._rows: list[Sequence[str]] = []
        self._name = ""
        self._failed_before = 0
        self._before: Counter[str] = Counter()

    def begin(self, name: str) -> None:
        """From here on all traffic belongs to passage `name`. The last one is over."""
        self.end()
        self._name, self._before, self._failed_before = name, self._tally.by_zone.copy(), self._tally.failed

    def end(self) -> None:
        """The passage is over, if there is one."""
        if not self._name:
            return
        seen, failed = self._tally.by_zone - self._before, self._tally.failed - self._failed_before
        requests = seen.total() + failed
        local = f"{seen[self._own_zone] / requests:.0%}" if requests else "-"
        self._rows.append((self._name, str(requests), str(failed), local))
        self._name = ""

    def summary(self) -> str:
        """A line for each passage that is over, and one with all traffic, also that between passages."""
        whole = ("in all", str(self._tally.requests), str(self._tally.failed), "")
        rows = [_HEADINGS, *self._rows, whole]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join((f"Own zone: {self._own_zone}", "", *lines))
