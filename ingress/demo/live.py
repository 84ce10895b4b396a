"""The live view: zones, requests a second, shares and reasons, redrawn on a terminal and in plain lines elsewhere.

Responsible for text alone. It must not know where the numbers come from.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TextIO

import msgspec

from ingress.demo.cluster import ZONES
from ingress.demo.observing import Account

_BAR_WIDTH = 24


class Tick(msgspec.Struct, frozen=True):
    """What happened in the last `seconds`; `failed` counts from the start, `says` is what happens now."""

    says: str
    own_zone: str
    seconds: float
    account: Account
    failed: int


def table(tick: Tick) -> list[str]:
    """The lines of the table: what happens now, a row for each zone, the reasons, the failures."""
    return [
        tick.says,
        "",
        f"{'zone':<14}{'requests/s':>10}{'share':>7}",
        *(_zone_row(zone, tick) for zone in _zones(tick)),
        "",
        f"reason  {_rates(tick.account.reasons, tick.seconds) or '-'}",
        f"failed  {tick.failed}",
    ]


def line(tick: Tick) -> str:
    """The same in one line."""
    zones = "  ".join(f"{zone} {_share(zone, tick):.0%}" for zone in _zones(tick))
    rate = tick.account.requests / tick.seconds
    reasons = ", ".join(tick.account.reasons) or "-"
    return f"{tick.says}  {rate:.0f} requests/s  {zones}  reason {reasons}  failed {tick.failed}"


class Screen:
    """Where the view is shown: on a terminal each tick replaces the last one, elsewhere it adds a line."""

    __slots__ = ("_height", "_stream", "_terminal")

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._terminal = stream.isatty()
        self._height = 0

    def show(self, tick: Tick) -> None:
        if not self._terminal:
            self._write(line(tick))
            return
        lines = table(tick)
        self._write(self._erase() + "\n".join(lines))
        self._height = len(lines)

    def say(self, text: str) -> None:
        """Text that stays."""
        self._write(self._erase() + text)

    def _erase(self) -> str:
        """The control sequence that goes back over the last table (ECMA-48: CPL and ED), if there is one."""
        height, self._height = self._height, 0
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


def _rates(counts: Mapping[str, int], seconds: float) -> str:
    return ", ".join(f"{name} {count / seconds:.0f}/s" for name, count in sorted(counts.items()))
