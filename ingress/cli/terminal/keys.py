"""What the keys of the live view of `zonal top` do.

Pure. Does not know terminals.
"""

from __future__ import annotations

from typing import Final

import msgspec

from ingress.cli.terminal.ranking import Order

HELP: Final = "q end, f fleet, s sort, j/k move, space hold, +/- pace"
"""The keys, in the last line of the view."""

_SWITCHES: Final = {" ": "holds", "f": "shows_fleet"}
_ORDERS: Final = tuple(Order)
_SHORTEST_SECONDS: Final = 0.2
_LONGEST_SECONDS: Final = 3600.0
_PAGE: Final = 10
_UP, _DOWN, _PAGE_UP, _PAGE_DOWN = "\x1b[A", "\x1b[B", "\x1b[5~", "\x1b[6~"
_STEPS: Final = {"k": -1, _UP: -1, "j": 1, _DOWN: 1, _PAGE_UP: -_PAGE, _PAGE_DOWN: _PAGE}


class TopSight(msgspec.Struct, frozen=True, kw_only=True):
    """How the traffic is looked at: the order of Services, the first one shown, and the seconds between two looks.

    `holds`: the figures stay as they are. `shows_fleet`: all replicas in place of Services. `ended`: the view is over.
    """

    order: Order
    interval_seconds: float
    first: int = 0
    holds: bool = False
    shows_fleet: bool = False
    ended: bool = False


def pressed(sight: TopSight, key: str) -> TopSight:
    """The sight after a key, which is one character or the sequence that a terminal sends for it (ECMA-48)."""
    if key == "q":
        return msgspec.structs.replace(sight, ended=True)
    if key in ("s", "S"):
        step = 1 if key == "s" else -1
        order = _ORDERS[(_ORDERS.index(sight.order) + step) % len(_ORDERS)]
        return msgspec.structs.replace(sight, order=order, first=0)
    if key in _STEPS:
        return msgspec.structs.replace(sight, first=max(0, sight.first + _STEPS[key]))
    if key in _SWITCHES:
        switch = _SWITCHES[key]
        return msgspec.structs.replace(sight, **{switch: not getattr(sight, switch)})
    if key in ("+", "-"):
        seconds = sight.interval_seconds / 2 if key == "+" else sight.interval_seconds * 2
        return msgspec.structs.replace(sight, interval_seconds=min(max(seconds, _SHORTEST_SECONDS), _LONGEST_SECONDS))
    return sight
