"""News of failing endpoints are told in groups, and as long as endpoints are watched."""

from __future__ import annotations

import asyncio

from balancer.model.endpoints import BackendKey
from balancer.picking.endpoint_health import EndpointHealth
from balancer.picking.failing import FailingEndpoints, FailingRow
from balancer.workers.failing_telling import FailingTelling
from tests.integration.running import until

KEY = BackendKey("shop/cart:80")


async def test_news_come_in_one_group_and_go_on_while_endpoints_are_watched() -> None:
    failing, told = FailingEndpoints(), list[tuple[FailingRow, ...]]()
    FailingTelling(failing, asyncio.get_running_loop().call_later, told.append)
    now = 1e12  # far in the future, so that nothing ends by itself
    endpoints = [EndpointHealth(), EndpointHealth()]
    for number, endpoint in enumerate(endpoints):
        endpoint.record().failures = 1
        failing.watch(KEY, f"10.0.0.{number}:80", endpoint, now)
    await until(lambda: bool(told), seconds=20)
    assert told == [tuple(FailingRow(KEY, f"10.0.0.{number}:80", 1, False) for number in range(2))]
    endpoints[0].answers += 1
    await until(lambda: len(told) == 2, seconds=20)
    assert told[1] == (FailingRow(KEY, "10.0.0.0:80", 0, True),)
