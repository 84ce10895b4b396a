"""The ingress' own account and model, as its admin port tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from pytest_aiohttp.plugin import AiohttpRawServer

from balancer.metrics.exposition import Exposition
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import SlotTable
from balancer.metrics.snapshots import Snapshot
from ingress.demo.observing import AdminPort, ObservingFailed, RequestCounts, account_of
from tests.recording import record

SNAPSHOT = Snapshot(version="1", routes=frozenset({("demo", "demo", "shop"), ("demo", "demo", "other")}))


async def page_after(*requests: tuple[str, str, str]) -> bytes:
    """The ingress' page after requests of (service, zone they went to, reason)."""
    memory = bytearray(1024 * 1024)
    recorder = Recorder(SlotTable(memory))
    for service, zone, reason in requests:
        record(
            recorder,
            namespace="demo",
            ingress="demo",
            service=service,
            from_zone="zone-a",
            to_zone=zone,
            locality="local" if zone == "zone-a" else "remote",
            status=200,
            seconds=0.001,
            endpoint_seconds=0.001,
            request_bytes=0,
            response_bytes=10,
            reason=reason,
        )
    return b"".join(await Exposition(tables=lambda: [memory], clock=lambda: 0.0).render(SNAPSHOT))


class Pages:
    """What the admin port answers: each path its pages one after the other, the last one for ever."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Any]] = {}

    def next(self, path: str) -> Any:
        pages = self.pages[path]
        return pages.pop(0) if len(pages) > 1 else pages[0]

    async def answer(self, request: web.BaseRequest) -> web.Response:
        if request.path not in self.pages:
            return web.Response(status=503)
        page = self.next(request.path)
        return web.Response(body=page) if isinstance(page, bytes) else web.json_response(page)


@pytest.fixture
async def pages() -> Pages:
    return Pages()


@pytest.fixture
async def admin(pages: Pages, aiohttp_raw_server: AiohttpRawServer) -> AsyncIterator[AdminPort]:
    server = await aiohttp_raw_server(pages.answer)
    async with aiohttp.ClientSession() as session:
        yield AdminPort(session, url=str(server.make_url("")).removesuffix("/"))


def has_generation(number: int) -> Callable[[dict[str, Any]], bool]:
    return lambda model: model.get("generation") == number


async def test_requests_are_told_by_zone_and_by_reason() -> None:
    page = await page_after(
        ("shop", "zone-a", "zone_local"), ("shop", "zone-a", "zone_local"), ("shop", "zone-b", "zone_empty")
    )

    account = account_of(page.decode())

    assert account == RequestCounts(by_zone={"zone-a": 2, "zone-b": 1}, reasons={"zone_local": 2, "zone_empty": 1})
    assert account.requests == 3


def test_the_cost_of_the_demo_s_service_is_counted() -> None:
    page = """# TYPE zonal_zone_cost_dollars counter
zonal_zone_cost_dollars_total{namespace="demo",service="shop"} 0.25
zonal_zone_cost_dollars_total{namespace="demo",service="other"} 4
# TYPE zonal_zone_blind_cost_dollars counter
zonal_zone_blind_cost_dollars_total{namespace="demo",service="shop"} 0.75
"""
    account = account_of(page)
    assert (account.dollars, account.blind_dollars) == (0.25, 0.75)
    since = account.since(RequestCounts(dollars=0.125, blind_dollars=0.25))
    assert (since.dollars, since.blind_dollars) == (0.125, 0.5)


async def test_findings_and_the_price_are_told(pages: Pages, admin: AdminPort) -> None:
    found = {"kind": "Ingress", "namespace": "demo", "name": "x", "reason": "Y", "message": "Wrong.", "effect": "None."}
    pages.pages["/debug/findings"] = [[{**found, "severity": "closed"}]]
    pages.pages["/debug/model"] = [{"model": {"zones": {"prices": {"default": 0.01}}}}]
    assert await admin.findings() == ("closed: Ingress demo/x: Wrong.",)
    assert await admin.dollars_per_gigabyte() == 0.01


async def test_other_services_are_not_ours() -> None:
    page = await page_after(("other", "zone-a", "off"), ("shop", "zone-c", "off"))

    assert account_of(page.decode()) == RequestCounts(by_zone={"zone-c": 1}, reasons={"off": 1})


def test_the_difference_of_two_accounts_leaves_out_what_did_not_grow() -> None:
    earlier = RequestCounts(by_zone={"zone-a": 5, "zone-b": 1}, reasons={"off": 6})
    later = RequestCounts(by_zone={"zone-a": 5, "zone-b": 4, "zone-c": 1}, reasons={"off": 6, "zone_empty": 4})

    assert later.since(earlier) == RequestCounts(by_zone={"zone-b": 3, "zone-c": 1}, reasons={"zone_empty": 4})


async def test_what_is_counted_a_moment_later_is_waited_for(admin: AdminPort, pages: Pages) -> None:
    request = ("shop", "zone-a", "off")
    pages.pages["/metrics"] = [await page_after(request), await page_after(request, request, request)]

    account = await admin.account_since(RequestCounts(by_zone={"zone-a": 1}, reasons={"off": 1}), requests=2)

    assert account == RequestCounts(by_zone={"zone-a": 2}, reasons={"off": 2})


async def test_what_is_never_counted_is_not_waited_for_without_end(admin: AdminPort, pages: Pages) -> None:
    pages.pages["/metrics"] = [await page_after(("shop", "zone-a", "off"))]

    assert (await admin.account_since(RequestCounts(), requests=2, limit_seconds=0.05)).requests == 1


async def test_a_model_is_waited_for_until_it_is_as_expected(admin: AdminPort, pages: Pages) -> None:
    pages.pages["/debug/model"] = [{"generation": 0}, {"model": {"generation": 1}}, {"model": {"generation": 2}}]

    await admin.wait_until_model(has_generation(2))

    assert pages.pages["/debug/model"] == [{"model": {"generation": 2}}]


async def test_a_model_that_never_comes_is_one_line(admin: AdminPort, pages: Pages) -> None:
    pages.pages["/debug/model"] = [{"generation": 0}]

    with pytest.raises(ObservingFailed, match="did not take up a change"):
        await admin.wait_until_model(has_generation(1), limit_seconds=0.05)


async def test_a_page_that_fails_is_one_line(admin: AdminPort) -> None:
    with pytest.raises(ObservingFailed, match="503"):
        await admin.account()


async def test_an_admin_port_that_is_gone_is_one_line() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(ObservingFailed, match=r"the admin port of the ingress failed: .+"):
            await AdminPort(session, url="http://127.0.0.1:0").account()
