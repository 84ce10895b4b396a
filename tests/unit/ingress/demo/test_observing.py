"""The ingress' own account and model, as its admin port tells them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from balancer.metrics.exposition import Exposition, Snapshot
from balancer.metrics.recorder import Recorder
from balancer.metrics.slots import SlotTable
from ingress.demo import observing
from ingress.demo.observing import Account, AdminPort, ObservingFailed, account_of

SNAPSHOT = Snapshot(version="1", routes=frozenset({("demo", "demo", "shop"), ("demo", "demo", "other")}))


async def page_after(*requests: tuple[str, str, str]) -> bytes:
    """The ingress' page after requests of (service, zone they went to, reason)."""
    memory = bytearray(1024 * 1024)
    recorder = Recorder(SlotTable(memory))
    for service, zone, reason in requests:
        recorder.request(
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
    return bytes(await Exposition(tables=lambda: [memory], clock=lambda: 0.0).render(SNAPSHOT))


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
async def admin(pages: Pages) -> AsyncIterator[AdminPort]:
    runner = web.ServerRunner(web.Server(pages.answer))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    async with aiohttp.ClientSession() as session:
        yield AdminPort(session, url=f"http://127.0.0.1:{runner.addresses[0][1]}")
    await runner.cleanup()


def has_generation(number: int) -> Callable[[dict[str, Any]], bool]:
    return lambda model: model.get("generation") == number


async def test_requests_are_told_by_zone_and_by_reason() -> None:
    page = await page_after(
        ("shop", "zone-a", "zone_local"), ("shop", "zone-a", "zone_local"), ("shop", "zone-b", "zone_empty")
    )

    account = account_of(page.decode())

    assert account == Account(by_zone={"zone-a": 2, "zone-b": 1}, reasons={"zone_local": 2, "zone_empty": 1})
    assert account.requests == 3


async def test_other_services_are_not_ours() -> None:
    page = await page_after(("other", "zone-a", "off"), ("shop", "zone-c", "off"))

    assert account_of(page.decode()) == Account(by_zone={"zone-c": 1}, reasons={"off": 1})


def test_the_difference_of_two_accounts_leaves_out_what_did_not_grow() -> None:
    earlier = Account(by_zone={"zone-a": 5, "zone-b": 1}, reasons={"off": 6})
    later = Account(by_zone={"zone-a": 5, "zone-b": 4, "zone-c": 1}, reasons={"off": 6, "zone_empty": 4})

    assert later.since(earlier) == Account(by_zone={"zone-b": 3, "zone-c": 1}, reasons={"zone_empty": 4})


async def test_what_is_counted_a_moment_later_is_waited_for(admin: AdminPort, pages: Pages) -> None:
    request = ("shop", "zone-a", "off")
    pages.pages["/metrics"] = [await page_after(request), await page_after(request, request, request)]

    account = await admin.account_since(Account(by_zone={"zone-a": 1}, reasons={"off": 1}), requests=2)

    assert account == Account(by_zone={"zone-a": 2}, reasons={"off": 2})


async def test_what_is_never_counted_is_not_waited_for_without_end(
    admin: AdminPort, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "_COUNTED_SECONDS", 0.05)
    pages.pages["/metrics"] = [await page_after(("shop", "zone-a", "off"))]

    assert (await admin.account_since(Account(), requests=2)).requests == 1


async def test_a_model_is_waited_for_until_it_is_as_expected(admin: AdminPort, pages: Pages) -> None:
    pages.pages["/debug/model"] = [{"generation": 0}, {"model": {"generation": 1}}, {"model": {"generation": 2}}]

    await admin.wait_until_model(has_generation(2))

    assert pages.pages["/debug/model"] == [{"model": {"generation": 2}}]


async def test_a_model_that_never_comes_is_one_line(
    admin: AdminPort, pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observing, "_SHOWN_SECONDS", 0.05)
    pages.pages["/debug/model"] = [{"generation": 0}]

    with pytest.raises(ObservingFailed, match="did not take up a change"):
        await admin.wait_until_model(has_generation(1))


async def test_a_page_that_fails_is_one_line(admin: AdminPort) -> None:
    with pytest.raises(ObservingFailed, match="503"):
        await admin.account()


async def test_an_admin_port_that_is_gone_is_one_line() -> None:
    async with aiohttp.ClientSession() as session:
        with pytest.raises(ObservingFailed, match=r"the admin port of the ingress failed: .+"):
            await AdminPort(session, url="http://127.0.0.1:0").account()
