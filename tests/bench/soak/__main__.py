"""Soaks a process, prints the report, and ends with status 1 if a goal is missed.

`make soak ARGS="--minutes 60 --output soak.md"`; without options, ten minutes with two workers.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from tests.bench.soak.course import Options, follow
from tests.bench.soak.goals import judged
from tests.bench.soak.report import page


def main() -> int:
    """The exit status."""
    arguments = _arguments()
    options = Options(
        seconds=arguments.minutes * 60.0,
        workers=arguments.workers,
        rate=arguments.rate,
        kill_seconds=arguments.kill_seconds,
        change_seconds=arguments.change_seconds,
        seed=arguments.seed,
    )
    with tempfile.TemporaryDirectory(prefix="soak-") as place:
        outcome = asyncio.run(follow(options, Path(place)))
    verdicts = judged(outcome)
    text = page(outcome, verdicts)
    print(text, end="")
    if arguments.output is not None:
        arguments.output.write_text(text, encoding="utf-8")
    return 0 if all(verdict.is_met for verdict in verdicts) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="soak", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the clients run")
    parser.add_argument("--workers", default="2", help="as of zonal run; with 0 nothing is killed")
    parser.add_argument("--rate", type=float, default=150.0, help="requests and messages a second, about")
    parser.add_argument("--kill-seconds", type=float, default=60.0, help="between two kills; 0 kills nothing")
    parser.add_argument("--change-seconds", type=float, default=1.0, help="between two changes of the cluster")
    parser.add_argument("--seed", type=int, default=1, help="of what is random")
    parser.add_argument("--output", type=Path, help="a file for the report")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
