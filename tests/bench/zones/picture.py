"""The simulator's results as a picture: for each scenario, p99 and the share between zones of each policy, as SVG."""

from __future__ import annotations

import math
from html import escape

from tests.bench.zones.measures import Measures
from tests.bench.zones.scenarios import Scenario, least_share
from tests.bench.zones.table import Results, first_runs

COLOURS = {
    "off": "#9aa0a6",
    "two choices": "#5f6368",
    "prefer-zone": "#e8a33d",
    "proportional": "#b86bc4",
    "adaptive": "#1a73e8",
}

WIDTH, NAMES, GAP, BAR = 1000, 360, 40, 7
COLUMN = (WIDTH - NAMES - 2 * GAP) / 2
ROW = len(COLOURS) * BAR + 16
TOP, BOTTOM = 70, 20

# p99 is drawn on a logarithmic scale: a melting zone is a hundred times slower.
P99_LEAST, P99_MOST = 30.0, 100_000.0
SHARE_MOST = 0.7


def svg(results: Results) -> str:
    """The whole file."""
    results = first_runs(results)
    height = TOP + ROW * len(results) + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        f'font-size="12" role="img" aria-label="p99 and share between zones of each policy">',
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
        *_legend(),
        *_axes(height),
    ]
    for place, (scenario, measured) in enumerate(results.items()):
        parts += _row(TOP + ROW * place, scenario, measured=dict(measured))
    return "\n".join([*parts, "</svg>", ""])


def _legend() -> list[str]:
    parts = []
    for place, (name, colour) in enumerate(COLOURS.items()):
        x = NAMES + 110 * place
        parts.append(f'<rect x="{x}" y="12" width="10" height="10" fill="{colour}"/>')
        parts.append(_text(x + 15, 21, name))
    return parts


def _axes(height: int) -> list[str]:
    parts = [
        _text(NAMES, 44, "p99 when settled, ms (logarithmic)"),
        _text(_share_x(0.0), 44, "share between zones; black line: least possible"),
    ]
    ticks = [(NAMES + _p99_width(value), f"{value:,}") for value in (100, 1000, 10_000)]
    ticks += [(_share_x(value), f"{value:.0%}") for value in (0.0, 0.2, 0.4, 0.6)]
    for x, label in ticks:
        parts.append(f'<path d="M{x:.1f} {TOP - 4}V{height - BOTTOM}" stroke="#e0e0e0"/>')
        parts.append(_text(x, TOP - 9, label, anchor="middle"))
    return parts


def _row(top: int, scenario: Scenario, *, measured: dict[str, Measures]) -> list[str]:
    parts = [_text(NAMES - 12, top + ROW / 2, scenario.name, anchor="end")]
    for place, (name, colour) in enumerate(COLOURS.items()):
        y = top + 4 + BAR * place
        for x, width in (
            (float(NAMES), _p99_width(measured[name].steady)),
            (_share_x(0.0), COLUMN * min(measured[name].cross_share, SHARE_MOST) / SHARE_MOST),
        ):
            parts.append(
                f'<rect x="{x:.1f}" y="{y}" width="{max(width, 1.0):.1f}" height="{BAR - 1}" fill="{colour}"/>'
            )
    least = _share_x(least_share(scenario))
    parts.append(f'<path d="M{least:.1f} {top + 1}v{ROW - 10}" stroke="#000000" stroke-width="1.5"/>')
    return parts


def _share_x(share: float) -> float:
    return NAMES + COLUMN + GAP + COLUMN * share / SHARE_MOST


def _p99_width(milliseconds: float) -> float:
    """The length of a bar."""
    return COLUMN * math.log(max(milliseconds, P99_LEAST) / P99_LEAST) / math.log(P99_MOST / P99_LEAST)


def _text(x: float, y: float, text: str, *, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'
