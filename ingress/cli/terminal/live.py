"""The live view of `zonal top` on the whole terminal, drawn by rich.

Imported only where it is shown, because rich is an extra.
"""

from __future__ import annotations

import time
from typing import Final

from rich.console import Console, ConsoleDimensions, Group, RenderableType
from rich.live import Live
from rich.table import Table as Drawn
from rich.text import Text

from ingress.cli.terminal.lookout import CannotShow, Lookout, TopOptions
from ingress.cli.terminal.ranking import chosen, flows_table, headline, services_table, sick_zones_table
from ingress.cli.terminal.rates import TrafficRates
from ingress.cli.terminal.tables import Grid, fitted

# Lines of the screen that belong to neither table: the headline, the line about order, heads, gaps, and a margin.
_OTHER_LINES: Final = 9
# The gap and the head of the table of sick zones, which is there only while a zone is.
_HEAD_LINES: Final = 2


def run_live(watch: Lookout, options: TopOptions) -> int:
    """Draws anew at every interval until Ctrl-C. Raises `CannotShow` if no replica answers at the start."""
    console = Console()
    first = watch.look()
    with Live(console=console, screen=True, auto_refresh=False) as live:
        try:
            live.update(drawn(first, watch, options, console.size), refresh=True)
            while True:
                time.sleep(options.interval_seconds)
                live.update(_next(watch, options, console.size), refresh=True)
        except KeyboardInterrupt:
            return 0


def _next(watch: Lookout, options: TopOptions, size: ConsoleDimensions) -> RenderableType:
    try:
        return drawn(watch.look(), watch, options, size)
    except CannotShow as error:
        return Text(str(error), style="red")


def drawn(found: TrafficRates, watch: Lookout, options: TopOptions, size: ConsoleDimensions) -> RenderableType:
    """A screen of this size. Services that find no room are counted in the last line."""
    shown = chosen(found, options.choice)
    sick = sick_zones_table(shown.services)
    sick_room = len(sick.rows) and len(sick.rows) + _HEAD_LINES
    room = max(1, size.height - len(shown.flows) - sick_room - len(watch.problems) - _OTHER_LINES)
    hidden = len(shown.services) - room
    about = f"by {options.choice.order.value}, every {options.interval_seconds:g} s; Ctrl-C ends"
    return Group(
        Text(headline(found), style="bold", no_wrap=True, overflow="ellipsis"),
        *(Text(f"{answer.admin}: {answer.problem}", style="red") for answer in watch.problems),
        Text(""),
        _drawn_table(flows_table(shown.flows)),
        *((Text(""), _drawn_table(sick)) if sick.rows else ()),
        Text(""),
        _drawn_table(fitted(services_table(shown.services[:room]), size.width)),
        Text(f"and {hidden} more Services; {about}" if hidden > 0 else about, style="dim"),
    )


def _drawn_table(plain: Grid) -> Drawn:
    """Cells are texts, not markup: a name in brackets must not become a colour."""
    made = Drawn(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for column in plain.columns:
        made.add_column(Text(column.name.upper()), justify="right" if column.is_number else "left", no_wrap=True)
    for row in plain.rows:
        made.add_row(*(Text(cell) for cell in row.cells))
    return made
