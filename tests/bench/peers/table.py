"""A run as the documentation page: the verdicts, where zonal loses, and a table for each case."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.bench.peers import bars
from tests.bench.peers.cases import BARE_LOOP, CASES, NGINX, ZONAL, Case, Kind, label
from tests.bench.peers.results import Machine, Run
from tests.bench.peers.samples import Absence, Figures, Measure

_DECIMALS = {Measure.CPU: 1, Measure.RATE: 0, Measure.P50: 2, Measure.P99: 2, Measure.CONNECTION: 1, Measure.MEMORY: 0}

HEADINGS = {
    Measure.CPU: "CPU µs/request",
    Measure.RATE: "requests/s",
    Measure.P50: "p50 ms",
    Measure.P99: "p99 ms",
    Measure.CONNECTION: "KiB/connection",
    Measure.MEMORY: "PSS MiB",
}

_PAGE = """# Performance

Made by `make bench` from `tests/bench/peers`; do not edit. {incomplete}

![CPU time of a request, and zonal's against nginx's in every case](img/performance.svg)

{machine}

## Bars

{bars}

{losses}

## Cases

{cases}
## How it is measured

* The proxy is pinned to {one}, everything else (load generators and endpoints) to {rest}.
* Each contender is a real program with one worker or thread and no access log; zonal has metrics and the access log on,
  written to a pipe that is read, and `prefer-zone` on, unless its row says otherwise. Every one adds
  `X-Forwarded-For` and `X-Forwarded-Proto` (Envoy, Caddy, Traefik and zonal more of their own). aiohttp runs on uvloop,
  as zonal does. zonal's modules are the plain source, but for the row *compiled*, which is the installed wheel
  (typed.md).
* *uvloop, which passes bytes on and reads none* is no proxy: it keeps a connection to an endpoint for each client's.
  Its row says what the system, the event loop and TLS take of every row of zonal.
* Four endpoints are taken in turn over kept connections; they are ports of one nginx, which answers from memory.
  Calls of gRPC go to four other ports of it, which speak HTTP/2 without TLS.
* The figure is the CPU time of the proxy's whole process tree, user and system, as the kernel counts it, divided by
  the requests that were answered. Requests/s says as much of the load as of the proxy: where a proxy needs less than
  the load and the endpoints do, they are the limit.
* Contenders take turns (A B C A B C) for {rounds} rounds (zone policy against flag off: at least six; memory of idle
  connections: one) of {seconds} s each after a warm-up. A figure is the median of the rounds; a ratio is the median of
  each round's ratio, so it may differ a little from that of the two figures.
* wrk makes the load, and h2load that over HTTP/2, but: full TLS handshakes and WebSocket messages come from small
  programs of this bench, as does the load at half of a proxy's own greatest rate, with independent arrivals; there a
  request that finds all of 64 connections busy waits, and its waiting counts.
* Certificates are ECDSA P-256; sessions are never resumed in the case of full handshakes.
* *PSS* is the proportional set size of the tree after the load; the same process serves all cases, in their order, so
  what it did not give back is in it. An idle connection's memory: what the tree's grows by with {idle} of them, of a
  new process.
