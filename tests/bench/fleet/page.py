"""Writes the figures of the exchange as a page of the docs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from tests.bench.fleet.costs import DOLLARS_A_GIGABYTE, NAMESPACES, Cost
from tests.bench.zones.measures import Measures
from tests.bench.zones.scenarios import Scenario, least_share

_WORTH: Final = """\
# Figures of the exchange between replicas

Made by `make fleet-figures`; what the rows mean is in [fleet.md](fleet.md).

## What it is worth to `adaptive`

Simulated with the controllers and the exchange that serve, in simulated time. Each replica has one worker. *Leaving* is
the share of requests that leave their zone in a minute from the start on, *busiest* how busy the busiest endpoint is.
With 12 replicas and 60 requests a second in all, the first half minute is left out: so few requests teach little.

| scenario (least share) | replicas | leaving | p99 | busiest |
|---|---|---|---|---|
"""

_INFORMED: Final = """
## What it is worth to `proportional`

Simulated with the exchange that serves, in simulated time: each replica knows the requests of all others.

| scenario (least share) | replicas | leaving | p99 | busiest |
|---|---|---|---|---|
"""

_COST: Final = f"""
## What it costs

One replica converses for ten seconds over TLS on loopback with the others, which another process plays. Replicas are
in three zones, and there are {NAMESPACES} namespaces. A backend counts that is under `adaptive` and `proportional` at
once and has requests in every half second: others cost nearly nothing. *Core* is the share of one core that the control
process of the replica spends on the compiled build, with all that it does for the exchange: it reads counters of
workers and writes to them what others saw. Dollars are for bytes between zones of all replicas, at
${DOLLARS_A_GIGABYTE} for 10^9 bytes.

| replicas | busy backends | sent in the zone | sent to other zones | core | a month, all replicas |
|---|---|---|---|---|---|
"""

_MORE: Final = """
A replica believes 64 others at most. Of 300 replicas the first 65 by their addresses tell each other, and all others
decide as each of them does alone: divide such an installation into several, each with a Service of its own.
"""


Found = Mapping[Scenario, Mapping[str, Measures]]
"""What was measured of each scenario, by what the replicas know."""


def page(adaptive: Found, proportional: Found, costs: Iterable[Cost]) -> str:
    """The page: what sharing is worth under each of two policies, and what the exchange costs."""
    return "".join((_WORTH, *_rows(adaptive), _INFORMED, *_rows(proportional), _COST, *map(_cost, costs), _MORE))


def _rows(found: Found) -> list[str]:
    return [
        _worth(f"{scenario.name} ({least_share(scenario):.0%})", name, measures)
        for scenario, rows in found.items()
        for name, measures in rows.items()
    ]


def _worth(scenario: str, name: str, measures: Measures) -> str:
    leaving, busiest = f"{measures.cross_share:.1%}", f"{measures.utilisation:.0%}"
    return f"| {scenario} | {name} | {leaving} | {measures.steady:.0f} ms | {busiest} |\n"


def _cost(cost: Cost) -> str:
    return (
        f"| {cost.replicas} | {cost.backends} | {cost.near_bytes / 1e3:.1f} kB/s | {cost.far_bytes / 1e3:.1f} kB/s "
        f"| {cost.core:.1%} | ${cost.fleet_dollars:.2f} |\n"
    )
