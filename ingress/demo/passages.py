"""Sums up the live demo: what came of the requests in each phase, as its clients saw them.

Only counts and makes text. A request counts in the passage in which it began, wherever it ends.
Does not know when a phase begins.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingress.demo.traffic import Tally

_HEADINGS: Sequence[str] = ("phase", "requests", "failed", "local")


class Passages:
    """The passages of the demo, one after the other, in traffic without an end. `whole` counts all of that traffic."""

    __slots__ = ("_current", "_own_zone", "_rows", "whole")

    def __init__(self, *, own_zone: str) -> None:
        self._own_zone = own_zone
        self._rows: list[tuple[str, Tally]] = []
        self._current = Tally()
        self.whole = self._current

    def at_start(self) -> Tally:
        """The tally of a request that begins now: that of the present passage, or `whole` between passages."""
        return self._current

    def begin(self, name: str) -> None:
        """Requests that begin from here on belong to passage `name`."""
        self._current = Tally(self.whole)
        self._rows.append((name, self._current))

    def end(self) -> None:
        """Requests that begin from here on belong to no passage."""
        self._current = self.whole

    def summary(self) -> str:
        """A line for each passage, and one with all traffic, also that between passages."""
        whole = ("in all", str(self.whole.requests), str(self.whole.failed), "")
        rows = [_HEADINGS, *(self._row(name, tally) for name, tally in self._rows), whole]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join((f"Own zone: {self._own_zone}", "", *lines))

    def _row(self, name: str, tally: Tally) -> Sequence[str]:
        local = f"{tally.by_zone[self._own_zone] / tally.requests:.0%}" if tally.requests else "-"
        return name, str(tally.requests), str(tally.failed), local
