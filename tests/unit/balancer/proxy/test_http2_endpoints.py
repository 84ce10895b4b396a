"""Clients of HTTP/1.1 before endpoints of HTTP/2: what they share, what is repeated, and what holds nobody up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import msgspec
import pytest

from balancer.http2.events import CANCEL, INTERNAL_ERROR, REFUSED_STREAM
from balancer.model.policies import RoutePolicy
from tests import builders
from tests.fakes.http2_endpoints import Call, Http2Endpoint
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import Standing, shop, standing

CLIENTS = 64


def post(body: bytes, *fields: bytes) -> bytes:
    lines = (b"POST / HTTP/1.1", b"Host: shop.test", b"Content-Length: %d" % len(body), *fields)
    return b"\r\n".join((*lines, b"", body))


def get(*fields: bytes) -> bytes:
    return b"\r\n".join((b"GET / HTTP/1.1", b"Host: shop.test", *fields, b"", b""))


@asynccontextmanager
async def before(*endpoints: Http2Endpoint, policy: RoutePolicy | None = None) -> AsyncIterator[Standing]:
    """The data plane before endpoints that speak HTTP/2, tried in the order of their ports."""
    members = [builders.endpoint("127.0.0.1", port=each.port, zone="zone-a") for each in endpoints]
    model = shop(members, policy=policy)
    backends = tuple(msgspec.structs.replace(each, http2=True) for each in model.backends)
    async with standing(msgspec.structs.replace(model, backends=backends)) as proxy:
        yield proxy


def once(first: Callable[[Call], None], then: Callable[[Call], None]) -> Callable[[Call], None]:
    """Does `first` to the first call, and `then` to all others."""
    left = [first]

    def answer(call: Call) -> None:
        (left.pop() if left else then)(call)

    return answer


def echo(call: Call) -> None:
    call.answer(call.body)


async def test_a_request_with_a_body_and_a_response_with_trailers() -> None:
    def answer(call: Call) -> None:
        call.answer(b"world", trailers=((b"x-sum", b"5"),))

    async with Http2Endpoint(answer) as endpoint, before(endpoint) as proxy, proxy.client() as client:
        response = await client.ask(post(b"hello", b"TE: trailers", b"Connection: te, close-me", b"Close-Me: x"))
        assert (response.status, response.body) == (200, b"world")
        (call,) = endpoint.calls
        assert call.body == b"hello"
        assert call.fields[b"te"] == b"trailers"
        assert call.fields[b":authority"] == b"shop.test"
        assert call.fields[b"x-forwarded-for"] == b"127.0.0.1"
        assert not call.fields.keys() & {b"connection", b"close-me", b"host", b"transfer-encoding"}


@pytest.mark.large
async def test_clients_share_a_connection_and_nothing_else() -> None:
    async def asking(proxy: Standing, number: int) -> None:
        async with proxy.client() as client:
            for round_ in range(5):
                body = b"%d-%d " % (number, round_) * (number * 7 % 300 + 1)
                response = await client.ask(post(body, b"X-Number: %d" % number))
                assert response.body == body

    def answer(call: Call) -> None:
        asyncio.get_running_loop().call_soon(echo, call)

    async with Http2Endpoint(answer) as endpoint, before(endpoint) as proxy:
        await asyncio.gather(*(asking(proxy, number) for number in range(CLIENTS)))
        assert len(endpoint.connections) <= 2
        assert len(endpoint.calls) == CLIENTS * 5


async def test_a_post_that_was_refused_goes_out_again_with_its_body() -> None:
    answer = once(lambda call: call.reset(REFUSED_STREAM), echo)
    async with Http2Endpoint(answer) as endpoint, before(endpoint) as proxy, proxy.client() as client:
        assert (await client.ask(post(b"hello"))).body == b"hello"
        assert [call.body for call in endpoint.calls] == [b"hello", b"hello"]


async def test_a_post_that_is_always_refused_is_tried_at_another_endpoint() -> None:
    async with (
        Http2Endpoint(lambda call: call.reset(REFUSED_STREAM)) as one,
        Http2Endpoint(lambda call: call.reset(REFUSED_STREAM)) as two,
        before(one, two, policy=RoutePolicy(tries=3)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(b"hello"))).status == 502
        assert (len(one.calls), len(two.calls)) == (2, 2)
        client.reset()
        await until(lambda: not proxy.clients)
        assert proxy.log()[0]["error"] == "endpoint_refused"


async def test_a_post_that_may_have_been_processed_is_not_repeated_and_a_get_is() -> None:
    async with (
        Http2Endpoint(once(lambda call: call.reset(INTERNAL_ERROR), echo)) as one,
        before(one, policy=RoutePolicy(tries=3)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(post(b"hello"))).status == 502
        assert len(one.calls) == 1
    async with (
        Http2Endpoint(once(lambda call: call.reset(INTERNAL_ERROR), echo)) as one,
        Http2Endpoint(once(lambda call: call.reset(INTERNAL_ERROR), echo)) as two,
        before(one, two, policy=RoutePolicy(tries=3)) as proxy,
        proxy.client() as client,
    ):
        assert (await client.ask(get())).status == 502
        assert (len(one.calls), len(two.calls)) == (1, 1)


async def test_a_response_that_was_cut_never_looks_whole() -> None:
    def answer(call: Call) -> None:
        call.answer(b"wor", ends=False)
        asyncio.get_running_loop().call_later(0.05, call.reset, INTERNAL_ERROR)

    async with Http2Endpoint(answer) as endpoint, before(endpoint) as proxy, proxy.client() as client:
        client.send(get())
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.response()


async def test_a_client_that_leaves_ends_its_stream_alone() -> None:
    async with Http2Endpoint() as endpoint, before(endpoint) as proxy, proxy.client() as staying:
        async with proxy.client() as leaving:
            leaving.send(get())
            await until(lambda: len(endpoint.calls) == 1)
            staying.send(get())
            await until(lambda: len(endpoint.calls) == 2)
            leaving.reset()
            await until(lambda: endpoint.calls[0].resets == [CANCEL])
        endpoint.calls[1].answer(b"whole")
        assert (await staying.response()).body == b"whole"
        assert len(endpoint.connections) == 1


async def test_a_client_that_does_not_read_holds_up_nobody_else() -> None:
    def answer(call: Call) -> None:
        call.answer(b"x" * (10_000_000 if b"x-much" in call.fields else 10))

    async with (
        Http2Endpoint(answer) as endpoint,
        before(endpoint) as proxy,
        proxy.client(buffer_bytes=32 * 1024) as stalled,
        proxy.client() as other,
    ):
        stalled.send(get(b"X-Much: 1"))
        await until(lambda: len(endpoint.calls) == 1)
        for _ in range(20):
            assert (await other.ask(get())).body == b"x" * 10
        assert len(endpoint.connections) == 1


@pytest.mark.large
@pytest.mark.parametrize("times", [1, 20])
async def test_an_endpoint_that_goes_away_again_and_again_fails_no_request(times: int) -> None:
    async def asking(proxy: Standing) -> None:
        async with proxy.client() as client:
            for _ in range(10):
                assert (await client.ask(post(b"hello"))).body == b"hello"

    count = [0]

    def answer(call: Call) -> None:
        count[0] += 1
        if count[0] % (100 // times) == 0:
            call.connection.goaway()
        echo(call)

    async with Http2Endpoint(answer) as endpoint, before(endpoint) as proxy:
        await asyncio.gather(*(asking(proxy) for _ in range(20)))
        assert len(endpoint.connections) > 1
        assert len(endpoint.calls) == 200
