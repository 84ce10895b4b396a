"""The report of a soak as one Markdown page.

Responsible for words and tables. It must not judge.
"""

from __future__ import annotations

import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence

from tests.bench.soak.course import Outcome
from tests.bench.soak.sampling import Held
from tests.bench.soak.tally import Kill, Tally, unexplained
from tests.bench.soak.verdicts import Verdict, mebibytes, warm_up_seconds

_PROCESS_HEAD = ("process", "seconds", "resident set", "its share (PSS)", "descriptors", "threads")
_FAILURES_SHOWN = 20


def page(outcome: Outcome, verdicts: Sequence[Verdict]) -> str:
    """The whole page."""
    missed = sum(not verdict.is_met for verdict in verdicts)
    failures = unexplained(outcome.tally.failures, outcome.kills)
    parts = [
        "# Soak",
        _title(outcome),
        f"**{f'{missed} goals are missed' if missed else 'Every goal is met'}.**",
        _table(("goal", "allowed", "measured", "verdict"), map(_verdict, verdicts)),
        "## Requests",
        _requests(outcome.tally, Counter(failure.kind for failure in failures)),
        "## Processes",
        _table(_PROCESS_HEAD, map(_process, outcome.held)),
    ]
    if outcome.kills:
        parts += ["## Killed workers", _table(("process", "connections", "replaced after"), map(_kill, outcome.kills))]
    if failures:
        parts += ["## Failures that no kill explains", _list(f"{each.kind}: {each.what}" for each in failures)]
    if outcome.trouble:
        parts += ["## On standard error", _list(outcome.trouble)]
    return "\n\n".join(parts) + "\n"


def _title(outcome: Outcome) -> str:
    options = outcome.options
    return (
        f"{options.seconds / 60:g} minutes, `--workers {options.workers}`, about {options.rate:g} requests a second, "
        f"{outcome.changes} changes of the cluster, {len(outcome.kills)} workers killed; "
        f"Python {platform.python_version()} on {platform.system()} {platform.release()}, "
        f"{os.cpu_count()} CPUs. Growth is that of the line through the samples after the warm-up "
        f"({warm_up_seconds(options.seconds):.0f} s)."
    )


def _requests(tally: Tally, failed: Counter[str]) -> str:
    all_failed = Counter(failure.kind for failure in tally.failures)
    rows = (
        (kind, asked, tally.answered[kind], all_failed[kind] - failed[kind], failed[kind])
        for kind, asked in sorted(tally.asked.items())
    )
    return _table(("kind", "asked", "answered", "lost with a killed worker", "failed"), rows)


def _verdict(verdict: Verdict) -> tuple[str, ...]:
    return verdict.goal, verdict.allowed, verdict.measured, "met" if verdict.is_met else "**missed**"


def _process(held: Held) -> tuple[str, ...]:
    (start, first), (end, last) = held.samples[0], held.samples[-1]
    return (
        held.name,
        f"{end - start:.0f}",
        f"{mebibytes(first.resident_bytes)} → {mebibytes(last.resident_bytes)}",
        f"{mebibytes(first.private_bytes)} → {mebibytes(last.private_bytes)}",
        f"{first.descriptors} → {last.descriptors}",
        f"{first.threads} → {last.threads}",
    )


def _kill(kill: Kill) -> tuple[str, ...]:
    return str(kill.pid), str(len(kill.ports)), "never" if kill.seconds is None else f"{kill.seconds:.2f} s"


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = (head, ["---"] * len(head), *rows)
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"* `{line}`" for line in list(lines)[:_FAILURES_SHOWN])
