"""Endpoints that are ready and answer quickly with errors: what clients see of them (slow)."""

from __future__ import annotations

import random
import time

import pytest

from balancer.model.endpoints import LoadBalancing
from balancer.model.zones import ZonePolicy, ZonePolicyName
from balancer.runtime.steps import finished
from tests import builders as build
from tests.features.sick.clients import AbortingCrowd, SickCrowd, attackers
from tests.features.sick.endpoints import SickEndpoint
from tests.features.sick.stage import RATE, staged

pytestmark = [pytest.mark.slow, pytest.mark.faults]

PREFER, ADAPTIVE = ZonePolicy(ZonePolicyName.PREFER_ZONE), ZonePolicy(ZonePolicyName.ADAPTIVE)
each_choice = pytest.mark.parametrize(
    ("policy", "balancing"),
    [
        *(pytest.param(PREFER, balancing, id=f"prefer-zone, {balancing.value}") for balancing in LoadBalancing),
        pytest.param(ADAPTIVE, LoadBalancing.ROUND_ROBIN, id="adaptive"),  # has a choice of its own
    ],
)
"""Every way in which an endpoint is chosen."""


@pytest.mark.parametrize("grpc", [False, True], ids=["http1", "grpc"])
@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=["prefer-zone", "adaptive"])
async def test_well_endpoints_serve_without_errors_at_home(policy: ZonePolicy, *, grpc: bool) -> None:
    async with staged(policy, grpc=grpc, warm_seconds=1.0) as stage:
        calm = await stage.lasts(2.0)
    print(stage.told())
    assert calm.ended >= 200
    assert calm.errors == 0
    assert calm.at_home >= 0.9


@pytest.mark.parametrize("grpc", [False, True], ids=["http1", "grpc"])
@each_choice
async def test_one_of_two_endpoints_that_answers_errors_at_once_is_left(
    policy: ZonePolicy, balancing: LoadBalancing, *, grpc: bool
) -> None:
    async with staged(policy, grpc=grpc, load_balancing=balancing) as stage:
        sick = stage.home[0]
        sick.failing = 1.0
        await stage.lasts(2.0)
        after = await stage.lasts(6.0)
        sick.failing = 0.0
        seen = len(sick.came_at)
        back = await stage.comes(lambda: len(sick.came_at) > seen + 50, within=60.0)
    print(stage.told(), f"\nback after {back:.1f} s")
    assert after.error_share <= 0.02
    assert after.at_home >= 0.9


HELD = build.route(hash_by="$arg_user")
ATTACK = b"GET /report?user=7 HTTP/1.1\r\nHost: shop.test\r\n\r\n"
NAMESAKE, STRANGER = attackers()


@pytest.mark.parametrize(
    ("pause", "source"),
    [(b"", NAMESAKE), (b"Retry-After: 30\r\n", NAMESAKE), (b"Retry-After: 30\r\n", STRANGER)],
    ids=["plain", "retry-after", "retry-after, stranger"],
)
@each_choice
async def test_a_client_that_provokes_errors_at_one_endpoint_takes_it_from_nobody(
    policy: ZonePolicy, balancing: LoadBalancing, pause: bytes, source: str
) -> None:
    """The hash holds the attacker to one endpoint, where every request of it fails. Others take turns."""
    async with staged(policy, zones="aa", load_balancing=balancing, route=HELD, warm_seconds=1.0) as stage:
        attacked = [each for each in stage.home if isinstance(each, SickEndpoint)]
        for each in attacked:
            each.fails_on, each.fields = lambda head: head.startswith(b"GET /report"), pause
        before = [len(each.came_at) for each in attacked]
        attacker = SickCrowd(stage.plane.port, rate=RATE, request=ATTACK, source=source, chance=random.Random(1))
        async with attacker.asking():
            during = await stage.lasts(6.0)
        shares = sorted(len(each.came_at) - count for each, count in zip(attacked, before, strict=True))
        unwell = finished(stage.plane.worker.judging()).unwell
    print(stage.told(), shares, len(attacker.ended))
    assert not any(each.is_good for each in attacker.ended)
    assert len(attacker.ended) > 500
    assert during.errors == 0
    assert during.at_home >= 0.95
    assert unwell == []
    # What the attacker has in flight is load like any other, where that counts.
    least = 0.4 if policy is PREFER and balancing is LoadBalancing.ROUND_ROBIN else 0.15
    assert shares[1] - len(attacker.ended) >= least * during.ended, "others still get the attacked endpoint"


async def test_a_client_that_provokes_errors_everywhere_has_nobody_ejected() -> None:
    async with staged(PREFER, warm_seconds=1.0) as stage:
        for each in stage.home:
            assert isinstance(each, SickEndpoint)
            each.fails_on = lambda head: head.startswith(b"GET /report")
        attacker = SickCrowd(stage.plane.port, rate=RATE, request=ATTACK, source=NAMESAKE)
        async with attacker.asking():
            during = await stage.lasts(4.0)
        unwell = finished(stage.plane.worker.judging()).unwell
    assert (during.errors, unwell) == (0, [])


BREAKER = b"POST /import HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 3\r\n\r\nbad"
UPLOAD = b"POST /import HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 1000000\r\n\r\nbegun"


@pytest.mark.parametrize(
    ("crowd", "request_bytes"),
    [(SickCrowd, BREAKER), (SickCrowd, UPLOAD), (AbortingCrowd, UPLOAD)],
    ids=["bodies that break it", "uploads that break it", "aborted uploads"],
)
@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=["prefer-zone", "adaptive"])
async def test_a_client_whose_uploads_fail_takes_neither_endpoints_nor_the_zone_from_others(
    policy: ZonePolicy, crowd: type[SickCrowd], request_bytes: bytes
) -> None:
    """Failures in a row, twice as many as others have requests, at every endpoint."""
    async with staged(policy, warm_seconds=1.0) as stage:
        for each in stage.endpoints:
            assert isinstance(each, SickEndpoint)
            if crowd is SickCrowd:
                each.breaks_on = lambda head: head.startswith(b"POST /import")
        attacker = crowd(stage.plane.port, rate=2 * RATE, request=request_bytes, source=NAMESAKE)
        begin = time.perf_counter()
        async with attacker.asking():
            await stage.comes(lambda: len(attacker.ended) > 300, within=120.0)
            during = stage.between(begin, time.perf_counter())
            found = finished(stage.plane.worker.judging())
    print(stage.told())
    assert not any(each.is_good for each in attacker.ended)
    assert during.ended > 50
    assert during.errors == 0
    assert (found.unwell, [zone for zone in found.zones if zone.begun is not None]) == ([], [])
    if policy is PREFER:  # uploads that are begun are load, which `adaptive` may send elsewhere
        assert during.at_home >= 0.95


async def test_an_endpoint_that_asks_for_a_pause_gets_it_and_is_back_afterwards() -> None:
    async with staged(PREFER, warm_seconds=1.0) as stage:
        sick = stage.home[0]
        assert isinstance(sick, SickEndpoint)
        sick.failing, sick.fields = 1.0, b"Retry-After: 2\r\n"
        first = await stage.lasts(1.0)
        sick.failing = 0.0
        seen = len(sick.came_at)
        back = await stage.comes(lambda: len(sick.came_at) > seen + 20, within=30.0)
    print(stage.told(), f"\nback after {back:.1f} s")
    assert first.error_share <= 0.1
    assert back < 9.0, "an ejection takes ten seconds"
