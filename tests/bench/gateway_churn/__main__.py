"""Plays a run, prints its figures as JSON, and ends with status 1 if a goal is missed.

`make gateway-churn ARGS="--seconds 600 --routes 5000"`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import logging
import tempfile
from pathlib import Path

from tests.bench.gateway_churn.course import Outcome, follow
from tests.bench.gateway_churn.objects import Plan


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="make gateway-churn")
    usual = Plan()
    for name in Plan._fields:
        value = getattr(usual, name)
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value, dest=name)
    parser.add_argument("--seed", type=int, default=1)
    arguments = vars(parser.parse_args())
    seed = arguments.pop("seed")
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as place:
        outcome = asyncio.run(follow(Plan(**arguments), Path(place), seed))
    print(json.dumps({"plan": arguments, **figures(outcome)}, indent=1))
    return 1 if misses(outcome) else 0


def figures(outcome: Outcome) -> dict[str, object]:
    """What a run has come to, as JSON has it."""
    seconds = sorted(outcome.seen.seconds) or [0.0]
    calm = sorted(outcome.calm) or [0.0]
    return {
        "requests": dict(outcome.seen.outcomes),
        "broken attempts": dict(outcome.seen.broken),
        "p50_ms": round(seconds[len(seconds) // 2] * 1000, 1),
        "p99_ms": round(seconds[len(seconds) * 99 // 100] * 1000, 1),
        "calm_p99_ms": round(calm[len(calm) * 99 // 100] * 1000, 1),
        "changes": dict(outcome.changes),
        "cores": [{"control": round(each.control, 2), "workers": round(each.workers, 2)} for each in outcome.cores],
        "cores that were missing": [round(each, 2) for each in outcome.waited],
        "kills": dict(outcome.kills),
        "killed_at": outcome.killed_at,
        "seconds_to_statuses": round(outcome.seconds_to_statuses, 1),
        "misses": misses(outcome),
    }


def misses(outcome: Outcome) -> list[str]:
    """What should not be: wrong answers, failures on routes that stay, statuses that are not right, late writes, and
    routes that are not served as they are."""
    kinds = (outcome.seen.wrong, outcome.seen.failed, outcome.open_statuses, outcome.late_writes, outcome.outdated)
    return [text for each in kinds for text in each[:9]]


if __name__ == "__main__":
    raise SystemExit(main())
