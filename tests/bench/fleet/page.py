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
the share of requests that leave their zone, *busiest* how busy the busiest endpoint is.

| scenario (least share) | replicas | leaving | p99 | busiest |
|---|---|---|---|---|
"""

_COST: Final = f"""
## What it costs

One replica converses for ten seconds over TLS on loopback with the others, which another process plays. Replicas are
in three zones, and there are {NAMESPACES} namespaces. A backend counts that is under `adaptive` and `proportional` at
once and has requests in every half second: others cost nearly nothing. *Core* is the share of one core that the control
process of the replica spends, with all that it does for the exchange: it reads counters of workers and writes to them
what others saw. Dollars are for bytes between zones of all replicas, at ${DOLLARS_A_GIGABYTE} for 10^9 bytes.

| replicas | busy backends | sent in the zone | sent to other zones | core | a month, all replicas |
|---|---|---|---|---|---|
"""

_MORE: Final = """
A replica believes 64 others at most. Of 300 replicas the first 65 by their addresses tell each other, and all others
decide as each of them does alone: divide such an installation into several, each with a Service of its own.
"""


def page(shared: Mapping[Scenario, Mapping[str, Measures]], costs: Iterable[Cost]) -> str:
    """The page: what sharing is worth under `adaptive`, and what the exchange costs."""
    worth = [
        _worth(f"{scenario.name} ({least_share(scenario):.0%})", name, found)
        for scenario, rows in shared.items()
        for name, found in rows.items()
    ]
    return "".join((_WORTH, *worth, _COST, *map(_cost, costs), _MORE))


def _worth(scenario: str, name: str, found: Measures) -> str:
    return f"| {scenario} | {name} | {found.cross_share:.1%} | {found.steady:.0f} ms | {found.utilisation:.0%} |\n"


def _cost(cost: Cost) -> str:
    return (
        f"| {cost.replicas} | {cost.backends} | {cost.near_bytes / 1e3:.1f} kB/s | {cost.far_bytes / 1e3:.1f} kB/s "
        f"| {cost.core:.1%} | ${cost.fleet_dollars:.2f} |\n"
    )
