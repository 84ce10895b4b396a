"""What zones decide, seen from the wire: each request is counted under one reason, and its bytes are priced."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest

from balancer.metrics.definitions import (
    DRY_RUN_COST,
    DRY_RUN_DECISIONS,
    ERRORS,
    ZONE_BLIND_COST,
    ZONE_BYTES,
    ZONE_COST,
    ZONE_DECISIONS,
)
from balancer.model.publication import RoutingModel
from balancer.model.zones import Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZonePrices
from tests import builders
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.unit.balancer.proxy.standing import GET, OK, post, refusing, standing

pytestmark = pytest.mark.large

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
REQUESTS = 40


async def script(visit: Visit) -> None:
    """Takes a body of 5 bytes where there is one, and answers with as many."""
    while True:
        head = await visit.head()
        if b"Content-Length: 5" in head:
            await visit.exactly(5)
        await visit.send(OK)


def model(policy: ZonePolicy, *members: tuple[ScriptedEndpoint, Zone], facts: ZoneFacts | None = None) -> RoutingModel:
    """`shop.test` as seen from zone-a."""
    endpoints = [builders.endpoint(item.address, port=item.port, zone=zone) for item, zone in members]
    made = builders.model(
        builders.backend(of=endpoints, zone_policy=policy), hosts=[builders.host("shop.test", builders.route())]
    )
    return msgspec.structs.replace(made, zones=facts or ZoneFacts())


async def ask(client: RawClient, request: bytes = GET, times: int = REQUESTS) -> Counter[int]:
    statuses: Counter[int] = Counter()
    for _ in range(times):
        client.send(request)
        statuses[(await client.response()).status] += 1
    return statuses


async def test_a_strict_list_without_a_match_answers_503_and_counts_its_reason_once() -> None:
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(model(strict, (endpoint, B))) as proxy,
        proxy.client() as client,
    ):
        assert await ask(client, times=3) == {503: 3}
        await proxy.idle()
        assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "ordered_none"): 3}
        assert proxy.metric(ERRORS) == {("no_endpoint",): 3}
        assert {line["reason"] for line in proxy.log()} == {"ordered_none"}


async def test_a_dry_run_serves_every_zone_and_tells_what_it_would_have_done_and_cost() -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE, dry_run=True)
    async with (
        ScriptedEndpoint(script) as near,
        ScriptedEndpoint(script) as far,
        standing(model(policy, (near, A), (far, B))) as proxy,
        proxy.client() as client,
    ):
        await ask(client)
        await proxy.idle()
        assert (near.requests, far.requests) == (REQUESTS / 2, REQUESTS / 2)
        assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "off"): REQUESTS}
        assert proxy.metric(DRY_RUN_DECISIONS) == {("shop", "cart", "zone_local", "local"): REQUESTS}
        assert proxy.metric(DRY_RUN_COST) == {("shop", "cart"): 0.0}
        assert {(line["reason"], line["dry_run_reason"]) for line in proxy.log()} == {("off", "zone_local")}


async def test_bytes_are_priced_by_direction_and_to_the_byte() -> None:
    prices = ZonePrices(default=7.0, pairs=((A, B, 1.0), (B, A, 2.0)))
    async with (
        ScriptedEndpoint(script) as near,
        ScriptedEndpoint(script) as far,
        standing(model(ZonePolicy(), (near, A), (far, B), facts=ZoneFacts(prices=prices))) as proxy,
        proxy.client() as client,
    ):
        await ask(client, post(b"12345"))
        await proxy.idle()
        counted = proxy.metric(ZONE_BYTES)
        assert counted["shop", "cart", "zone-a", "zone-b", "request"] == 5 * REQUESTS / 2
        assert counted["shop", "cart", "zone-a", "zone-b", "response"] == 5 * REQUESTS / 2
        dollars = 5 * REQUESTS / 2 * (1.0 + 2.0) / 1e9
        assert proxy.metric(ZONE_COST) == {("shop", "cart"): pytest.approx(dollars)}
        assert proxy.metric(ZONE_BLIND_COST) == {("shop", "cart"): pytest.approx(dollars)}


async def test_staying_in_the_zone_saves_what_a_zone_blind_proxy_would_have_paid() -> None:
    async with (
        ScriptedEndpoint(script) as near,
        ScriptedEndpoint(script) as far,
        standing(model(builders.PREFER_ZONE, (near, A), (far, B))) as proxy,
        proxy.client() as client,
    ):
        await ask(client)
        await proxy.idle()
        assert proxy.metric(ZONE_COST) == {("shop", "cart"): 0.0}
        assert proxy.metric(ZONE_BLIND_COST) == {("shop", "cart"): pytest.approx(5 * REQUESTS * 0.02 / 2 / 1e9)}


async def test_a_drained_zone_is_left_once_its_ramp_is_over_and_serves_when_it_is_all_that_is_left() -> None:
    async with (
        ScriptedEndpoint(script) as near,
        ScriptedEndpoint(script) as far,
        standing(model(builders.PREFER_ZONE, (near, A), (far, B))) as proxy,
        proxy.client() as client,
    ):
        drained = ZoneFacts(drained=(A,), drain_ramp_seconds=0.0)
        proxy.publish(model(builders.PREFER_ZONE, (near, A), (far, B), facts=drained))
        await ask(client)
        assert (near.requests, far.requests) == (0, REQUESTS)
        proxy.publish(model(builders.PREFER_ZONE, (near, A), facts=drained))
        assert await ask(client) == {200: REQUESTS}
        await proxy.idle()
        assert proxy.metric(ZONE_DECISIONS) == {
            ("shop", "cart", "zone_empty"): REQUESTS,
            ("shop", "cart", "drained_zone"): REQUESTS,
        }


async def test_a_request_that_was_tried_again_elsewhere_counts_one_reason_that_of_its_last_pick() -> None:
    with refusing() as dead:
        async with ScriptedEndpoint(script) as far:
            living = builders.endpoint(far.address, port=far.port, zone="zone-b")
            backend = builders.backend(of=[dead, living], zone_policy=builders.PREFER_ZONE)
            shop = builders.model(backend, hosts=[builders.host("shop.test", builders.route())])
            async with standing(shop) as proxy, proxy.client() as client:
                assert await ask(client, times=1) == {200: 1}
                await proxy.idle()
                assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", "retry_other_zone"): 1}


@pytest.mark.parametrize("percent", [0, 100])
async def test_a_rollout_decides_which_requests_get_the_policy(percent: int) -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE, rollout_percent=percent)
    async with (
        ScriptedEndpoint(script) as near,
        ScriptedEndpoint(script) as far,
        standing(model(policy, (near, A), (far, B))) as proxy,
        proxy.client() as client,
    ):
        await ask(client)
        await proxy.idle()
        reason, crossed = ("zone_local", 0) if percent else ("rollout_excluded", REQUESTS / 2)
        assert proxy.metric(ZONE_DECISIONS) == {("shop", "cart", reason): REQUESTS}
        assert far.requests == crossed
