"""Replicas that hear each other over links: a millisecond late, and one packet in twenty never.

Three replicas with two workers each stand in network namespaces of their own. What goes between replicas passes
through the test, which delays it, loses it, and cuts links. Load and endpoints have no such links.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from itertools import cycle, islice
from pathlib import Path

import pytest

from tests.fakes.stopwatch import Stopwatch
from tests.integration.conversing import (
    FEW,
    LARGE_SAMPLE,
    PATIENCE_SECONDS,
    SETTINGS,
    Load,
    asks,
    comes,
    everybody_has_told,
    knows_traffic,
    leaving,
    passing,
    traffic,
    value,
)
from tests.integration.linked_fleet import ZONES, fleet
from tests.integration.manifests import ingress, path, rule
from tests.integration.shop import HOST

pytestmark = pytest.mark.slow

SLOTS, WORK_SECONDS, SPREAD = 8, 0.02, 0.5


def calm_p99(chosen: Sequence[str]) -> float:
    """The 99th percentile of the seconds that requests take at the endpoints that were chosen for them.

    What the machine and its clocks add does not count: the requests come at random at 60 % of what these endpoints can
    do, which work on eight at a time for 20 ms each, as in the simulation.
    """
    chance, now = random.Random(30), 0.0
    free_at = {endpoint: [0.0] * SLOTS for endpoint in chosen}
    seconds = []
    for endpoint in chosen:
        now += chance.expovariate(0.6 * len(free_at) * SLOTS / WORK_SECONDS)
        done_at = max(now, heappop(free_at[endpoint])) + WORK_SECONDS * chance.lognormvariate(-(SPREAD**2) / 2, SPREAD)
        heappush(free_at[endpoint], done_at)
        seconds.append(done_at - now)
    return sorted(seconds)[int(len(seconds) * 0.99)]


def in_turn(chosen: Sequence[str]) -> list[str]:
    """As many requests at all endpoints in turn, blind to zones."""
    endpoints = sorted({*chosen})
    return [endpoints[number % len(endpoints)] for number in range(len(chosen))]


def at_home(chosen: Sequence[str], zones: Mapping[str, str], counts: Mapping[str, int]) -> list[str]:
    """As many requests, of which so many `counts` of each turn go to the endpoints of a zone in turn."""
    own = {zone: cycle(sorted({each for each in chosen if zones[each] == zone})) for zone in counts}
    asked = cycle([zone for zone, count in counts.items() for _ in range(count)])
    return [next(own[zone]) for zone in islice(asked, len(chosen))]


async def test_shares_hold_while_packets_are_lost_a_replica_is_cut_off_and_it_is_back(tmp_path: Path) -> None:
    """Eight, one and one of ten requests come in at the zones, which can carry as much each.

    The busy zone keeps a third of all requests, which is 5/12 of its own, so 47 % of all leave. Without the third
    replica it keeps 3/8. The replica that is cut off knows nobody, and does as it does alone.
    """
    async with fleet(tmp_path, dict.fromkeys(ZONES, 2), SETTINGS) as made:
        busy, quiet, last = made.zonals
        async with Load({busy: 8, quiet: 1, last: 1}) as load:
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.8)
            busy_share, quiet_share = await asyncio.gather(load.share(busy, LARGE_SAMPLE), load.share(quiet, FEW))
            chosen = load.endpoints[-LARGE_SAMPLE:]
            assert calm_p99(chosen) <= 1.1 * calm_p99(in_turn(chosen))
            alone = at_home(chosen, made.zones, dict(zip(ZONES, (8, 1, 1), strict=True)))
            assert calm_p99(alone) > 4.0 * calm_p99(chosen), "alone, the busy zone keeps all of its requests"
            assert busy_share == pytest.approx(5 / 12, abs=0.06)
            assert quiet_share == 0.0
            assert 0.8 * (1.0 - busy_share) <= 0.5, "of all requests"
            assert made.links.lost > 0

            made.links.cut.add(made.links.names[-1])
            for zonal in (busy, quiet):
                await comes(zonal, 1.0, "zonal_fleet_peers", state="up")
            await comes(last, 2.0, "zonal_fleet_peers", state="silent")
            await knows_traffic(busy, 8 / 9)
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(3 / 8, abs=0.06)
            watch = Stopwatch()
            while await traffic(last):
                assert watch.within(PATIENCE_SECONDS), last.stderr
                await asyncio.sleep(0.1)
            assert await load.share(last, FEW) == pytest.approx(1 / 3, abs=0.15)

            made.links.cut.clear()
            await made.all_hear(2.0)
            await knows_traffic(busy, 0.8)
            assert await load.share(busy, LARGE_SAMPLE) == pytest.approx(5 / 12, abs=0.06)


async def test_of_nine_requests_in_ten_as_many_stay_as_fit_the_busy_zone(tmp_path: Path) -> None:
    """18, 1 and 1 of twenty requests come in at zones with five, two and two endpoints. 56 % of all fit the busy zone.

    So it keeps 62 % of its own, and 34 % of all leave: with less, its endpoints are busier than others. Blind to zones
    48 % leave. Alone, the busy zone sees one of three replicas, and keeps all of its requests.
    """
    counts = {"zone-a": 18, "zone-b": 1, "zone-c": 1}
    async with fleet(tmp_path, {"zone-a": 5, "zone-b": 2, "zone-c": 2}, SETTINGS) as made:
        async with Load(dict(zip(made.zonals, counts.values(), strict=True))) as load:
            for zonal in made.zonals:
                await knows_traffic(zonal, 0.9)
            busy, *quiet = await asyncio.gather(
                load.share(made.zonals[0], LARGE_SAMPLE), *(load.share(zonal, FEW) for zonal in made.zonals[1:])
            )
            chosen = load.endpoints[-LARGE_SAMPLE:] * 20  # queues of an endpoint that is nearly full grow slowly
        assert calm_p99(chosen) <= 1.1 * calm_p99(in_turn(chosen))
        assert calm_p99(at_home(chosen, made.zones, counts)) > 1.5 * calm_p99(chosen), "alone"
        assert quiet == [0.0, 0.0]
        assert 0.9 * (1.0 - busy) == pytest.approx(0.9 - 5 / 9, abs=0.05), "of all requests, the least"


async def test_a_dead_endpoint_is_left_by_all_after_a_few_attempts(tmp_path: Path) -> None:
    settings = {"zone_aware_routing": "false", "ejection_time": "300s"}
    async with fleet(tmp_path, {"zone-a": 1, "zone-b": 1}, settings) as made:
        await made.opened.endpoints[0].stop()
        watch = Stopwatch()
        while sum([await leaving(zonal) for zonal in made.zonals]) < 6:
            assert watch.within(PATIENCE_SECONDS)
            for _ in range(2):
                await asyncio.gather(*(asks(zonal) for zonal in made.zonals))
            await everybody_has_told(made.zonals)
        retries = [await value(zonal, "zonal_retries") for zonal in made.zonals]
        assert sum(retries) <= 12, retries


async def test_a_limit_of_twenty_a_second_is_one_for_all_replicas(tmp_path: Path) -> None:
    """Each of them is asked more often than that. A packet that is lost twice comes half a second later. Alone, all of
    them would let 180 pass in two seconds.
    """
    limits = {
        "nginx.ingress.kubernetes.io/limit-rps": "20",
        "nginx.ingress.kubernetes.io/limit-burst-multiplier": "1",
        "zonal-ingress.io/limit-scope": "fleet",
    }
    async with fleet(tmp_path, dict.fromkeys(ZONES, 1)) as made:
        made.opened.folder.write("web.yaml", ingress("web", rule(HOST, path("/", "cart")), annotations=limits))
        for zonal in made.zonals:
            await zonal.reaches_generation(2, seconds=PATIENCE_SECONDS)
        await everybody_has_told(made.zonals)  # so the conversations know of the limit as well
        counts, began, watch = [0] * 10, time.monotonic(), Stopwatch()
        await asyncio.gather(*(passing(zonal, began, counts) for zonal in made.zonals))
        too_much = 2 * 20 * (0.5 + 0.5)
        assert sum(counts[:2]) <= 40 + 21 + too_much, counts
        assert 20 * (watch.seconds - 2) * 0.8 <= sum(counts[2:]) <= 20 * 8 * 1.2, counts
