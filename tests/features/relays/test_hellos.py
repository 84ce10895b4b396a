"""The ClientHello decides: in pieces, in records, too large, too late, and what is none."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
import trustme

from balancer.connections.clienthello import HELLO_BYTES_MAX
from balancer.model.certificates import Certificate
from balancer.model.entry_points import Protocol
from balancer.model.publication import RoutingModel
from balancer.model.route_configurations import Listener
from balancer.workers.worker import USUAL_TIMES, WorkerTimes
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_clienthello import hello, spread
from tests.unit.balancer.relays.scenes import CONFIGURATION, LISTENER, Scene, backend, model, relaying, route

AUTHORITY = trustme.CA(key_type=trustme.KeyType.ECDSA)
LEAF = AUTHORITY.issue_cert("end.test", key_type=trustme.KeyType.ECDSA)
ENDING = "Gateway/infra/gw/end"


async def keep(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


def both(endpoint: ScriptedEndpoint) -> RoutingModel:
    """A port that passes TLS for `pass.test`, and ends it for `end.test`."""
    content = model(
        [backend((endpoint.address, endpoint.port))],
        route(name="end.test", listener=ENDING, ends_tls=True),
        route(name="pass.test"),
        protocol=Protocol.TLS,
    )
    certificate = Certificate("infra/cert", LEAF.cert_chain_pems[0].bytes(), LEAF.private_key_pem.bytes(), 2e9)
    return msgspec.structs.replace(
        content,
        listeners=(
            Listener(ENDING, CONFIGURATION, "end.test", ("infra/cert",), only_relays=True),
            Listener(LISTENER, CONFIGURATION, "pass.test", only_relays=True),
        ),
        certificates=(certificate,),
    )


@asynccontextmanager
async def port_for_tls(times: WorkerTimes = USUAL_TIMES) -> AsyncIterator[tuple[Scene, ScriptedEndpoint]]:
    async with ScriptedEndpoint(keep) as endpoint, relaying(both(endpoint), times) as scene:
        yield scene, endpoint


async def is_cut(scene: Scene, *pieces: bytes) -> bool:
    reader, writer = await scene.connect()
    try:
        for each in pieces:
            writer.write(each)
            await writer.drain()
        return await reader.read(100) == b""
    except ConnectionError:
        return True


@pytest.mark.parametrize("records", [1, 2, 9])
@pytest.mark.parametrize("size", [1, 50, 10_000])
async def test_a_hello_passes_as_it_came(records: int, size: int) -> None:
    said = spread(hello("imap", server_name="pass.test"), records)
    async with port_for_tls() as (scene, endpoint):
        reader, writer = await scene.connect()
        for at in range(0, len(said), size):
            writer.write(said[at : at + size])
            await asyncio.sleep(0)
        assert await reader.readexactly(len(said)) == said
        assert endpoint.visits[0].received == said


@pytest.mark.parametrize("name", ["other.test", "x.pass.test", "test"])
async def test_a_name_without_a_route_is_reset_and_reaches_nobody(name: str) -> None:
    async with port_for_tls() as (scene, endpoint):
        assert await is_cut(scene, hello(server_name=name))
        assert endpoint.visits == []
        assert scene.counted("zonal_errors_total") == {("stream_refused",): 1.0}


LARGE = b"\x01" + (HELLO_BYTES_MAX).to_bytes(3, "big") + bytes(16_000)


@pytest.mark.parametrize(
    "said",
    [
        pytest.param(b"GET / HTTP/1.1\r\nHost: pass.test\r\n\r\n", id="plain HTTP"),
        pytest.param(b"\x00" * 100, id="nonsense"),
        pytest.param(b"\x15\x03\x03\x00\x02\x02\x78", id="an alert"),
        pytest.param(spread(hello(server_name="pass.test"), 200), id="too many records"),
        pytest.param(
            b"\x16\x03\x01" + len(LARGE).to_bytes(2, "big") + LARGE + b"\x16\x03\x01\x3f\xff" + bytes(9000),
            id="too large",
        ),
    ],
)
async def test_what_is_no_hello_is_reset_and_reaches_nobody(said: bytes) -> None:
    async with port_for_tls() as (scene, endpoint):
        assert await is_cut(scene, said)
        assert endpoint.visits == []
        assert scene.counted("zonal_errors_total") == {("stream_refused",): 1.0}


async def test_a_hello_that_does_not_come_in_time_is_cut() -> None:
    async with port_for_tls(WorkerTimes(handshake_seconds=0.1)) as (scene, endpoint):
        assert await is_cut(scene, hello(server_name="pass.test")[:40])
        assert endpoint.visits == []
        assert scene.counted("zonal_errors_total") == {("tls_handshake",): 1.0}


async def test_many_who_owe_their_hello_are_bounded_and_an_honest_client_is_served() -> None:
    async with port_for_tls() as (scene, endpoint):
        crowd = [await scene.connect() for _ in range(300)]
        await until(lambda: scene.counted("zonal_errors_total").get(("handshake_limit",), 0) == 44.0)
        said = hello(server_name="pass.test")
        reader, writer = await scene.connect()
        writer.write(said)
        assert await reader.readexactly(len(said)) == said
        assert len(endpoint.visits) == 1
        assert await crowd[0][0].read(1) == b""


async def test_tls_that_ends_here_is_plain_at_the_endpoint_whatever_alpn_says() -> None:
    context = ssl.create_default_context()
    AUTHORITY.configure_trust(context)
    context.set_alpn_protocols(["imap"])
    async with port_for_tls() as (scene, endpoint):
        reader, writer = await asyncio.open_connection("127.0.0.1", scene.port, ssl=context, server_hostname="end.test")
        scene.writers.append(writer)
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        assert endpoint.visits[0].received == b"hello"
        assert writer.get_extra_info("ssl_object").selected_alpn_protocol() is None
        writer.close()
        line = await scene.line()
        assert (line["protocol"], line["host"], line["status"]) == ("TLS", "end.test", 200)
