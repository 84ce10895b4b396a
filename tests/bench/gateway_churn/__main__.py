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
    return {
        "requests": dict(outcome.seen.outcomes),
        "broken attempts": dict(outcome.seen.broken),
        "all": _times(outcome.seen.seconds),
        "steady before changes": _times(outcome.calm.seconds),
        "steady beside changes": _times(outcome.timed.seconds),
        "changes": dict(outcome.changes),
        "cores": [{"control": round(each.control, 2), "workers": round(each.workers, 2)} for each in outcome.cores],
        "cores that were missing": [round(each, 2) for each in outcome.waited],
        "kills": dict(outcome.kills),
        "killed_at": outcome.killed_at,
        "seconds_to_statuses": round(outcome.seconds_to_statuses, 1),
        "misses": misses(outcome),
    }


def _times(seconds: list[float]) -> dict[str, float]:
    """How long requests took, in milliseconds. Nothing, if there were none."""
    ordered = sorted(seconds)
    if not ordered:
        return {}
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999}
    return {name: round(ordered[int(len(ordered) * share)] * 1000, 1) for name, share in shares.items()}


def misses(outcome: Outcome) -> list[str]:
    """What should not be: wrong answers, failures on routes that stay, statuses that are not right, late writes, and
    routes that are not served as they are."""
    kinds: tuple[list[str], ...] = (outcome.seen.wrong, outcome.seen.failed, outcome.calm.misses, outcome.timed.misses)
    kinds += (outcome.open_statuses, outcome.late_writes, outcome.outdated)
    return [text for each in kinds for text in each[:9]]


if __name__ == "__main__":
    raise SystemExit(main())
