"""The overview of a serving process: its document, its live events, and those who look and take nothing."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest

from ingress.admin.overview.document import EndpointRow, Mode, Overview
from tests.integration.running import Zonal, running, until
from tests.integration.shop import HOST, shop
from tests.integration.wire import get

_EVENT_BYTES = 1 << 20


@asynccontextmanager
async def served(tmp_path: Path, *arguments: str) -> AsyncIterator[Zonal]:
    async with (
        shop(tmp_path, {"zone-a": 1, "zone-b": 1}, zone_aware_routing="true") as place,
        running(place.place, "--zone", "zone-a", *arguments) as zonal,
    ):
        yield zonal


async def overview(zonal: Zonal, query: str = "") -> Overview:
    return msgspec.json.decode((await zonal.admin(f"/debug/overview{query}")).body, type=Overview)


@asynccontextmanager
async def page(zonal: Zonal) -> AsyncIterator[aiohttp.ClientResponse]:
    """An open page; its events can be read."""
    async with (
        aiohttp.ClientSession(f"http://127.0.0.1:{zonal.admin_port}", read_bufsize=_EVENT_BYTES) as client,
        client.get("/ui/events") as response,
    ):
        yield response


async def event(response: aiohttp.ClientResponse) -> dict[str, Any]:
    line = await response.content.readline()
    assert line.startswith(b"data: ")
    assert await response.content.readline() == b"\n"
    return dict(msgspec.json.decode(line.removeprefix(b"data: ")))


async def test_the_document_counts_requests_and_says_why_they_went_where(tmp_path: Path) -> None:
    async with served(tmp_path) as zonal:
        before = await overview(zonal)
        for _ in range(5):
            assert (await get(zonal.http_port, HOST)).status == 200
        after = await overview(zonal)
    assert isinstance(after.services, tuple)
    (cart,) = after.services
    assert (cart.namespace, cart.name, cart.mode, cart.reason) == ("shop", "cart", Mode.ZONAL, "zone_local")
    assert (cart.requests.local, cart.reasons, sum(cart.durations.local)) == (5, {"zone_local": 5}, 5)
    assert isinstance(after.flows, tuple)
    assert [(flow.from_zone, flow.to_zone, flow.requests) for flow in after.flows] == [("zone-a", "zone-a", 5)]
    assert before.flows == ()
    assert (after.replica.own_zone, after.replica.zone_source) == ("zone-a", "flag")
    assert isinstance(after.routes, tuple)
    assert isinstance(after.endpoints, tuple)
    assert [route.host for route in after.routes] == [HOST]
    assert {endpoint.zone for endpoint in after.endpoints} == {"zone-a", "zone-b"}


async def test_only_the_parts_and_the_service_that_are_asked_for(tmp_path: Path) -> None:
    async with served(tmp_path) as zonal:
        part = (await zonal.admin("/debug/overview?parts=flows,zones")).json()
        assert {"flows", "zones"} == part.keys() - {"format", "at_epoch_seconds", "bounds_seconds", "replica"}
        none = await overview(zonal, "?parts=services,routes,endpoints&service=shop/other")
        assert (none.services, none.routes, none.endpoints) == ((), (), ())
        one = await overview(zonal, "?parts=services,routes,endpoints&service=shop/cart")
        assert [len(rows) for rows in (one.services, one.routes, one.endpoints) if isinstance(rows, tuple)] == [1, 1, 2]
        wrong = await zonal.admin("/debug/overview?parts=flows,nonsense")
        assert (wrong.status, "'nonsense' is not a part" in wrong.json()["error"]) == (400, True)


@pytest.mark.parametrize("workers", ["0", "2"])
async def test_a_service_that_is_asked_for_has_what_its_workers_know_of_each_endpoint(
    tmp_path: Path, workers: str
) -> None:
    settings = {"ejection_consecutive_errors": "1", "ejection_time": "600s", "load_balance": "ewma"}
    async with shop(tmp_path, {"zone-a": 2}, **settings) as place:
        await place.endpoints[0].stop()
        async with running(place.place, f"--workers={workers}") as zonal:
            states: dict[str, EndpointRow] = {}
            async with asyncio.timeout(30.0):
                while states.keys() != {"ready", "ejected"}:  # the kernel chooses which worker gets a connection
                    assert (await get(zonal.http_port, HOST)).status == 200
                    told = await overview(zonal, "?parts=endpoints&service=shop/cart")
                    assert isinstance(told.endpoints, tuple)
                    states = {row.state: row for row in told.endpoints}
    assert states["ejected"].ejected_seconds is not None
    assert 500 < states["ejected"].ejected_seconds <= 600
    assert states["ready"].latency_seconds is not None


@pytest.mark.parametrize("workers", ["0", "2"])
async def test_a_page_is_told_everything_and_then_what_changes(tmp_path: Path, workers: str) -> None:
    async with served(tmp_path, f"--workers={workers}") as zonal, page(zonal) as response:
        assert response.headers["Content-Type"] == "text/event-stream"
        first = await event(response)
        assert first["whole"]
        assert [service["name"] for service in first["services"]] == ["cart"]
        await get(zonal.http_port, HOST)
        following = await event(response)
        while not any(service["requests"] for service in following["services"]):
            following = await event(response)
        assert "whole" not in following
        assert following["services"][0]["requests"] == {"local": 1}
        assert len(following["timeline"]) == 1


async def test_open_pages_do_not_hold_up_the_end(tmp_path: Path) -> None:
    async with served(tmp_path) as zonal, page(zonal) as response:
        await event(response)
        zonal.tell(signal.SIGTERM)
        await until(lambda: zonal.exit_status is not None, seconds=10.0)


async def test_only_so_many_pages_are_open_at_once(tmp_path: Path) -> None:
    async with (
        served(tmp_path) as zonal,
        aiohttp.ClientSession(
            f"http://127.0.0.1:{zonal.admin_port}", connector=aiohttp.TCPConnector(limit=0)
        ) as client,
    ):
        responses = await asyncio.gather(*(client.get("/ui/events") for _ in range(34)))
        assert sorted(response.status for response in responses) == [*[200] * 32, 503, 503]
        for response in responses:
            response.close()


FOREIGN: tuple[dict[str, str], ...] = (
    {"Host": "evil.example"},
    {"Origin": "https://evil.example"},
    {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"},
)


async def test_a_page_of_another_site_gets_nothing(tmp_path: Path) -> None:
    async with served(tmp_path) as zonal, aiohttp.ClientSession(f"http://127.0.0.1:{zonal.admin_port}") as client:
        for fields in FOREIGN:
            for target in ("/ui", "/ui/app.js", "/ui/events", "/debug/overview", "/debug/model"):
                async with client.get(target, headers=fields) as response:
                    assert response.status == 403
                    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'; ")
            async with client.get("/metrics", headers=fields) as response:
                assert response.status == 200
