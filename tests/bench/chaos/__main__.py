"""Plays chaos beside a process, prints the page, and ends with status 1 if a goal is missed.

`make chaos ARGS="--minutes 30 --output docs/chaos.md"`; without options, ten minutes under AddressSanitizer.
"""

from __future__ import annotations

import argparse
import asyncio
import logging
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.chaos.building import Build, built_with_asan
from tests.bench.chaos.course import Options, follow
from tests.bench.chaos.goals import judged
from tests.bench.chaos.page import page
from tests.bench.peers.machine import describe


def main() -> int:
    """The exit status."""
    arguments = _arguments()
    options = Options(
        seconds=arguments.minutes * 60.0,
        workers=arguments.workers,
        rate=arguments.rate,
        seed=arguments.seed,
        without=frozenset(arguments.without),
        only=frozenset(arguments.only),
    )
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it warns of each write to a connection that was cut
    machine = describe(())
    with _place(arguments.keep) as place:
        build = Build() if arguments.plain else built_with_asan(place)
        outcome = asyncio.run(follow(options, build, place))
    verdicts = judged(outcome)
    text = page(outcome, verdicts, machine)
    print(text, end="")
    if arguments.output is not None:
        arguments.output.write_text(text, encoding="utf-8")
    return 0 if all(verdict.is_met for verdict in verdicts) else 1


@contextmanager
def _place(kept: Path | None) -> Iterator[Path]:
    """An empty folder; one that is kept must not be there."""
    if kept is not None:
        kept.mkdir(parents=True)
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="chaos-") as name:
        yield Path(name)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="chaos", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long everybody plays")
    parser.add_argument("--plain", action="store_true", help="run the sources, not the build under AddressSanitizer")
    parser.add_argument("--workers", default="2", help="as of zonal run")
    parser.add_argument("--rate", type=int, default=20, help="requests a second of each of the three modest loads")
    parser.add_argument("--seed", type=int, default=1, help="of what is random")
    parser.add_argument("--without", action="append", default=[], metavar="ACTOR", help="leave out; may be repeated")
    parser.add_argument("--only", action="append", default=[], metavar="ACTOR", help="play no other; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep manifests, log and reports in a new folder")
    parser.add_argument("--output", type=Path, help="a file for the page")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
