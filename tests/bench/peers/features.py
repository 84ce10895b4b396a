"""`make bench-features`: what each feature of a route adds to the small GET, beside nginx with the same feature."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path

from tests.bench.peers import machine, programs
from tests.bench.peers.alternating import Alternating
from tests.bench.peers.cases import GATEWAY, NGINX, ZONAL, Case
from tests.bench.peers.configs.features import FEATURES, PLAIN, Feature
from tests.bench.peers.configs.gateway import ADDITIONS, FIELDS, Addition
from tests.bench.peers.configs.gateway import PLAIN as ROUTE
from tests.bench.peers.measuring import Measuring
from tests.bench.peers.placing import share_out
from tests.bench.peers.processes import Failed
from tests.bench.peers.samples import Figures, Measure
from tests.bench.peers.stage import standing
from tests.bench.peers.table import table

_TURNS_OF_ADDITIONS = 3

_PAGE = """# What features cost

Made by `make bench-features`; do not edit. {date}. {cores} cores of {processor}, {kernel}, load average {load:g}.

CPU time of the proxy's process tree for one GET of 107 bytes over kept connections, in microseconds: medians of
{rounds} rounds of {seconds} s, in which the contenders take turns. *Added* is the difference of the medians to the row
without a feature. zonal counts and logs each request; nginx does neither. docs/performance.md says how it is measured.

{rows}

## Gateway API

The same request by HTTPRoutes of one Gateway, medians of {turns} turns, in which the routes follow one another. zonal
is compiled here, as installations are. A difference of 1 or 2 µs is within what the machine does by itself:
[steps without a system](gateway.md#what-a-request-costs) say more.

{additions}

"""


def main() -> None:
    """Measure all features and write docs/performance-features.md; with `--quick` only print a look."""
    parser = argparse.ArgumentParser(prog="make bench-features", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one round of one second, printed only")
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("bench: terminated"))
    if asked.quick:
        asked.rounds = asked.seconds = 1
    described = machine.describe((NGINX, ZONAL))
    try:
        figures = _measured(asked.rounds, asked.seconds)
    except Failed as error:
        sys.exit(f"bench: {error}")
    text = _PAGE.format(
        date=described.date,
        cores=described.cores,
        processor=described.processor,
        kernel=described.kernel,
        load=described.load,
        rounds=asked.rounds,
        seconds=asked.seconds,
        rows=rows(figures),
        additions=addition_rows(figures),
        turns=_TURNS_OF_ADDITIONS * asked.rounds,
    )
    print(text)
    if not asked.quick:
        Path(programs.ROOT, "docs", "performance-features.md").write_text(text.rstrip() + "\n", encoding="utf-8")


def case_of(feature: Feature) -> Case:
    """The case of one feature; nginx takes part where it has the feature."""
    return Case(
        name=feature.name,
        title=feature.title,
        host=feature.host,
        path="/app/" if feature.pattern != "/" else "/",
        fields=feature.fields,
        contenders=(NGINX, ZONAL) if feature.nginx is not None else (ZONAL,),
    )


def case_of_addition(addition: Addition) -> Case:
    """The case of something that Gateway API adds."""
    return Case(
        name=addition.name,
        title=addition.title,
        host=addition.host,
        path=addition.path,
        fields=FIELDS,
        contenders=(GATEWAY,),
    )


def _measured(rounds: int, seconds: int) -> Figures:
    cores = share_out(os.sched_getaffinity(0))
    os.sched_setaffinity(0, cores.rest)
    with standing(cores) as stage:
        measuring = Measuring(stage, cores, run_seconds=seconds, warm_seconds=1, idle_connections=0)
        alternating = Alternating(measuring, lambda line: print(line, file=sys.stderr, flush=True))
        alternating.run([case_of(each) for each in FEATURES], (NGINX, ZONAL), wanted_rounds=rounds, is_quick=True)
        additions = [case_of_addition(each) for each in ADDITIONS]
        for _ in range(_TURNS_OF_ADDITIONS * rounds):  # they differ by less than the machine does from minute to minute
            alternating.run(additions, (GATEWAY,), wanted_rounds=1, is_quick=True)
    for absence in alternating.absences:
        print(f"{absence.case}: {absence.contender}: {absence.why}", file=sys.stderr)
    return Figures(alternating.samples)


def rows(figures: Figures) -> str:
    """The table: a line for each feature that was measured."""
    found = []
    for each in FEATURES:
        cells = [each.title]
        for contender in (ZONAL, NGINX):
            value = figures.value(each.name, contender, Measure.CPU)
            plain = figures.value(PLAIN.name, contender, Measure.CPU)
            cells += [
                "" if value is None else f"{value:.1f}",
                "" if value is None or plain is None else f"{value - plain:+.1f}",
            ]
        found.append(cells)
    return table(("feature", "zonal", "added", "nginx", "added"), found)


def addition_rows(figures: Figures) -> str:
    """The table of what Gateway API adds."""
    plain = figures.value(ROUTE.name, GATEWAY, Measure.CPU)
    measured = [(each.title, figures.value(each.name, GATEWAY, Measure.CPU)) for each in ADDITIONS]
    found = [
        (title, f"{value:.1f}", f"{value - plain:+.1f}")
        for title, value in measured
        if value is not None and plain is not None
    ]
    return table(("route", "zonal", "added"), found)


if __name__ == "__main__":
    main()
