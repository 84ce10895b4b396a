"""A run as a picture: who takes how much CPU time for a plain GET, and zonal against nginx in every case, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

from tests.bench.peers.bars import BARS
from tests.bench.peers.cases import CASES, COMPILED, NGINX, ZONAL, label
from tests.bench.peers.results import Run
from tests.bench.peers.samples import Figures, Measure

WIDTH, NAMES, ROW, BAR, TOP, GAP = 1000, 330, 24, 15, 40, 30
_LENGTH = WIDTH - NAMES - 90
_OURS, _OTHERS, _OVER = "#1a73e8", "#9aa0a6", "#d93025"


class Row(NamedTuple):
    """One bar; `mark` is where a black line says what it should be at most."""

    name: str
    value: float
    figure: str
    colour: str
    mark: float | None = None


def svg(run: Run) -> str:
    """The whole file; panels without figures are left out."""
    figures = Figures(run.samples)
    panels = [
        ("CPU microseconds of a GET of 107 bytes, keep-alive", _contenders(figures)),
        ("zonal's CPU time (latency: p99) in multiples of nginx's; black line: the bar", _ratios(figures)),
    ]
    parts: list[str] = []
    top = 0
    for title, rows in panels:
        if rows:
            parts += _panel(top, title, rows)
            top += TOP + ROW * len(rows) + GAP
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {max(top, 1)}" font-family="sans-serif" '
            'font-size="13" role="img" aria-label="CPU time of a request by proxy, and zonal against nginx by case">',
            f'<rect width="{WIDTH}" height="{max(top, 1)}" fill="#ffffff"/>',
            *parts,
            "</svg>",
            "",
        ]
    )


def _contenders(figures: Figures) -> list[Row]:
    values = {name: figures.value("get", name, Measure.CPU) for name in figures.contenders("get")}
    rows = [
        Row(label(name).strip("*"), value, f"{value:.1f}", _OURS if name.startswith(ZONAL) else _OTHERS)
        for name, value in values.items()
        if value is not None
    ]
    return sorted(rows, key=lambda row: row.value)


def _ratios(figures: Figures) -> list[Row]:
    """The compiled build is below the plain source."""
    wanted = [bar for bar in BARS if bar.against == NGINX]
    rows = []
    for case in CASES:
        for bar in wanted:
            ratio = figures.ratio(case.name, bar.contender, NGINX, measure=bar.measure)
            if ratio is not None and bar.case == case.name:
                name = "the same, compiled" if bar.contender == COMPILED else case.title
                rows.append(Row(name, ratio, f"{ratio:.2f}", _OURS if ratio <= bar.limit else _OVER, bar.limit))
    return rows


def _panel(top: int, title: str, rows: Sequence[Row]) -> list[str]:
    most = max(max(row.value, row.mark or 0.0) for row in rows)
    parts = [_text(12, top + 24, title, weight="bold")]
    for place, row in enumerate(rows):
        y = top + TOP + ROW * place
        length = _LENGTH * row.value / most
        parts += [
            _text(NAMES - 10, y + 12, row.name, anchor="end"),
            f'<rect x="{NAMES}" y="{y}" width="{length:.1f}" height="{BAR}" fill="{row.colour}"/>',
            _text(NAMES + max(length, _LENGTH * (row.mark or 0.0) / most) + 8, y + 12, row.figure),
        ]
        if row.mark is not None:
            x = NAMES + _LENGTH * row.mark / most
            parts.append(f'<path d="M{x:.1f} {y - 3}v{BAR + 6}" stroke="#000000" stroke-width="2"/>')
    return parts


def _text(x: float, y: float, text: str, *, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-weight="{weight}">{escape(text)}</text>'
