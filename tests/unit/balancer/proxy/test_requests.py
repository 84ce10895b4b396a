"""The life of one request: matched, forwarded or answered, counted and logged."""

from __future__ import annotations

import asyncio
import re

import msgspec
import pytest

from balancer.metrics.definitions import ERRORS, REQUESTS, RESPONSES, ZONE_BYTES
from balancer.model.gates import SourceRanges
from balancer.model.policies import RoutePolicy
from tests import builders
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, OK, echoes, get, post, shop, standing


async def test_the_endpoint_gets_the_target_as_it_came_and_the_fields_it_may_trust() -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy, proxy.client() as client:
        request = get(
            b"/a//b/%2e/%2F?x=%00&y",
            b"X-Forwarded-For: 1.2.3.4",
            b"X-Forwarded-Proto: https",
            b"Connection: keep-alive, X-Hop",
            b"X-Hop: 1",
            b"TE: trailers",
            b"Accept-Language: \xe4\xff",
        )
        seen = (await client.ask(request)).body
        assert seen.startswith(b"GET /a//b/%2e/%2F?x=%00&y HTTP/1.1\r\nHost: shop.test\r\n")
        assert b"\r\nX-Forwarded-For: 127.0.0.1\r\n" in seen
        assert b"\r\nX-Real-IP: 127.0.0.1\r\n" in seen
        assert b"\r\nX-Forwarded-Proto: http\r\n" in seen
        assert b"\r\nX-Original-Forwarded-For: 1.2.3.4\r\n" in seen
        assert b"\r\nAccept-Language: \xe4\xff\r\n" in seen
        assert not re.search(rb"(?i)\r\n(x-hop|te|connection):", seen)


async def test_a_request_id_is_made_once_and_logged() -> None:
    async with ScriptedEndpoint(echoes) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            made = re.search(rb"\r\nX-Request-ID: ([0-9a-f]{32})\r\n", (await client.ask(GET)).body)
            assert made is not None
            assert b"X-Request-ID: theirs\r\n" in (await client.ask(get(b"/", b"X-Request-ID: theirs"))).body
            await proxy.idle()
        assert [line["request_id"] for line in proxy.log()] == [made[1].decode(), "theirs"]


@pytest.mark.parametrize(("target", "host"), [(b"/", b"other.test"), (b"/outside", b"shop.test")])
async def test_what_no_route_matches_is_a_404_and_the_connection_goes_on(target: bytes, host: bytes) -> None:
    model = shop([], hosts=[builders.host("shop.test", builders.route("/inside"))])
    async with standing(model) as proxy, proxy.client() as client:
        for _ in range(2):
            response = await client.ask(get(target, host=host))
            assert response.status == 404
            assert response.fields[b"content-type"] == b"text/html"
        response = await client.ask(get(target, b"Accept: application/json", host=host))
        assert response.body == b'{"status":404,"error":"Not Found"}\n'


async def test_a_length_over_the_limit_is_a_413_before_any_endpoint_is_asked() -> None:
    async with (
        ScriptedEndpoint(echoes) as endpoint,
        standing(shop([endpoint], policy=RoutePolicy(max_body_bytes=10))) as proxy,
    ):
        async with proxy.client() as client:
            response = await client.ask(post(b"x" * 11))
            assert (response.status, response.fields[b"connection"]) == (413, b"close")
        assert endpoint.visits == []


async def test_the_newest_view_serves_the_next_request_of_an_open_connection() -> None:
    async with ScriptedEndpoint(answering(OK)) as endpoint, standing(shop([])) as proxy, proxy.client() as client:
        assert (await client.ask(GET)).status == 503
        proxy.publish(shop([endpoint]))
        assert (await client.ask(GET)).status == 200


async def test_a_closed_path_is_answered_503_as_an_error_of_its_own_and_reaches_no_endpoint() -> None:
    async with ScriptedEndpoint(answering(OK)) as endpoint:
        closed = msgspec.structs.replace(builders.route("/api"), closed=True)
        hosts = [builders.host("shop.test", closed, builders.route("/ap"))]
        async with standing(shop([endpoint], hosts=hosts)) as proxy, proxy.client() as client:
            assert (await client.ask(get(b"/api/users"))).status == 503
            assert endpoint.requests == 0
            assert proxy.metric(ERRORS) == {("path_closed",): 1}
            assert (await client.ask(get(b"/ap"))).status == 200


