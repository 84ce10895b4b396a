"""The demo's clients: how many requests they send, and what counts as failed."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import RawTestServer

from ingress.demo.traffic import CONNECTIONS, HttpTraffic, Tally, Traffic

pytestmark = pytest.mark.large

ZONES = {b"from a": "zone-a", b"from b": "zone-b"}


class Site:
    """A listener that gives its answers in turn and notes what reached it."""

    def __init__(self) -> None:
        self.server = RawTestServer(self.answer)
        self.hosts: Counter[str] = Counter()
        self.peers: set[object] = set()
        self.turns = [(200, b"from a")]

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.hosts[request.host] += 1
        assert request.transport is not None
        self.peers.add(request.transport.get_extra_info("peername"))
        self.turns.append(turn := self.turns.pop(0))
        return web.Response(status=turn[0], body=turn[1])


@pytest.fixture
async def site() -> AsyncIterator[Site]:
    made = Site()
    async with made.server:
        yield made


@pytest.fixture
async def traffic(site: Site) -> AsyncIterator[Traffic]:
    async with aiohttp.ClientSession() as session:
        yield HttpTraffic(session, url=str(site.server.make_url("/")), host="demo.example", zones=ZONES)


async def test_exactly_the_requests_asked_for_are_sent_to_the_host(site: Site, traffic: Traffic) -> None:
    tally = Tally()

    await traffic.send(101, to=tally)

    assert site.hosts == {"demo.example": 101}
    assert (tally.requests, tally.failed, tally.by_zone) == (101, 0, {"zone-a": 101})


async def test_requests_share_a_few_connections_that_are_kept(site: Site, traffic: Traffic) -> None:
    await traffic.send(10 * CONNECTIONS, to=Tally())

    assert 1 < len(site.peers) <= CONNECTIONS


async def test_answers_are_counted_by_the_zone_they_come_from(site: Site, traffic: Traffic) -> None:
    site.turns = [(200, b"from a"), (200, b"from b"), (200, b"from b")]
    tally = Tally()

    await traffic.send(30, to=tally)

    assert tally.by_zone == {"zone-a": 10, "zone-b": 20}


@pytest.mark.parametrize(
    "turn",
    [(503, b"from a"), (200, b"from nowhere"), (302, b"from a"), (200, b"")],
    ids=["an error", "another body", "a redirect", "no body"],
)
async def test_an_answer_that_is_not_the_expected_one_failed(
    site: Site, traffic: Traffic, turn: tuple[int, bytes]
) -> None:
    site.turns = [turn]
    tally = Tally()

    await traffic.send(5, to=tally)

    assert (tally.requests, tally.failed, tally.by_zone) == (5, 5, {})


async def test_a_request_without_an_answer_failed(site: Site, traffic: Traffic) -> None:
    await site.server.close()
    tally = Tally()

    await traffic.send(5, to=tally)

    assert (tally.requests, tally.failed) == (5, 5)


async def test_traffic_flows_during_a_block_and_has_ended_after_it(site: Site, traffic: Traffic) -> None:
    tally = Tally()

    async with asyncio.timeout(30), traffic.flowing(to=tally):
        while tally.requests < 200:  # noqa: ASYNC110 (what is waited for is the count itself)
            await asyncio.sleep(0)

    assert tally.requests == site.hosts.total() >= 200
    assert tally.failed == 0


async def test_some_traffic_flows_even_during_an_empty_block(traffic: Traffic) -> None:
    tally = Tally()

    async with traffic.flowing(to=tally):
        pass

    assert tally.requests == CONNECTIONS


async def test_traffic_stops_when_its_block_fails(site: Site, traffic: Traffic) -> None:
    with pytest.raises(ValueError, match="in the block"):
        async with traffic.flowing(to=Tally()):
            raise ValueError("in the block")

    others = asyncio.all_tasks() - {asyncio.current_task()}
    assert not [task for task in others if "_take_turns" in repr(task.get_coro())]


async def test_a_pause_keeps_the_traffic_light(site: Site) -> None:
    tally = Tally()
    async with aiohttp.ClientSession() as session:
        lazy = HttpTraffic(
            session, url=str(site.server.make_url("/")), host="demo.example", zones=ZONES, pause_seconds=60
        )

        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2), lazy.flowing(to=tally):
                await asyncio.Event().wait()

    assert tally.requests == CONNECTIONS
