"""The report of a run as one Markdown page.

Responsible for words and tables. It must not judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tests.bench.chaos.actors import Played
from tests.bench.chaos.course import Outcome
from tests.bench.chaos.modest import Served
from tests.bench.chaos.quarters import RULE, means
from tests.bench.peers.results import Machine
from tests.bench.soak.trends import Point
from tests.bench.soak.verdicts import Verdict, mebibytes

_SHOWN = 20
_JUDGED = {
    False: "The goal is on resident sets.",
    True: "The goal is on the bytes that are allocated. The resident set holds also what AddressSanitizer keeps about "
    "memory, and what it has freed and not given back after a peak.",
}
_SIDES = {
    "client": "Hostile clients",
    "endpoint": "Hostile endpoints",
    "tenant": "Hostile tenants",
}


def page(outcome: Outcome, verdicts: Sequence[Verdict], machine: Machine) -> str:
    """The whole page."""
    missed = sum(not verdict.is_met for verdict in verdicts)
    parts = [
        "# Chaos",
        "Made by `make chaos` from `tests/bench/chaos`; do not edit.",
        _title(outcome, machine),
        f"**{f'{missed} goals are missed' if missed else 'Every goal is met'}**.",
        _table(("goal", "allowed", "measured", "verdict"), map(_verdict, verdicts)),
        "## The modest tenant",
        f"GETs of 1 KiB and 64 KiB and POSTs of 4 KiB, {outcome.options.rate} a second over each protocol. A request "
        "fails if it is refused, cut, later than 5 s, answered with an error or with another request's body. The 5 s "
        "are of the clock. Medians and percentiles leave out the time in which these processes waited for a processor, "
        "summed, so on a machine that is full they say too little.",
        _table(("", "over", "requests", "failed", "median", "p99", "slowest"), _modest(outcome)),
        "## Memory",
        f"By quarters of the run. {RULE} {_JUDGED[bool(outcome.allocated)]}",
        _table(("process", "", "1st", "2nd", "3rd", "4th", "most"), _memory(outcome)),
        *(part for side, title in _SIDES.items() for part in _side(title, side, outcome.played)),
        *_lists(outcome),
    ]
    return "\n\n".join(parts) + "\n"


def _title(outcome: Outcome, machine: Machine) -> str:
    options = outcome.options
    text = (
        f"{options.seconds / 60:g} minutes on {outcome.build}, `--workers {options.workers}`, commit "
        f"{machine.revision or 'unknown'}, seed {options.seed}. {machine.date}, {machine.processor}, {machine.cores} "
        f"cores, {machine.kernel}. zonal, its endpoints and all clients share the machine, whose load average from "
        f"other work was {machine.load:g} before; all is on loopback. zonal answered {outcome.answered:,} requests, "
        f"and the manifests changed {outcome.changes:,} times."
    )
    if options.only:
        text += f" Played only: {', '.join(sorted(options.only))}."
    return f"{text} Not played: {', '.join(sorted(options.without))}." if options.without else text


def _modest(outcome: Outcome) -> Iterable[tuple[str, ...]]:
    return [_served("alone", each) for each in outcome.alone] + [_served("beside all", each) for each in outcome.beside]


def _served(when: str, served: Served) -> tuple[str, ...]:
    times = (served.median_seconds, served.p99_seconds, served.slowest_seconds)
    figures = (f"{seconds * 1000:,.1f} ms" for seconds in times)
    return when, served.name, f"{served.requests:,}", f"{len(served.failures):,}", *figures


def _memory(outcome: Outcome) -> Iterable[tuple[str, ...]]:
    for held in outcome.held:
        if allocated := outcome.allocated.get(held.pid):
            yield held.name, "allocated", *_sizes(allocated, outcome)
        yield held.name, "resident set", *_sizes(held.points(lambda each: each.resident_bytes), outcome)


def _sizes(points: Sequence[Point], outcome: Outcome) -> Iterable[str]:
    quarters = means(points, start=outcome.began, end=outcome.ended)
    return map(mebibytes, (*quarters, max(point.value for point in points)))


def _side(title: str, side: str, played: Sequence[Played]) -> tuple[str, ...]:
    rows = (_played(each) for each in played if each.side == side)
    return f"## {title}", _table(("who", "turns", "ended by an error or a deadline", "what they did"), rows)


def _played(played: Played) -> tuple[str, ...]:
    did = ", ".join(f"{number:,} {what}" for what, number in sorted(played.counts.items()))
    return played.name, f"{played.turns:,}", f"{played.ended:,}", did


def _verdict(verdict: Verdict) -> tuple[str, ...]:
    return verdict.goal, verdict.allowed, verdict.measured, "met" if verdict.is_met else "**missed**"


def _lists(outcome: Outcome) -> Iterable[str]:
    """What went wrong, only where something did."""
    found = {
        "Reports": outcome.reports,
        "Failures of the modest tenant": [
            f"{each.name}: {what}" for each in outcome.beside for what in each.failures[: _SHOWN // 3]
        ],
        "On standard error": outcome.trouble,
        "Connections left": [f"{state}: {count}" for state, count in outcome.connections_left.items() if count],
        "Faults of actors": [what for each in outcome.played for what in each.faults],
    }
    for title, lines in found.items():
        if lines:
            yield f"## {title}"
            yield "\n".join(f"* `{line}`" for line in lines[:_SHOWN])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---"] * len(head), *rows))
