"""Times of requests and attempts, pauses and repeated statuses, on real sockets."""

from __future__ import annotations

import time
from typing import Any

import msgspec
import pytest

from balancer.model.policies import RoutePolicy
from balancer.model.publication import RoutingModel
from tests import builders
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit, answering
from tests.unit.balancer.proxy.standing import GET, OK, Standing, post, shop, standing

pytestmark = pytest.mark.large

FAILED = OK.replace(b"200 OK", b"500 Failed")


def served(endpoint: ScriptedEndpoint, **policy: Any) -> RoutingModel:
    return shop([endpoint], policy=RoutePolicy(**{"tries": 1, **policy}))


async def silent(visit: Visit) -> None:
    """Reads requests and never answers."""
    while True:
        await visit.head()


def failing(times: int, status: bytes = FAILED) -> Script:
    """Answers the first requests with an error."""
    left = times

    async def script(visit: Visit) -> None:
        nonlocal left
        while True:
            await visit.head()
            left -= 1
            await visit.send(status if left >= 0 else OK)

    return script


async def dripping(visit: Visit) -> None:
    """Begins an answer and never ends it."""
    await visit.head()
    await visit.send(OK[:-1])
    await visit.head()


def errors(proxy: Standing) -> list[str | None]:
    return [line.get("error") for line in proxy.log()]


@pytest.mark.parametrize(
    ("policy", "error"),
    [
        ({"request_seconds": 0.2}, "call_timeout"),
        ({"attempt_seconds": 0.2}, "endpoint_timeout"),
        ({"attempt_seconds": 60.0, "request_seconds": 0.2}, "call_timeout"),
    ],
)
async def test_what_takes_too_long_names_who_is_at_fault(policy: dict[str, float], error: str) -> None:
    async with ScriptedEndpoint(silent) as endpoint, standing(served(endpoint, **policy)) as proxy:
        async with proxy.client() as client:
            began = time.monotonic()
            assert (await client.ask(GET)).status == 504
            assert time.monotonic() - began >= 0.2
            await proxy.idle()
        assert errors(proxy) == [error]


async def test_the_time_of_a_request_holds_to_the_end_of_its_response() -> None:
    async with ScriptedEndpoint(dripping) as endpoint, standing(served(endpoint, request_seconds=0.2)) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            assert b"200 OK" in await client.head()
            with pytest.raises(ConnectionResetError):
                await client.rest()
        await proxy.idle()
        assert errors(proxy) == ["call_timeout"]


async def test_the_time_of_a_request_holds_while_its_body_comes() -> None:
    async with (
        ScriptedEndpoint(silent) as endpoint,
        standing(served(endpoint, request_seconds=0.2)) as proxy,
        proxy.client() as client,
    ):
        client.send(post(b"a", length=20))
        assert (await client.response()).status == 504


async def test_the_next_request_of_a_connection_has_its_own_time() -> None:
    """Alarms are used again: a limit that stayed would end a request that has none."""

    limited = builders.route("/limited", policy=RoutePolicy(request_seconds=0.3, tries=1))
    async with ScriptedEndpoint(answering(OK)) as endpoint:
        model = shop([endpoint])
        (host,) = model.hosts
        model = msgspec.structs.replace(model, hosts=(builders.host("shop.test", limited, *host.routes),))
        async with standing(model) as proxy, proxy.client() as client:
            for _ in range(3):
                assert (await client.ask(GET.replace(b"/ ", b"/limited "))).status == 200
                assert (await client.ask(GET)).status == 200
            await proxy.idle()
            assert [alarm.left() for alarm in proxy.proxy.alarms] == [float("inf")] * len(proxy.proxy.alarms)


async def test_a_tunnel_outlives_the_time_of_its_request() -> None:
    async def switching(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        while True:
            await visit.send(await visit.until(b"\r\n\r\n"))

    asked = GET.replace(b"\r\n\r\n", b"\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    async with (
        ScriptedEndpoint(switching) as endpoint,
        standing(served(endpoint, request_seconds=0.2)) as proxy,
        proxy.client() as client,
    ):
        began = time.monotonic()
        client.send(asked)
        assert b" 101 " in await client.head()
        while time.monotonic() - began < 0.6:
            client.send(b"ping\r\n\r\n")
            assert (await client.head()).startswith(b"ping")


@pytest.mark.parametrize(
    ("fails", "codes", "status", "seen"),
    [(2, (500,), 200, 3), (4, (500,), 500, 4), (2, (503,), 500, 1)],
    ids=["within its tries", "too often", "another status"],
)
async def test_a_status_is_tried_again_at_the_only_endpoint(
    fails: int, codes: tuple[int, ...], status: int, seen: int
) -> None:
    policy = {"tries": 4, "retry_on": (), "retry_codes": codes, "repeats_endpoints": True}
    async with ScriptedEndpoint(failing(fails)) as endpoint, standing(served(endpoint, **policy)) as proxy:
        async with proxy.client() as client:
            assert (await client.ask(GET)).status == status
        assert endpoint.requests == seen


async def test_a_method_that_must_not_run_twice_is_not_tried_again() -> None:
    policy = {"tries": 4, "retry_on": (), "retry_codes": (500,), "repeats_endpoints": True}

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.exactly(1)
        await visit.send(FAILED)

    async with ScriptedEndpoint(script) as endpoint, standing(served(endpoint, **policy)) as proxy:
        async with proxy.client() as client:
            assert (await client.ask(post(b"x"))).status == 500
        assert endpoint.requests == 1
