"""The demo's backends: they answer, stop, and come back on the same port."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator

import aiohttp
import pytest

from ingress.demo.backends import DemoBackends
from ingress.demo.calling import CallClient
from ingress.demo.cluster import CALLS_SERVICE, SERVICE, ZONES, DemoEndpoint

pytestmark = pytest.mark.large


@pytest.fixture
async def backends() -> AsyncIterator[DemoBackends]:
    made = DemoBackends()
    yield made
    await made.close()


async def body_from(endpoint: DemoEndpoint) -> bytes:
    if endpoint.service == CALLS_SERVICE:
        return await message_from(endpoint)
    async with aiohttp.ClientSession() as session, session.get(f"http://{endpoint.label}/any/path") as response:
        assert response.headers["Content-Length"] == str(len(endpoint.answer()))
        return await response.read()


async def message_from(endpoint: DemoEndpoint) -> bytes:
    """The message with which the endpoint answers a call."""
    client = CallClient(endpoint.address, endpoint.port, seconds=10.0)
    try:
        reply = await client.call("any.example")
    finally:
        client.close()
    if reply is None:
        raise ConnectionRefusedError
    assert reply.succeeded()
    assert reply.body[:5] == b"\0" + len(reply.body[5:]).to_bytes(4, "big")
    return reply.body[5:]


async def test_every_zone_has_the_same_number_of_endpoints_on_ports_of_their_own(backends: DemoBackends) -> None:
    endpoints = backends.endpoints

    for service in (SERVICE, CALLS_SERVICE):
        own = [endpoint for endpoint in endpoints if endpoint.service == service]
        assert [endpoint.zone for endpoint in own] == [zone for zone in ZONES for _ in range(2)]
        assert len({endpoint.node for endpoint in own}) == 6
    assert len({endpoint.port for endpoint in endpoints}) == 12


async def test_a_started_endpoint_answers_any_path_with_its_own_answer(backends: DemoBackends) -> None:
    await backends.start(ZONES)

    for endpoint in backends.endpoints:
        assert await body_from(endpoint) == endpoint.answer()


async def test_only_the_zones_that_were_started_answer(backends: DemoBackends) -> None:
    await backends.start(["zone-b"])

    for endpoint in backends.endpoints:
        if endpoint.zone == "zone-b":
            assert await body_from(endpoint) == endpoint.answer()
        else:
            with pytest.raises(OSError):
                await body_from(endpoint)


@pytest.mark.parametrize("service", [SERVICE, CALLS_SERVICE])
async def test_a_stopped_zone_refuses_connections_and_comes_back_on_the_same_ports(
    backends: DemoBackends, service: str
) -> None:
    await backends.start(ZONES)
    endpoint = next(each for each in backends.endpoints if each.service == service)

    await backends.stop([endpoint.zone])
    with pytest.raises(OSError):
        await body_from(endpoint)

    await backends.start([endpoint.zone])
    assert await body_from(endpoint) == endpoint.answer()


async def test_starting_and_stopping_twice_changes_nothing(backends: DemoBackends) -> None:
    await backends.start(["zone-a"])
    await backends.start(["zone-a"])
    assert await body_from(backends.endpoints[0]) == backends.endpoints[0].answer()

    await backends.stop(["zone-a"])
    await backends.stop(["zone-a"])


async def test_nobody_else_gets_the_port_of_a_stopped_endpoint_before_the_end(backends: DemoBackends) -> None:
    place = (backends.endpoints[0].address, backends.endpoints[0].port)
    await backends.start(ZONES)
    await backends.stop(ZONES)

    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(place)

    await backends.close()
    with socket.socket() as other:
        other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        other.bind(place)
