"""The command: runs the cases, prints the verdicts, and writes the page, the picture and the figures as JSON."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from tests.bench.peers import machine, picture, programs, table
from tests.bench.peers.alternating import Alternating
from tests.bench.peers.cases import CASES, CONTENDERS
from tests.bench.peers.measuring import Measuring
from tests.bench.peers.placing import Cores, share_out
from tests.bench.peers.processes import Failed
from tests.bench.peers.results import Run
from tests.bench.peers.stage import standing

CASE_NAMES = tuple(case.name for case in CASES)
WARM_SECONDS = 1
IDLE_CONNECTIONS, QUICK_IDLE_CONNECTIONS = 5000, 1000
ASIDE = programs.ROOT / "bench-results"
"""Where runs go that are not the page of the docs."""


class Asked(argparse.Namespace):
    """The command line."""

    cases: tuple[str, ...]
    contenders: tuple[str, ...]
    rounds: int
    seconds: int
    quick: bool
    output: Path | None


def main() -> None:
    """Run as the arguments say; a machine that cannot run it at all is told so in one line."""
    asked = _parser().parse_args(namespace=Asked())
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))  # and so leave no process behind
    if asked.quick:
        asked.rounds = asked.seconds = 1
    cores = share_out(os.sched_getaffinity(0))
    try:
        run = _run(asked, cores)
    except Failed as error:
        sys.exit(f"bench: {error}")
    print(table.text(run))
    is_whole = asked.cases == CASE_NAMES and asked.contenders == CONTENDERS and not asked.quick
    _write(run, cores, asked.output or (programs.ROOT / "docs" if is_whole else ASIDE), is_whole=is_whole)
    if lacking := programs.missing({each.contender for each in run.absences if each.why == programs.NOT_INSTALLED}):
        print(f"bench: for what is missing: {lacking}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make bench",
        description="zonal and its peers under the same load.",
        epilog=f"Cases: {', '.join(CASE_NAMES)}. Contenders: {', '.join(CONTENDERS)}.",
    )
    parser.add_argument("--cases", type=_among(CASE_NAMES), default=CASE_NAMES, metavar="A,B", help="only these")
    parser.add_argument("--contenders", type=_among(CONTENDERS), default=CONTENDERS, metavar="A,B", help="only these")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each contender (%(default)s)")
    parser.add_argument("--seconds", type=int, default=2, help="of load in each turn (%(default)s)")
    parser.add_argument("--quick", action="store_true", help="one round of one second without a warm-up: does it work?")
    where = "folder for performance.md and .json; docs for a whole run, else bench-results"
    parser.add_argument("--output", type=Path, metavar="DIR", help=where)
    return parser


def _among(known: tuple[str, ...]) -> Callable[[str], tuple[str, ...]]:
    def names(text: str) -> tuple[str, ...]:
        if unknown := [name for name in text.split(",") if name not in known]:
            raise argparse.ArgumentTypeError(f"{', '.join(unknown)}: not one of {', '.join(known)}")
        return tuple(name for name in known if name in text.split(","))

    return names


def _run(asked: Asked, cores: Cores) -> Run:
    """This process, too, keeps off the proxy's core."""
    described, started = machine.describe(asked.contenders), time.monotonic()
    os.sched_setaffinity(0, cores.rest)
    idle_connections = QUICK_IDLE_CONNECTIONS if asked.quick else IDLE_CONNECTIONS
    with standing(cores) as stage:
        measuring = Measuring(
            stage,
            cores,
            run_seconds=asked.seconds,
            warm_seconds=0 if asked.quick else WARM_SECONDS,
            idle_connections=idle_connections,
        )
        alternating = Alternating(measuring, lambda line: print(line, file=sys.stderr, flush=True))
        cases = [case for case in CASES if case.name in asked.cases]
        alternating.run(cases, asked.contenders, wanted_rounds=asked.rounds, is_quick=asked.quick)
    return Run(
        machine=described,
        rounds=asked.rounds,
        run_seconds=asked.seconds,
        idle_connections=idle_connections,
        took_seconds=time.monotonic() - started,
        samples=tuple(alternating.samples),
        absences=tuple(alternating.absences),
    )


def _write(run: Run, cores: Cores, folder: Path, *, is_whole: bool) -> None:
    (folder / "img").mkdir(parents=True, exist_ok=True)
    page = table.page(run, one=cores.one, rest=cores.rest, is_whole=is_whole)
    (folder / "performance.md").write_text(page, encoding="utf-8")
    (folder / "img" / "performance.svg").write_text(picture.svg(run), encoding="utf-8")
    (folder / "performance.json").write_bytes(msgspec.json.format(msgspec.json.encode(run), indent=1) + b"\n")
    print(f"bench: {folder / 'performance.md'} was written", file=sys.stderr)


if __name__ == "__main__":
    main()
