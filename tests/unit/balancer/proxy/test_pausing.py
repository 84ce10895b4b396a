"""Pauses between attempts, on real sockets."""

from __future__ import annotations

import time

import pytest

from tests.fakes.endpoints import ScriptedEndpoint
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, standing
from tests.unit.balancer.proxy.test_timing import errors, failing, served

RETRIED = {"tries": 3, "retry_on": (), "retry_codes": (500,), "repeats_endpoints": True}


@pytest.mark.large
async def test_another_attempt_waits_for_the_pause_of_the_route() -> None:
    policy = {**RETRIED, "retry_pause_seconds": 0.15}
    async with (
        ScriptedEndpoint(failing(2)) as endpoint,
        standing(served(endpoint, **policy)) as proxy,
        proxy.client() as client,
    ):
        began = time.monotonic()
        assert (await client.ask(GET)).status == 200
        assert time.monotonic() - began >= 0.3


async def test_a_pause_ends_with_the_time_of_the_request() -> None:
    policy = {**RETRIED, "retry_pause_seconds": 60.0, "request_seconds": 0.2}
    async with ScriptedEndpoint(failing(9)) as endpoint, standing(served(endpoint, **policy)) as proxy:
        async with proxy.client() as client:
            assert (await client.ask(GET)).status == 504
            await proxy.idle()
        assert (endpoint.requests, errors(proxy)) == (1, ["call_timeout"])


async def test_who_leaves_during_a_pause_is_forgotten() -> None:
    policy = {**RETRIED, "retry_pause_seconds": 0.2}
    async with ScriptedEndpoint(failing(9)) as endpoint, standing(served(endpoint, **policy)) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            await until(lambda: endpoint.requests > 0)
            client.reset()
        await proxy.idle()