async def test_an_address_that_is_not_allowed_is_answered_403_and_reaches_no_endpoint() -> None:
    async with ScriptedEndpoint(answering(OK)) as endpoint:
        inside = msgspec.structs.replace(builders.route("/in"), gates=(SourceRanges(("127.0.0.0/8",)),))
        outside = msgspec.structs.replace(builders.route("/out"), gates=(SourceRanges(("10.0.0.0/8",)),))
        nowhere = msgspec.structs.replace(builders.route("/broken", to=None), gates=outside.gates)
        hosts = [builders.host("shop.test", inside, outside, nowhere)]
        async with standing(shop([endpoint], hosts=hosts)) as proxy:
            async with proxy.client() as client:
                answers = [(await client.ask(get(path))).status for path in (b"/out", b"/in", b"/broken", b"/in")]
                assert answers == [403, 200, 503, 200], "without endpoints nobody is refused, as in ingress-nginx"
                assert endpoint.requests == 2
                await proxy.idle()
            assert proxy.metric(ERRORS) == {("source_denied",): 1, ("no_backend",): 1}
            assert [line.get("error") for line in proxy.log()] == ["source_denied", None, "no_backend", None]


async def test_every_request_is_counted_and_logged_once() -> None:
    async def script(visit: Visit) -> None:
        while True:
            head = await visit.head()
            if b"POST" in head:
                await visit.exactly(4)
            await visit.send(OK)

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            for request in (GET, post(b"body"), get(b"/", host=b"other.test")):
                await client.ask(request)
            await proxy.idle()
        served = ("shop", "web", "cart", "zone-a", "zone-a", "local", "2xx")
        assert proxy.metric(REQUESTS) == {
            served: 2,
            ("", "", "", "zone-a", "unknown", "unknown", "4xx"): 1,
        }
        assert proxy.metric(ZONE_BYTES) == {
            ("shop", "cart", "zone-a", "zone-a", "request"): 4,
            ("shop", "cart", "zone-a", "zone-a", "response"): 10,
        }
        assert proxy.metric(ERRORS) == {("no_route",): 1}
        lines = proxy.log()
        assert [(line["method"], line["status"], line["bytes_in"], line["bytes_out"]) for line in lines] == [
            ("GET", 200, 0, 5),
            ("POST", 200, 4, 5),
            ("GET", 404, 0, 0),
        ]
        assert [line["endpoints"] for line in lines] == [[f"127.0.0.1:{endpoint.port}"]] * 2 + [[]]


async def test_a_client_that_left_is_a_499_in_the_log() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.rest()

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            client.send(GET)
            await until(lambda: endpoint.requests == 1)
            client.reset()
            await until(lambda: not proxy.clients)
        assert proxy.metric(ERRORS) == {("client_left",): 1}
        assert [line["status"] for line in proxy.log()] == [499]


async def test_a_response_cut_short_is_logged_with_what_was_sent_and_counted_as_an_error() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhello")

    async with ScriptedEndpoint(script) as endpoint, standing(shop([endpoint])) as proxy:
        async with proxy.client() as client:
            with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
                await client.ask(GET)
            await until(lambda: not proxy.clients)
        assert proxy.metric(ERRORS) == {("endpoint_closed",): 1}
        assert [(line["status"], line["bytes_out"]) for line in proxy.log()] == [(200, 5)]


async def test_a_mistake_of_ours_cuts_the_connection_and_is_counted_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with standing(shop([])) as proxy, proxy.client() as client:
        proxy.live.view.configurations = None  # type: ignore[assignment]
        client.send(GET)
        with pytest.raises(ConnectionResetError):
            await client.rest()
        assert proxy.metric(ERRORS) == {("internal",): 1}
        assert "a request failed" in caplog.text
        await until(lambda: not proxy.clients)
        assert [(line["status"], line["error"]) for line in proxy.log()] == [(500, "internal")]
        assert proxy.metric(RESPONSES) == {("", "", "", "500", "internal"): 1}
