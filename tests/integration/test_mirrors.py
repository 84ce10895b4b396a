"""Copies of requests over real sockets: a mirror that hangs, fails or is away costs the request nothing."""

from __future__ import annotations

import asyncio

import pytest

from ingress.settings.context import TranslationContext
from tests.fakes.backends import EchoEndpoint, echoing
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import Document, endpoint_slice, ingress, ingress_class, path, rule, service
from tests.integration.wire import Connection, get
from tests.unit.balancer.proxy.standing import refusing

PREFIX = "nginx.ingress.kubernetes.io/"
HOST = "shop.test"


def serve(
    plane: DataPlane, endpoint: EchoEndpoint, target: str, *, mirror_host: str = "", allow_local: bool = True
) -> list[str]:
    """Serves the shop with this mirror. Returns the reasons of the findings."""
    said = {PREFIX + "mirror-target": target} | ({PREFIX + "mirror-host": mirror_host} if mirror_host else {})
    web = ingress("web", rule(HOST, path("/", "cart")), annotations=said)
    cluster: list[Document] = [ingress_class(), service("cart"), endpoint_slice(endpoint), web]
    context = TranslationContext(allow_local_endpoints=True)
    if not allow_local:
        # The endpoint is on loopback as well, so it is missing here.
        context = TranslationContext()
    return [finding.reason for finding in plane.serve(cluster, context)]


async def hangs(visit: Visit) -> None:
    await visit.head()
    await visit.rest()


async def fails(visit: Visit) -> None:
    await visit.head()


@pytest.mark.parametrize("script", [hangs, fails])
async def test_a_mirror_that_does_not_answer_holds_up_nobody(script: Script) -> None:
    async with (
        echoing("cart", {"zone-a": 1}) as (endpoint,),
        data_plane() as plane,
        ScriptedEndpoint(script) as mirror,
    ):
        serve(plane, endpoint, f"http://{mirror.address}:{mirror.port}/copy")
        for _ in range(5):
            assert (await get(plane.http_port, HOST, "/a")).status == 200
        await until(lambda: mirror.requests > 0)


async def test_a_mirror_that_is_away_fails_nobody() -> None:
    with refusing() as port:
        async with echoing("cart", {"zone-a": 1}) as (endpoint,), data_plane() as plane:
            serve(plane, endpoint, f"http://127.0.0.1:{port}$request_uri")
            answers = await asyncio.gather(*(get(plane.http_port, HOST, "/a") for _ in range(20)))
            assert {answer.status for answer in answers} == {200}


async def test_the_body_of_a_request_reaches_both() -> None:
    body = b"x" * 100_000
    async with (
        echoing("cart", {"zone-a": 1}) as (endpoint,),
        echoing("copy", {"zone-a": 1}) as (mirror,),
        data_plane() as plane,
    ):
        serve(plane, endpoint, f"http://127.0.0.1:{mirror.port}$request_uri")
        async with await Connection.open(plane.http_port) as connection:
            head = b"POST /a HTTP/1.1\r\nHost: shop.test\r\nContent-Length: %d\r\n\r\n" % len(body)
            answer = await connection.send(head + body)
        assert answer.json()["body_bytes"] == len(body)
        await until(lambda: mirror.requests == 1)


async def test_a_local_mirror_is_refused_unless_the_operator_allows_it() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), data_plane() as plane:
        assert "EndpointRefused" in serve(plane, endpoint, "http://127.0.0.1:1/", allow_local=False)


async def test_a_mirror_that_leads_back_to_its_route_gets_one_copy() -> None:
    async with echoing("cart", {"zone-a": 1}) as (endpoint,), data_plane() as plane:
        serve(plane, endpoint, f"http://127.0.0.1:{plane.http_port}/copy", mirror_host=HOST)
        for _ in range(5):
            assert (await get(plane.http_port, HOST, "/a")).status == 200
        await until(lambda: endpoint.requests == 10)
        assert (await get(plane.http_port, HOST, "/b")).status == 200
        await until(lambda: endpoint.requests == 12)
