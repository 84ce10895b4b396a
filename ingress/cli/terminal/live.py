"""The live view of `zonal top` on the whole terminal, drawn by rich.

Imported only where it is shown, because rich is an extra.
"""

from __future__ import annotations

import time
from contextlib import suppress
from typing import Final

import msgspec
from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table as Drawn
from rich.text import Text

from ingress.cli.terminal.fleet import fleet_flows_table, fleet_notes, fleet_view, replicas_table
from ingress.cli.terminal.keyboard import Keyboard
from ingress.cli.terminal.keys import HELP, TopSight, pressed
from ingress.cli.terminal.lookout import CannotShow, Lookout, TopOptions
from ingress.cli.terminal.ranking import chosen, flows_table, headline, services_table, sick_zones_table
from ingress.cli.terminal.rates import TrafficRates
from ingress.cli.terminal.tables import Grid, fitted
from ingress.findings import printable

# Lines of the screen that belong to neither table: the headline, the line about order, heads, gaps, and a margin.
_OTHER_LINES: Final = 9
# The gap and the head of the table of sick zones, which is there only while a zone is.
_HEAD_LINES: Final = 2
# Dry runs that have a line of their own.
_DRY_RUNS_MOST: Final = 3


def run_live(watch: Lookout, options: TopOptions) -> int:
    """Draws anew at every interval and after each key, until `q` or Ctrl-C. Raises `CannotShow` if no replica answers
    at the start.
    """
    console = Console()
    first = watch.look()
    with (
        Keyboard() as keyboard,
        Live(console=console, screen=True, auto_refresh=False) as live,
        suppress(KeyboardInterrupt),
    ):
        _show(first, watch, options, live, keyboard)
    return 0


def _show(found: TrafficRates, watch: Lookout, options: TopOptions, live: Live, keyboard: Keyboard) -> None:
    sight = TopSight(order=options.choice.order, interval_seconds=options.interval_seconds)
    shown: TrafficRates | CannotShow = found
    due = time.monotonic() + sight.interval_seconds
    while not sight.ended:
        live.update(_told(shown, watch, options, sight, live.console.size), refresh=True)
        if key := keyboard.key(due - time.monotonic()):
            sight = pressed(sight, key)
        elif time.monotonic() >= due:
            shown = shown if sight.holds else _look(watch)
            due = time.monotonic() + sight.interval_seconds


def _look(watch: Lookout) -> TrafficRates | CannotShow:
    try:
        return watch.look()
    except CannotShow as error:
        return error


def _told(
    shown: TrafficRates | CannotShow, watch: Lookout, options: TopOptions, sight: TopSight, size: ConsoleDimensions
) -> RenderableType:
    if isinstance(shown, CannotShow):
        return Text(f"{shown} ({HELP})", style="red")
    return drawn(shown, watch, options, sight, size)


def drawn(
    found: TrafficRates, watch: Lookout, options: TopOptions, sight: TopSight, size: ConsoleDimensions
) -> RenderableType:
    """A screen of this size. Services that find no room are counted in the last line."""
    if sight.shows_fleet:
        return _drawn_fleet(found, watch, sight)
    shown = chosen(found, msgspec.structs.replace(options.choice, order=sight.order))
    sick = sick_zones_table(shown.services)
    sick_room = len(sick.rows) and len(sick.rows) + _HEAD_LINES
    tried = [f"{each.namespace}/{each.name}: {each.tried_text}" for each in shown.services if each.tried_text]
    tried = tried[:_DRY_RUNS_MOST]
    others = sick_room + len(watch.problems) + len(tried) + _OTHER_LINES
    room = max(1, size.height - len(shown.flows) - others)
    first = min(sight.first, max(0, len(shown.services) - room))
    return Group(
        Text(headline(found), style="bold", no_wrap=True, overflow="ellipsis"),
        *(Text(f"{answer.admin}: {answer.problem}", style="red") for answer in watch.problems),
        Text(""),
        _drawn_table(flows_table(shown.flows)),
        *((Text(""), _drawn_table(sick)) if sick.rows else ()),
        Text(""),
        _drawn_table(fitted(services_table(shown.services[first : first + room]), size.width)),
        *(Text(printable(each, limit=size.width), no_wrap=True, overflow="ellipsis") for each in tried),
        Text(_last_line(len(shown.services) - room, sight), style="dim", no_wrap=True, overflow="ellipsis"),
    )


def _drawn_fleet(found: TrafficRates, watch: Lookout, sight: TopSight) -> RenderableType:
    """All replicas and the sums of their flows, as the replicas know them that were asked."""
    fleet = fleet_view(watch.answers)
    return Group(
        Text(headline(found), style="bold", no_wrap=True, overflow="ellipsis"),
        *(Text(f"{answer.admin}: {answer.problem}", style="red") for answer in watch.problems),
        Text(""),
        _drawn_table(replicas_table(fleet)),
        Text(""),
        _drawn_table(fleet_flows_table(fleet)),
        *(Text(note, style="red" if note else "") for note in fleet_notes(fleet)),
        Text(_last_line(0, sight), style="dim", no_wrap=True, overflow="ellipsis"),
    )


def _last_line(hidden: int, sight: TopSight) -> str:
    more = f"and {hidden} more Services; " if hidden > 0 else ""
    held = "held" if sight.holds else f"every {sight.interval_seconds:g} s"
    return f"{more}by {sight.order.value}, {held}; {HELP}"


def _drawn_table(plain: Grid) -> Drawn:
    """Cells are texts, not markup: a name in brackets must not become a colour."""
    made = Drawn(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in plain.columns:
        made.add_column(Text(column.name.upper()), justify="right" if column.is_number else "left", no_wrap=True)
    for row in plain.rows:
        made.add_row(*(Text(cell) for cell in row.cells))
    return made
