"""The requests of one connection: one after the other, in order, until it ends."""

from __future__ import annotations

import asyncio
import re

import pytest

from balancer.model.settings import ProxySettings
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.unit.balancer.proxy.standing import GET, OK, echoes, get, post, shop, standing

pytestmark = pytest.mark.large


async def test_pipelined_requests_are_answered_in_order() -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(b"".join(get(b"/%d" % number) for number in range(60)))
        for number in range(60):
            assert (await client.response()).body.startswith(b"GET /%d HTTP/1.1\r\n" % number)
        assert len(endpoint.visits) == 1


async def test_bodies_and_requests_may_follow_each_other_without_a_pause() -> None:
    async def script(visit: Visit) -> None:
        while True:
            head = await visit.head()
            if b"chunked" in head:
                await visit.until(b"0\r\n\r\n")
            elif b"Content-Length" in head:
                await visit.exactly(5)
            await visit.send(OK)

    chunked = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nGET /\r\n0\r\n\r\n"
    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send((post(b"GET /") + chunked + GET) * 5)
        for _ in range(15):
            assert (await client.response()).status == 200
        assert endpoint.requests == 15


async def test_an_answer_of_ours_to_a_request_with_a_body_ends_the_connection() -> None:
    async with standing(shop([], hosts=[builders.host("a.test")])) as proxy, proxy.client() as client:
        response = await client.ask(post(b"GET /smuggled HTTP/1.1\r\nHost: shop.test\r\n\r\n"))
        assert (response.status, response.fields[b"connection"]) == (404, b"close")
        assert await client.rest() == b""


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET / HTTP/1.1\n\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"GET /%zz HTTP/1.1\r\nHost: shop.test\r\n\r\n", 400),
        (b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"TRACE / HTTP/1.1\r\nHost: shop.test\r\n\r\n", 405),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\nHost: shop.test\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: shop.test\r\n" + b"A: a\r\n" * 101 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: shop.test\r\nA: " + b"a" * 9000 + b"\r\n\r\n", 431),
    ],
)
async def test_a_refused_head_is_answered_without_an_echo_and_nothing_after_it_is_served(
    sent: bytes, status: int
) -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        client.send(sent + GET)
        response = await client.response()
        assert (response.status, response.fields[b"connection"]) == (status, b"close")
        assert b"aaaa" not in response.body
        assert await client.rest() == b""
        assert endpoint.visits == []


async def test_a_head_that_does_not_come_in_time_is_a_408() -> None:
    settings = ProxySettings(client_header_timeout_seconds=0.1)
    async with standing(shop([], settings=settings)) as proxy, proxy.client() as client:
        response = await client.ask(b"GET / HT")
        assert (response.status, response.fields[b"connection"]) == (408, b"close")


async def test_a_client_that_never_says_anything_is_dropped_without_an_answer() -> None:
    settings = ProxySettings(client_header_timeout_seconds=0.1)
    async with standing(shop([], settings=settings)) as proxy, proxy.client() as client:
        assert await asyncio.wait_for(client.rest(), 30) == b""


async def test_a_connection_serves_its_share_of_requests_and_says_when_it_ends() -> None:
    settings = ProxySettings(keep_alive_requests=3)
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint], settings=settings)) as proxy,
        proxy.client() as client,
    ):
        ends = [(await client.ask(GET)).fields.get(b"connection") for _ in range(3)]
        assert ends == [None, None, b"close"]
        assert await client.rest() == b""


async def test_a_client_that_asks_for_the_end_gets_it() -> None:
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
    ):
        client.send(get(b"/", b"Connection: close") + GET)
        assert (await client.response()).fields[b"connection"] == b"close"
        assert await client.rest() == b""
        assert endpoint.requests == 1


async def test_every_answer_to_a_client_that_is_ending_is_its_last() -> None:
    model = shop([], hosts=[builders.host("shop.test", builders.route("/a"))])
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint])) as proxy,
        proxy.client() as client,
        proxy.client() as other,
    ):
        assert b"connection" not in (await client.ask(GET)).fields
        for connection in proxy.clients:
            connection.ending = True
        assert (await client.ask(GET)).fields[b"connection"] == b"close"
        assert await client.rest() == b""
        proxy.publish(model)
        assert (await other.ask(GET)).fields[b"connection"] == b"close"


async def test_many_clients_at_once_all_get_their_own_answers() -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy:

        async def one(number: int) -> None:
            async with proxy.client() as client:
                for turn in range(5):
                    target = b"/%d/%d" % (number, turn)
                    assert (await client.ask(get(target))).body.startswith(b"GET %b HTTP/1.1\r\n" % target)

        await asyncio.gather(*(one(number) for number in range(40)))
        assert endpoint.requests == 200
        assert len(endpoint.visits) <= 40


async def test_hundreds_of_answers_of_ours_in_one_piece_come_in_order() -> None:
    count = 900  # answered at once, one within the other's turn, and never one within the other's call
    async with standing(shop([])) as proxy, proxy.client() as client:
        client.send(get(b"/", host=b"elsewhere.test") * count)
        for _ in range(count):
            assert (await client.response()).status == 404


async def test_requests_that_repeat_their_fields_are_told_apart_by_all_else() -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        fields = (b"X-Forwarded-For: 1.2.3.4", b"Accept: */*")
        answers = [(await client.ask(get(target, *fields))).body for target in (b"/a", b"/b?c", b"/%61", b"/a")]
        lines = [answer.partition(b"\r\n")[0] for answer in answers]
        assert lines == [b"GET /a HTTP/1.1", b"GET /b?c HTTP/1.1", b"GET /%61 HTTP/1.1", b"GET /a HTTP/1.1"]
        identities = [re.findall(rb"X-Request-ID: ([0-9a-f]{32})\r\n", answer) for answer in answers]
        assert len({found for (found,) in identities}) == 4
        rest = {re.sub(rb"X-Request-ID: .*\r\n", b"", answer.partition(b"\r\n")[2]) for answer in answers}
        assert len(rest) == 1
