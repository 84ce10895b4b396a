"""Sums up the live demo: what came of the requests in each phase, as its clients saw them, and what their bytes cost.

Only counts and makes text. A request counts in the passage in which it began, wherever it ends; dollars count in the
passage in which the ingress told them. Does not know when a phase begins.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from ingress.demo.live import a_month
from ingress.demo.observing import RequestCounts
from ingress.demo.traffic import Tally

_HEADINGS: Sequence[str] = ("phase", "requests", "failed", "local", "$/month", "saved")


class _Spending(msgspec.Struct, eq=False):
    """Dollars between zones, as they were and without zones, and the seconds in which they were spent."""

    dollars: float = 0.0
    blind_dollars: float = 0.0
    seconds: float = 0.0

    def add(self, account: RequestCounts) -> None:
        self.dollars += account.dollars
        self.blind_dollars += account.blind_dollars

    def cells(self) -> Sequence[str]:
        """What a month costs at this rate, and how much less that is than without zones."""
        if not self.seconds:
            return "-", "-"
        cost, blind = a_month(self.dollars, self.seconds), a_month(self.blind_dollars, self.seconds)
        return f"{cost + 0.0:,.2f}", f"{round(blind - cost, 2) + 0.0:,.2f}"


class Passages:
    """The passages of the demo, one after the other, in traffic without an end. `whole` counts all of that traffic."""

    __slots__ = ("_current", "_known", "_noted_at", "_own_zone", "_rows", "_spending", "_spent", "whole")

    def __init__(self, *, own_zone: str) -> None:
        self._own_zone = own_zone
        self._rows: list[tuple[str, Tally, _Spending]] = []
        self._current = Tally()
        self._spending = _Spending()
        self._spent = self._spending
        self._known: Sequence[RequestCounts] = ()
        self._noted_at = 0.0
        self.whole = self._current

    def at_start(self) -> Tally:
        """The tally of a request that begins now: that of the present passage, or `whole` between passages."""
        return self._current

    def begin(self, name: str) -> None:
        """Requests that begin from here on belong to passage `name`."""
        self._current = Tally(self.whole)
        self._spending = _Spending()
        self._rows.append((name, self._current, self._spending))

    def end(self) -> None:
        """Requests that begin from here on belong to no passage."""
        self._current = self.whole
        self._spending = self._spent

    def note(self, accounts: Sequence[RequestCounts], now: float) -> None:
        """Takes what the ingress has counted of each Service until `now`, in seconds of any clock.

        What it has counted since the last note belongs to the present passage. The first note only begins.
        """
        for known, account in zip(self._known, accounts, strict=False):
            for spending in {self._spending, self._spent}:
                spending.add(account.since(known))
        if self._known:
            for spending in {self._spending, self._spent}:
                spending.seconds += now - self._noted_at
        self._known = accounts
        self._noted_at = now

    def summary(self) -> str:
        """A line for each passage, and one with all traffic, also that between passages."""
        whole = ("in all", str(self.whole.requests), str(self.whole.failed), "", *self._spent.cells())
        rows = [_HEADINGS, *(self._row(*each) for each in self._rows), whole]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
        return "\n".join((f"Own zone: {self._own_zone}", "", *lines, "", _MEANING))

    def _row(self, name: str, tally: Tally, spending: _Spending) -> Sequence[str]:
        local = f"{tally.by_zone[self._own_zone] / tally.requests:.0%}" if tally.requests else "-"
        return name, str(tally.requests), str(tally.failed), local, *spending.cells()


_MEANING = "Dollars are those of 30 days at the rate of the phase; saved: what a proxy without zones costs more."
