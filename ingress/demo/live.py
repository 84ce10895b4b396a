"""Renders the live view: zones, requests a second, shares and reasons; redrawn on a terminal, plain lines elsewhere.

Only makes text. Does not know where the numbers come from.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from textwrap import wrap
from typing import TextIO

import msgspec

from balancer.zones.cost import MONTH_SECONDS
from ingress.demo.cluster import ZONES
from ingress.demo.observing import RequestCounts

_BAR_WIDTH = 24
_FINDINGS_SHOWN = 3
_COLUMNS_MIN = 20  # on a narrower terminal even a zone and its rate are cut


class Tick(msgspec.Struct, frozen=True):
    """What happened in the last `seconds`. `failed` counts from the start, `says` is what happens now.

    `account` counts requests over HTTP/1.1, and `calls` those of gRPC; `failed` counts both.

    `findings` are lines, the most harmful first. `dollars_per_gigabyte` is the price of traffic between zones.
    """

    says: str
    own_zone: str
    seconds: float
    account: RequestCounts
    failed: int
    calls: RequestCounts = RequestCounts()
    findings: tuple[str, ...] = ()
    dollars_per_gigabyte: float = 0.0


def table(tick: Tick, columns: int = 80) -> list[str]:
    """The lines of the table, none longer than `columns`.

    They show what happens now, a row for each zone, the reasons, the money, the failures, and findings.
    """
    rows = [f"{'zone':<14}{'requests/s':>10}{'share':>7}", *(_zone_row(zone, tick) for zone in _zones(tick))]
    said = [
        f"reason    {_rates(tick.account.reasons, tick.seconds) or '-'}",
        f"gRPC      {_calls(tick)}",
        f"money     {_money(tick)}",
        f"failed    {tick.failed}",
        f"findings  {len(tick.findings)}",
        *(f"  {finding}" for finding in tick.findings[:_FINDINGS_SHOWN]),
    ]
    columns = max(columns, _COLUMNS_MIN)
    lines = [*wrap(tick.says, columns), "", *(row[:columns].rstrip() for row in rows), ""]
    return lines + [part for text in said for part in wrap(text, columns, subsequent_indent="    ")]


def line(tick: Tick) -> str:
    """What the table shows of a moment, in one line."""
    zones = "  ".join(f"{zone} {_share(zone, tick):.0%}" for zone in _zones(tick))
    rate = tick.account.requests / tick.seconds
    reasons = ", ".join(tick.account.reasons) or "-"
    counts = f"failed {tick.failed}  findings {len(tick.findings)}"
    return (
        f"{tick.says}  {rate:.0f} requests/s  {zones}  reason {reasons}  gRPC {_calls(tick)}  {_money(tick)}  {counts}"
    )


class Screen:
    """Shows the view: on a terminal each tick replaces the last one, elsewhere it adds a line."""

    __slots__ = ("_drawn", "_size", "_stream", "_terminal")

    def __init__(self, stream: TextIO, size: Callable[[], os.terminal_size] = shutil.get_terminal_size) -> None:
        """`size` returns the present columns and lines of the terminal, which its user may change."""
        self._stream = stream
        self._size = size
        self._terminal = stream.isatty()
        self._drawn: list[str] = []

    def show(self, tick: Tick) -> None:
        if not self._terminal:
            self._write(line(tick))
            return
        columns, height = self._size()
        lines = table(tick, columns)[: max(height - 1, 1)]  # lines that have scrolled off the top cannot be replaced
        self._write(self._erase() + "\n".join(lines))
        self._drawn = lines

    def say(self, text: str) -> None:
        """Text that stays."""
        self._write(self._erase() + text)

    def _erase(self) -> str:
        """The control sequence that erases the last table (ECMA-48: CPL and ED), if there is one.

        A line that is longer than the present width of the terminal takes several rows.
        """
        columns = max(self._size().columns, 1) if self._drawn else 1
        height = sum(max(1, -(-len(text) // columns)) for text in self._drawn)
        self._drawn = []
        return f"\x1b[{height}F\x1b[J" if height else ""

    def _write(self, text: str) -> None:
        print(text, file=self._stream, flush=True)


def _zones(tick: Tick) -> list[str]:
    return sorted({*ZONES, *tick.account.by_zone})


def _zone_row(zone: str, tick: Tick) -> str:
    name = f"{zone} (own)" if zone == tick.own_zone else zone
    rate, share = tick.account.by_zone.get(zone, 0) / tick.seconds, _share(zone, tick)
    return f"{name:<14}{rate:>10.0f}{share:>7.0%}  {'#' * round(share * _BAR_WIDTH)}".rstrip()


def _share(zone: str, tick: Tick) -> float:
    requests = tick.account.requests
    return tick.account.by_zone.get(zone, 0) / requests if requests else 0.0


def _calls(tick: Tick) -> str:
    """Where the calls of the one connection went."""
    return _rates(tick.calls.by_zone, tick.seconds) or "-"


def _rates(counts: Mapping[str, int], seconds: float) -> str:
    return ", ".join(f"{name} {count / seconds:.0f}/s" for name, count in sorted(counts.items()))


def _money(tick: Tick) -> str:
    saved = a_month(tick.account.saved_dollars, tick.seconds)
    word = "saved" if saved > -0.005 else "lost"
    return f"{word} ${abs(saved):,.2f} a month at this rate (${tick.dollars_per_gigabyte:g}/GB between zones)"


def a_month(dollars: float, seconds: float) -> float:
    """The dollars of 30 days at the rate of `dollars` in `seconds`."""
    return dollars / seconds * MONTH_SECONDS
