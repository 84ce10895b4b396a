"""Upgrades: a tunnel only for a listed protocol, only after the endpoint's 101, and never anything else."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest
from aiohttp import web
from pytest_aiohttp.plugin import AiohttpServer

from ingress.settings.context import TranslationContext
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.integration.in_process import DataPlane, data_plane
from tests.integration.manifests import config_map, endpoint_slice, ingress, ingress_class, path, rule, service

HOST = "shop.test"
CONTEXT = TranslationContext(allow_local_endpoints=True)
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


class Placed:
    """An endpoint of the Service `chat` on loopback."""

    service = "chat"
    zone = "zone-a"

    def __init__(self, port: int) -> None:
        self.port = port
        self.ready = True


def asking_for(protocol: str, *, extra: str = "", body: str = "") -> bytes:
    return (
        f"GET /chat HTTP/1.1\r\nHost: {HOST}\r\nConnection: Upgrade\r\nUpgrade: {protocol}\r\n{extra}\r\n{body}"
    ).encode()


@asynccontextmanager
async def chat(port: int, **settings: str) -> AsyncIterator[DataPlane]:
    """A data plane whose only Service has one endpoint, on `port`."""
    async with data_plane() as plane:
        documents = [
            ingress_class(),
            config_map(ssl_redirect="false", **settings),
            service("chat"),
            endpoint_slice(Placed(port)),
            ingress("chat", rule(HOST, path("/", "chat"))),
        ]
        assert plane.serve(documents, CONTEXT) == ()
        yield plane


async def switch_and_shout(visit: Visit) -> None:
    """Switch to what the request offers, then answer every line in capitals."""
    head = await visit.head()
    protocol = head.lower().split(b"upgrade: ")[1].split(b"\r\n")[0]
    await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n\r\n" % protocol)
    while True:
        await visit.send((await visit.until(b"\n")).upper())


async def answer_everything(visit: Visit) -> None:
    while True:
        await visit.head()
        await visit.send(ANSWER)


@pytest.mark.large
async def test_ten_thousand_websocket_messages_come_back_whole_and_in_order(aiohttp_server: AiohttpServer) -> None:
    async def echo(request: web.Request) -> web.WebSocketResponse:
        socket = web.WebSocketResponse(max_msg_size=2**21)
        await socket.prepare(request)
        async for message in socket:
            await socket.send_bytes(message.data)
        return socket

    app = web.Application()
    app.router.add_get("/chat", echo)
    server = await aiohttp_server(app)
    assert server.port is not None
    dice = random.Random(3)
    sizes = [1, 2**20, *(min(2**20, int(dice.paretovariate(0.7))) for _ in range(9_998))]
    async with (
        chat(server.port) as plane,
        aiohttp.ClientSession() as session,
        session.ws_connect(
            f"http://127.0.0.1:{plane.http_port}/chat", headers={"Host": HOST}, max_msg_size=2**21
        ) as socket,
    ):
        sent, received = hashlib.sha256(), hashlib.sha256()

        async def send() -> None:
            for size in sizes:
                message = dice.randbytes(size)
                sent.update(message)
                await socket.send_bytes(message)

        sending = asyncio.create_task(send())
        for size in sizes:
            message = await socket.receive_bytes()
            assert len(message) == size
            received.update(message)
        await sending
        assert received.digest() == sent.digest()


async def test_another_protocol_becomes_a_tunnel_once_it_is_listed() -> None:
    async with (
        ScriptedEndpoint(switch_and_shout) as endpoint,
        chat(endpoint.port, upgrade_protocols="websocket, shout/1") as plane,
        RawClient(plane.http_port) as client,
    ):
        client.send(asking_for("Shout/1", body="early\n"))
        head = await client.head()
        assert head.startswith(b"HTTP/1.1 101 ")
        assert b"\r\nUpgrade: shout/1\r\n" in head
        assert await client.reader.readuntil(b"\n") == b"EARLY\n"
        client.send(b"hello\n")
        assert await client.reader.readuntil(b"\n") == b"HELLO\n"


@pytest.mark.parametrize("protocol", ["h2c", "shout/1", "websocket, h2c", "websocket, shout/1", "h2c, websocket"])
@pytest.mark.parametrize("body", ["", "hello"])
async def test_what_is_not_listed_is_an_ordinary_request(protocol: str, body: str) -> None:
    extra = f"HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\nContent-Length: {len(body)}\r\n"

    async def expecting_a_body(visit: Visit) -> None:
        while True:
            await visit.head()
            await visit.exactly(len(body))
            await visit.send(ANSWER)

    async with (
        ScriptedEndpoint(expecting_a_body) as endpoint,
        chat(endpoint.port) as plane,
        RawClient(plane.http_port) as client,
    ):
        for _ in range(2):
            client.send(asking_for(protocol, extra=extra, body=body))
            assert (await client.reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK")
        seen = endpoint.visits[0].received.lower()
        assert seen.count(b"get /chat ") == 2
        assert b"upgrade" not in seen
        assert b"h2c" not in seen
        assert b"http2-settings" not in seen


async def test_h2c_cannot_be_listed() -> None:
    async with data_plane() as plane:
        findings = plane.serve([ingress_class(), config_map(upgrade_protocols="websocket, h2c")], CONTEXT)
        assert [finding.reason for finding in findings] == ["InvalidValue"]


async def test_a_listed_upgrade_with_a_body_is_an_ordinary_request() -> None:
    async with (
        ScriptedEndpoint(answer_everything) as endpoint,
        chat(endpoint.port) as plane,
        RawClient(plane.http_port) as client,
    ):
        client.send(asking_for("websocket", extra="Content-Length: 3\r\n", body="abc"))
        await client.reader.readuntil(b"hello")
        assert b"upgrade" not in endpoint.visits[0].received.lower()


async def test_a_refused_upgrade_is_an_ordinary_answer_and_the_connection_goes_on() -> None:
    async with (
        ScriptedEndpoint(answer_everything) as endpoint,
        chat(endpoint.port) as plane,
        RawClient(plane.http_port) as client,
    ):
        smuggled = f"GET /next HTTP/1.1\r\nHost: {HOST}\r\n\r\n"
        client.send(asking_for("websocket", body=smuggled))
        for _ in range(2):
            assert (await client.reader.readuntil(b"hello")).startswith(b"HTTP/1.1 200 OK")
        heads = endpoint.visits[0].received.split(b"\r\n\r\n")
        assert heads[0].startswith(b"GET /chat ")
        assert b"\r\nX-Forwarded-For: 127.0.0.1\r\n" in heads[1]  # a request of its own, not bytes of a tunnel


async def test_a_101_that_nobody_asked_for_is_an_invalid_response() -> None:
    async def switch_unasked(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: shout/1\r\n\r\n")
        await visit.rest()

    async with (
        ScriptedEndpoint(switch_unasked) as endpoint,
        chat(endpoint.port) as plane,
        RawClient(plane.http_port) as client,
    ):
        client.send(asking_for("websocket"))  # offered, but the endpoint switches to something else
        assert (await client.head()).startswith(b"HTTP/1.1 502 ")


async def test_a_tunnel_in_which_nothing_moves_is_closed_on_both_sides() -> None:
    async with (
        ScriptedEndpoint(switch_and_shout) as endpoint,
        chat(endpoint.port, upgrade_protocols="shout/1", proxy_read_timeout="1") as plane,
        RawClient(plane.http_port) as client,
    ):
        client.send(asking_for("shout/1"))
        await client.head()
        assert await asyncio.wait_for(client.reader.read(), 30) == b""
        assert await asyncio.wait_for(endpoint.visits[0].rest(), 30) == b""


async def test_the_end_of_one_side_reaches_the_other() -> None:
    async def switch_and_count(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: count\r\n\r\n")
        size = len(await visit.rest())
        await visit.send(b"%d" % size)

    async with (
        ScriptedEndpoint(switch_and_count) as endpoint,
        chat(endpoint.port, upgrade_protocols="count") as plane,
        RawClient(plane.http_port) as client,
    ):
        client.send(asking_for("count"))
        await client.head()
        client.send(b"x" * 300_000)
        client.finish_sending()
        assert await client.reader.read() == b"300000"
