"""Endpoints that are spoken to in HTTP/1.0, on real sockets: a head with a length, whatever the client sent."""

from __future__ import annotations

from balancer.model.policies import RoutePolicy
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.unit.balancer.proxy.standing import GET, OK, post, shop, standing

OLD = RoutePolicy(http_1_0=True)
CHUNKED = b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n"


async def reset(visit: Visit) -> None:
    await visit.head()
    visit.reset()


def taking(size: int, *, address: str = "127.0.0.1") -> ScriptedEndpoint:
    """An endpoint that answers once it has read a head and so many bytes."""

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.exactly(size)
        await visit.send(OK)

    return ScriptedEndpoint(script, address=address)


async def test_each_request_has_a_connection_of_its_own_and_says_so() -> None:
    async with (
        ScriptedEndpoint(answering(OK)) as endpoint,
        standing(shop([endpoint], policy=OLD)) as proxy,
        proxy.client() as client,
    ):
        for _ in range(2):
            assert (await client.ask(GET)).status == 200
        assert len(endpoint.visits) == 2
        for visit in endpoint.visits:
            assert visit.received.startswith(b"GET / HTTP/1.0\r\n")
            assert b"\r\nConnection: close\r\n" in visit.received


async def test_a_body_of_known_length_is_streamed() -> None:
    async with taking(5) as endpoint, standing(shop([endpoint], policy=OLD)) as proxy, proxy.client() as client:
        assert (await client.ask(post(b"hello"))).status == 200
        assert b"\r\nContent-Length: 5\r\n" in endpoint.visits[0].received


async def test_a_chunked_body_is_collected_and_gets_a_length() -> None:
    async with taking(5) as endpoint, standing(shop([endpoint], policy=OLD)) as proxy, proxy.client() as client:
        client.send(CHUNKED + b"2\r\nhe\r\n")
        assert (await client.ask(b"3\r\nllo\r\n0\r\nX-Sum: 1\r\n\r\n")).status == 200
        received = endpoint.visits[0].received
        assert b"\r\nContent-Length: 5\r\n" in received
        assert b"Transfer-Encoding" not in received
        assert received.endswith(b"\r\n\r\nhello")


async def test_a_client_that_waits_is_told_to_go_on() -> None:
    async with taking(5) as endpoint, standing(shop([endpoint], policy=OLD)) as proxy, proxy.client() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: shop.test\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n")
        assert (await client.head()).startswith(b"HTTP/1.1 100 ")
        assert (await client.ask(b"hello")).status == 200
        assert b"Expect" not in endpoint.visits[0].received


async def test_a_collected_body_goes_to_another_endpoint_as_a_whole() -> None:
    body, policy = b"x" * 200_000, RoutePolicy(http_1_0=True, retry_on=("error", "non_idempotent"))
    async with (
        ScriptedEndpoint(reset) as bad,
        taking(len(body), address="127.0.0.2") as good,
        standing(shop([bad, good], policy=policy)) as proxy,
        proxy.client() as client,
    ):
        client.send(CHUNKED + b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body))
        assert (await client.response()).status == 200
        assert len(bad.visits) == 1
        assert good.visits[0].received.endswith(body)
