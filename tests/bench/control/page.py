"""The report as text for the terminal and as a page of the docs."""

from __future__ import annotations

from math import isfinite

from tests.bench.control.figures import Figure, Report, Results, RunReport

_HEADINGS = ("what", "measured", "bar", "verdict", "in detail")

_PAGE = """# How the control plane performs

Made by `make bench-control` from `tests/bench/control`; do not edit.

{date}, {machine}, {versions}. {cluster}

The proxy runs on core 0 (with two workers on both), the API server of the tests, the endpoints and the clients on
core 1. CPU is what the kernel accounts to the processes, user and system. Latencies are of an open loop with a free
connection for each request; *late* is the p99 of the generator's own delay. The access log, the metrics and zone-aware
routing are on; this replica is not the leader that writes statuses.

{tables}
{remarks}{routes}"""

_ROUTES = """
# Gateway API

{date}, {machine}, {versions}. {cluster}

Each change is another path of one route; a request for the path that it had gets another answer as soon as its worker
follows. Statuses are written by a replica that leads, which was measured by itself.

{tables}
"""


def text(report: Report) -> str:
    """For the terminal."""
    runs = [report, *([report.routes] if report.routes is not None else [])]
    return "\n".join([*(line for run in runs for line in _run_text(run)), "", *report.remarks])


def markdown(report: Report) -> str:
    """The page, whole."""
    routes = report.routes
    return _PAGE.format(
        **_said(report),
        remarks="".join(f"\n* {remark}" for remark in report.remarks) + ("\n" if report.remarks else ""),
        routes="" if routes is None else _ROUTES.format(**_said(routes)),
    )


def _said(run: RunReport) -> dict[str, str]:
    return {
        "date": run.date,
        "machine": run.machine,
        "versions": run.versions,
        "cluster": run.cluster,
        "tables": "\n\n".join(map(_table, run.results)),
    }


def _run_text(run: RunReport) -> list[str]:
    lines = [f"{run.date}, {run.machine}, {run.versions}", run.cluster]
    for results in run.results:
        rows = [_HEADINGS, *map(_cells, results.figures)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
        lines += ["", _title(results)]
        lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    return lines


def _title(results: Results) -> str:
    if results.workers == 0:
        return "One process that does everything (`--workers 0`)"
    return f"Worker processes: {results.workers}"


def _table(results: Results) -> str:
    rows = [_HEADINGS, ("---",) * len(_HEADINGS), *map(_cells, results.figures)]
    return "\n".join([f"## {_title(results)}", "", *(f"| {' | '.join(row)} |" for row in rows)])


def _cells(figure: Figure) -> tuple[str, ...]:
    bar = "" if figure.bar is None else f"≤ {_number(figure.bar)} {figure.unit}".rstrip()
    return figure.name, f"{_number(figure.value)} {figure.unit}".rstrip(), bar, figure.verdict, figure.detail


def _number(value: float) -> str:
    """Three digits that count, and no exponent."""
    if not isfinite(value):
        return "none"
    if value == int(value) or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