* nginx does not buffer uploads, nor answers on disk; HAProxy shares connections to endpoints as freely as it can.
  Everything else is as each comes.
{workers}{missing}"""

_WORKERS = """* Two workers share the proxy's core, as this machine has none to spare, and so are judged by CPU time.
"""


def page(run: Run, *, one: Sequence[int], rest: Sequence[int], is_whole: bool) -> str:
    """The whole file. `one` and `rest` are the cores of the proxy and of everything else."""
    figures = Figures(run.samples)
    return _PAGE.format(
        incomplete="" if is_whole else "**Not a whole run: for a look only.**",
        machine=_machine(run.machine, run.took_seconds),
        bars=_bars(run, figures),
        losses=_losses(figures),
        cases="\n".join(text for case in CASES if (text := _case(case, figures, run.absences))),
        one=_cores(one),
        rest=_cores(rest),
        rounds=run.rounds,
        seconds=run.run_seconds,
        idle=f"{run.idle_connections:,}",
        workers=_WORKERS if run.machine.cores < 4 else "",
        missing=_missing(run.absences),
    )


def text(run: Run) -> str:
    """The verdicts for the terminal."""
    verdicts = _verdicts(run, Figures(run.samples))
    return "\n".join(
        f"{each.bar.case:<12} {_measured(each):>8}  {bars.demand(each.bar):<40} {bars.judgement(each).replace('*', '')}"
        for each in verdicts
    )


def _machine(machine: Machine, took_seconds: float) -> str:
    versions = ", ".join(f"{label(name)} {version}" for name, version in machine.versions.items())
    revision = f", zonal at {machine.revision}" if machine.revision else ""
    return (
        f"{machine.date}{revision}. {machine.cores} cores of {machine.processor}, {machine.kernel}, load average "
        f"{machine.load:g} before. {versions}. It took {took_seconds / 60:.0f} minutes."
    )


def _bars(run: Run, figures: Figures) -> str:
    titles = {case.name: case.title for case in CASES}
    rows = [
        (titles[each.bar.case], bars.demand(each.bar), _measured(each), bars.judgement(each))
        for each in _verdicts(run, figures)
    ]
    return table(("case", "bar", "measured", "verdict"), rows)


def _verdicts(run: Run, figures: Figures) -> list[bars.Verdict]:
    """Of the cases that were run, if only to find somebody missing."""
    cases = {sample.case for sample in run.samples} | {absence.case for absence in run.absences}
    return bars.verdicts([bar for bar in bars.bars(run.machine.cores) if bar.case in cases], figures)


def _measured(verdict: bars.Verdict) -> str:
    return "" if verdict.measured is None else f"{verdict.measured:.2f}"


def _losses(figures: Figures) -> str:
    """Everybody who does with less than zonal, case by case: what the bars leave out."""
    lines = []
    for case in CASES:
        mine = figures.value(case.name, ZONAL, case.measure)
        better = [
            f"{label(name)} ({ratio:.1f} times)"
            for name in figures.contenders(case.name)
            if mine is not None and name != BARE_LOOP and not name.startswith(ZONAL)
            if (ratio := figures.ratio(case.name, ZONAL, name, measure=case.measure)) is not None and ratio > 1
        ]
        if better:
            lines.append(f"* {case.title}: {', '.join(better)}")
    if not lines:
        return ""
    return "## Where zonal loses\n\nIt takes more than these, by so much:\n\n" + "\n".join(lines)


def _case(case: Case, figures: Figures, absences: Iterable[Absence]) -> str:
    """Empty for a case that was not run."""
    missing = {each.contender: each.why for each in absences if each.case == case.name}
    measured = set(figures.contenders(case.name))
    if not measured and not missing:
        return ""
    measures = [measure for measure in HEADINGS if any(figures.value(case.name, name, measure) for name in measured)]
    against = _against(case)
    headings = ["contender", *(HEADINGS[measure] for measure in measures), f"÷ {label(against)}"]
    rows = []
    for name in case.contenders:
        if name in measured:
            cells = [_cell(figures.value(case.name, name, measure), measure) for measure in measures]
            ratio = figures.ratio(case.name, name, against, measure=case.measure)
            rows.append((_named(name), *cells, "" if ratio is None else f"{ratio:.2f}"))
        elif name in missing:
            rows.append((_named(name), f"*{_one_line(missing[name])}*", *[""] * len(measures)))
    return "\n".join([f"### {heading(case.title)}", "", table(headings, rows), "", *_notes(case, figures)])


def heading(title: str) -> str:
    """The title with a capital, unless it begins with a name that has none."""
    return title if title.startswith("gRPC") else f"{title[0].upper()}{title[1:]}"


def _against(case: Case) -> str:
    """Whom a case's ratio is to."""
    return NGINX if NGINX in case.contenders else next(iter(case.contenders))


def _notes(case: Case, figures: Figures) -> list[str]:
    """What a table must not keep to itself."""
    failed = {
        name: share
        for name in figures.contenders(case.name)
        if (share := figures.worst(case.name, name, Measure.FAILED)) is not None and share > 0
    }
    lines = []
    if shares := [f"{label(name)} {share:.2%}" for name, share in failed.items()]:
        lines.append(f"Failed requests (worst round): {', '.join(shares)}.")
    if case.kind is Kind.HALF_LOAD:
        lines.append("The ratio is of p99. The rate differs: it is half of what each had at most just before.")
    return [*lines, ""] if lines else []


def _cell(value: float | None, measure: Measure) -> str:
    return "" if value is None else f"{value:,.{_DECIMALS[measure]}f}"


def _named(name: str) -> str:
    return f"**{label(name)}**" if name.startswith(ZONAL) else label(name)


def _one_line(text: str) -> str:
    return " ".join(text.replace("|", "/").split())[:160]


def _cores(numbers: Sequence[int]) -> str:
    return f"core {numbers[0]}" if len(numbers) == 1 else f"cores {numbers[0]} to {numbers[-1]}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (headings, ["---"] * len(headings), *rows))


def _missing(absences: Iterable[Absence]) -> str:
    names = dict.fromkeys(each.contender for each in absences if each.why == "not installed")
    return f"* Not installed: {', '.join(map(label, names))}.\n" if names else ""
