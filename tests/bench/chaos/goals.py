"""The goals of a run, and whether an outcome meets them.

Responsible for what is promised. It must not know how anything was measured.
"""

from __future__ import annotations

from collections.abc import Iterator

from tests.bench.chaos.course import Outcome
from tests.bench.chaos.quarters import flat, means
from tests.bench.soak.verdicts import Verdict, at_least, at_most

_OPENED_LATE = 2  # descriptors that a library opens at its first need, such as that of /dev/null


def judged(outcome: Outcome) -> list[Verdict]:
    """Every goal, met or missed."""
    lost = len(set(outcome.workers_before) ^ set(outcome.workers_after))
    return [
        at_most("reports of AddressSanitizer", len(outcome.reports), 0),
        at_most("workers lost or replaced", max(lost, outcome.restarts), 0),
        at_most("tracebacks and errors in the log", len(outcome.trouble), 0),
        *_modest(outcome),
        *_memory(outcome),
        *_at_the_end(outcome),
        at_least("actors who took a turn", sum(each.turns > 0 for each in outcome.played), len(outcome.played)),
        at_most("faults of actors", sum(len(each.faults) for each in outcome.played), 0),
    ]


def _modest(outcome: Outcome) -> Iterator[Verdict]:
    for served in outcome.beside:
        yield at_most(f"failures of the modest tenant over {served.name}", len(served.failures), 0)
    yield at_most("its bodies that were wrong or sent twice", outcome.wrong_posts, 0)


def _memory(outcome: Outcome) -> Iterator[Verdict]:
    """Of every process that was there at the beginning: another one is a lost worker already.

    What AddressSanitizer keeps about memory grows with the peaks of a run, so its resident sets are no goal.
    """
    for held in outcome.held[: 1 + len(outcome.workers_before)]:
        if outcome.allocated:
            what, points = "bytes allocated by", outcome.allocated.get(held.pid, [])
        else:
            what, points = "resident set of", held.points(lambda each: each.resident_bytes)
        yield flat(f"{what} the {held.name}", means(points, start=outcome.began, end=outcome.ended))


def _at_the_end(outcome: Outcome) -> Iterator[Verdict]:
    before, after = outcome.descriptors_before, outcome.descriptors_after
    yield at_most("bytes at an honest endpoint that are no request", outcome.rubbish_bytes, 0)
    yield at_most("connections left when all is quiet", sum(outcome.connections_left.values()), 0)
    yield at_most("descriptors of the parent, quiet", after.parent, before.parent + _OPENED_LATE)
    yield at_most("descriptors of a worker, quiet", after.worker, before.worker + _OPENED_LATE)
    yield at_most("exit status", abs(outcome.exit_status), 0)
    yield at_most("processes left behind", outcome.processes_left, 0)
