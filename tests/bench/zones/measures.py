"""What a replay shows: figures of one policy in one scenario, and whether the goals of `adaptive` hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tests.bench.zones.scenarios import Scenario, least_share, paying_share
from tests.bench.zones.simulation import Record

SETTLING_SECONDS = 5.0
"""After a start or a step, what the steady figures leave out."""

TURN = 0.02
"""A share that comes back by less has not changed its direction."""

CLOSE = 0.05
"""So far may a share be from what it is measured by."""

NONE_AT_ALL = 0.005
"""A share that counts as 0 %."""

P99_FACTOR, P99_FACTOR_AFTER_STEP = 1.1, 1.5
TURNS_PER_MINUTE_MAX = 2.0


@dataclass(frozen=True, slots=True)
class Measures:
    """Times in milliseconds. `steady`, `stepped` and `started`: p99 outside, after a step and after the start.

    `turns`: changes of direction of the spill share a minute, of the worst proxy and of the average one.
    """

    cross_share: float
    steady: float
    stepped: float | None
    started: float
    utilisation: float
    turns: tuple[float, float]
    converged_seconds: float


def measure(scenario: Scenario, record: Record) -> Measures:
    """The figures of a whole replay."""
    steady, stepped, started = [], [], []
    for start, seconds, _ in record.answers:
        if start < SETTLING_SECONDS:
            started.append(seconds)
        elif any(step <= start < step + SETTLING_SECONDS for step in scenario.steps):
            stepped.append(seconds)
        else:
            steady.append(seconds)
    turns = [changes_of_direction(shares) * 60.0 / scenario.seconds for shares in record.shares]
    return Measures(
        cross_share=sum(leaves for _, _, leaves in record.answers) / len(record.answers),
        steady=p99(steady),
        stepped=p99(stepped) if stepped else None,
        started=p99(started),
        utilisation=max(record.utilisations),
        turns=(max(turns), sum(turns) / len(turns)),
        converged_seconds=_converged(scenario, record),
    )


def p99(seconds: Iterable[float]) -> float:
    """The 99th percentile in milliseconds."""
    ordered = sorted(seconds)
    return ordered[int(len(ordered) * 0.99)] * 1000.0


def changes_of_direction(shares: Sequence[float]) -> int:
    """How often `shares` turn back by `TURN` or more."""
    count = direction = 0
    low = high = shares[0]
    for share in shares:
        low, high = min(low, share), max(high, share)
        if direction >= 0 and share <= high - TURN:
            count += direction > 0
            direction, low = -1, share
        elif direction <= 0 and share >= low + TURN:
            count += direction < 0
            direction, high = 1, share
    return count


def misses(scenario: Scenario, adaptive: Measures, blind: Measures) -> list[str]:
    """Every goal that `adaptive` misses, and by how much; `blind` is zone-blind with two choices."""
    found = []
    least, most = least_share(scenario), paying_share(scenario)
    if adaptive.steady > P99_FACTOR * blind.steady:
        found.append(f"p99 is {adaptive.steady / blind.steady:.2f} times zone-blind (goal {P99_FACTOR})")
    if adaptive.stepped and blind.stepped and adaptive.stepped > P99_FACTOR_AFTER_STEP * blind.stepped:
        found.append(f"p99 after a step is {adaptive.stepped / blind.stepped:.2f} times zone-blind (goal 1.5)")
    if most == 0.0 and adaptive.cross_share > NONE_AT_ALL:
        found.append(f"{adaptive.cross_share:.1%} of requests leave without need (goal 0)")
    nearest = min(max(adaptive.cross_share, least), most)
    if abs(adaptive.cross_share - nearest) > CLOSE:
        found.append(f"the share is {100 * (adaptive.cross_share - nearest):+.1f} points from the least (goal 5)")
    if adaptive.turns[0] > TURNS_PER_MINUTE_MAX:
        found.append(
            f"{adaptive.turns[0]:.1f} changes of direction a minute in the worst proxy, "
            f"{adaptive.turns[1]:.1f} on average (goal 2)"
        )
    return found


def _converged(scenario: Scenario, record: Record) -> float:
    """Seconds after the last step (or the start) until the share stays `CLOSE` to that of the last third."""
    begin = scenario.steps[-1] if scenario.steps else 0.0
    counts = [[0, 0] for _ in range(int(scenario.seconds - begin) + 1)]
    for start, _, leaves in record.answers:
        if start >= begin:
            counts[int(start - begin)][leaves] += 1
    shares = [away / (home + away) for home, away in counts if home + away > 20]
    last = shares[len(shares) * 2 // 3 :]
    final = sum(last) / len(last)
    late = [second for second, share in enumerate(shares) if abs(share - final) > CLOSE]
    return float(late[-1] + 1) if late else 0.0
