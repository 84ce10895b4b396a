"""The goals of a soak, and whether an outcome meets them.

Responsible for what is promised. How a figure is judged is in `verdicts`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tests.bench.soak.course import Outcome
from tests.bench.soak.sampling import Held
from tests.bench.soak.tally import explained, unexplained
from tests.bench.soak.verdicts import (
    Verdict,
    at_least,
    at_most,
    flat_descriptors,
    flat_memory,
    flat_threads,
    grown,
    replaced,
    within,
)

_UNWRITTEN_SECONDS = 0.05  # of lines that a worker keeps before it writes them
_OPENED_LATE = 2  # descriptors that a library opens at its first need, such as that of /dev/null
_PUBLISHED_SHARE = 0.7  # a change may leave the model as it was, or meet the next one in its holdoff


def judged(outcome: Outcome) -> list[Verdict]:
    """Every goal, met or missed."""
    return [
        *_requests(outcome),
        *replaced([kill.seconds for kill in outcome.kills]),
        at_least("publications for each change", outcome.publications / max(1, outcome.changes), _PUBLISHED_SHARE),
        *(verdict for held in outcome.held for verdict in _flat(held, outcome.options.seconds)),
        *_at_the_end(outcome),
    ]


def _requests(outcome: Outcome) -> Iterator[Verdict]:
    tally, kills = outcome.tally, outcome.kills
    with_a_worker = explained(tally.failures, kills)
    lost = sum(failure.requests for failure in with_a_worker)
    unwritten = len(kills) * math.ceil(outcome.options.rate * _UNWRITTEN_SECONDS)
    yield at_most("failures that no kill explains", len(unexplained(tally.failures, kills)), 0)
    yield at_most("bodies sent twice", outcome.doubled_posts, 0)
    # A kill may fall between an answer and its count, for as many requests as were under way.
    yield within("requests in /metrics", outcome.counted, tally.counted, allowance=lost + len(kills))
    expected = tally.answered.total()
    yield within("access log lines", outcome.logged, expected, allowance=lost + unwritten)
    yield at_most("lines dropped or torn", outcome.dropped_lines + outcome.torn_lines, 0)


def _flat(held: Held, run_seconds: float) -> Iterator[Verdict]:
    memory = grown(held.points(lambda each: each.resident_bytes), run_seconds=run_seconds)
    descriptors = grown(held.points(lambda each: each.descriptors), run_seconds=run_seconds)
    threads = grown(held.points(lambda each: each.threads), run_seconds=run_seconds)
    if memory and descriptors and threads:
        yield flat_memory(held.name, memory)
        yield flat_descriptors(held.name, descriptors)
        yield flat_threads(held.name, threads)


def _at_the_end(outcome: Outcome) -> Iterator[Verdict]:
    before, after = outcome.descriptors_before, outcome.descriptors_after
    yield at_most("connections left when all is quiet", sum(outcome.connections_left.values()), 0)
    yield at_most("descriptors of the parent, quiet", after.parent, before.parent + _OPENED_LATE)
    if before.worker:
        yield at_most("descriptors of a worker, quiet", after.worker, before.worker + _OPENED_LATE)
    yield at_most("tracebacks and errors in the log", len(outcome.trouble), 0)
    yield at_most("exit status", abs(outcome.exit_status), 0)
    yield at_most("processes left behind", outcome.processes_left, 0)
