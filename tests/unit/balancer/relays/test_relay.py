"""Bytes go both ways, ends are passed on, nobody's memory grows, and one line says how it was."""

from __future__ import annotations

import asyncio
import socket

import pytest

from balancer.connections.proxyprotocol import read_proxy_header
from balancer.workers.worker import WorkerTimes
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import narrow, reset, settled, until
from tests.unit.balancer.relays.scenes import idle_after, relaying, to

pytestmark = pytest.mark.large

_LARGE = 64 * 1024 * 1024


async def echo(visit: Visit) -> None:
    while data := await visit.some():
        await visit.send(data)


async def test_bytes_go_both_ways_and_one_line_tells_of_it() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        writer.close()
        line = await scene.line()
        assert (line["protocol"], line["status"], line["bytes_in"], line["bytes_out"]) == ("TCP", 200, 5, 5)
        assert (line["namespace"], line["ingress"], line["service"]) == ("shop", "db", "db")
        assert line["endpoints"] == [f"127.0.0.1:{endpoint.port}"]
        assert "error" not in line
        found = scene.counted("zonal_stream_connections_total")
        assert list(found.values()) == [1.0]
        assert scene.counted("zonal_zone_bytes_total").keys() == {
            ("shop", "db", "unknown", "unknown", "request"),
            ("shop", "db", "unknown", "unknown", "response"),
        }


async def test_an_endpoint_that_speaks_first_is_heard() -> None:
    async def greet(visit: Visit) -> None:
        await visit.send(b"220 ready\r\n")
        await visit.rest()

    async with ScriptedEndpoint(greet) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        assert await reader.readuntil(b"\n") == b"220 ready\r\n"
        writer.close()


async def test_the_end_of_the_client_is_passed_on_and_what_follows_comes_back() -> None:
    async def sum_up(visit: Visit) -> None:
        await visit.send(b"%d bytes" % len(await visit.rest()))

    async with ScriptedEndpoint(sum_up) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        writer.write(b"x" * 1000)
        writer.write_eof()
        assert await reader.read() == b"1000 bytes"
        writer.close()
        assert "error" not in await scene.line()


async def test_the_end_of_the_endpoint_is_passed_on_and_the_client_may_go_on() -> None:
    seen = asyncio.Event()

    async def end_first(visit: Visit) -> None:
        visit._writer.write_eof()
        await visit.until(b"late")
        seen.set()

    async with ScriptedEndpoint(end_first) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        assert await reader.read() == b""
        writer.write(b"late")
        async with asyncio.timeout(30):
            await seen.wait()
        writer.close()


async def test_a_client_that_does_not_read_stops_the_endpoint() -> None:
    sent = 0

    async def flood(visit: Visit) -> None:
        nonlocal sent
        while sent < _LARGE:
            await visit.send(bytes(65536))
            sent += 65536

    loop = asyncio.get_running_loop()
    async with ScriptedEndpoint(flood, buffer_bytes=65536) as endpoint, relaying(to(endpoint)) as scene:
        with socket.socket() as client:
            narrow(client, 65536)
            client.setblocking(False)
            await loop.sock_connect(client, ("127.0.0.1", scene.port))
            assert await settled(lambda: sent) < _LARGE // 2  # the kernel holds megabytes, and this process a piece
            received = 0
            while received < _LARGE:
                received += len(await loop.sock_recv(client, 2**20))
        assert received == _LARGE
        assert (await scene.line())["bytes_out"] == _LARGE


async def test_an_endpoint_that_does_not_read_stops_the_client() -> None:
    may_read = asyncio.Event()
    got = 0

    async def slow(visit: Visit) -> None:
        nonlocal got
        await may_read.wait()
        while data := await visit.some():
            visit.received = b""
            got += len(data)

    async with ScriptedEndpoint(slow, buffer_bytes=65536) as endpoint, relaying(to(endpoint)) as scene:
        _, writer = await scene.connect()
        sending = asyncio.create_task(_send(writer, _LARGE))
        await until(lambda: len(endpoint.visits) == 1)
        await settled(writer.transport.get_write_buffer_size)
        assert not sending.done()
        may_read.set()
        await sending
        writer.write_eof()
        await until(lambda: got == _LARGE)
        writer.close()


async def _send(writer: asyncio.StreamWriter, size: int) -> None:
    for _ in range(size // 65536):
        writer.write(bytes(65536))
        await writer.drain()


async def test_a_client_that_cuts_is_an_endpoint_that_is_cut() -> None:
    ended = asyncio.Event()

    async def wait(visit: Visit) -> None:
        with pytest.raises(ConnectionResetError):
            await visit._reader.readexactly(100)
        ended.set()

    async with ScriptedEndpoint(wait) as endpoint, relaying(to(endpoint)) as scene:
        _, writer = await scene.connect()
        writer.write(b"hello")
        await until(lambda: len(endpoint.visits) == 1)
        reset(writer)
        async with asyncio.timeout(30):
            await ended.wait()
        line = await scene.line()
        assert (line["error"], line["status"]) == ("client_left", 200)


async def test_an_endpoint_that_cuts_is_a_client_that_is_cut() -> None:
    async def cut(visit: Visit) -> None:
        await visit.exactly(5)
        visit.reset()

    async with ScriptedEndpoint(cut) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        writer.write(b"hello")
        with pytest.raises(ConnectionResetError):
            await reader.read()
        line = await scene.line()
        assert (line["error"], line["status"]) == ("endpoint_closed", 502)


async def test_a_stream_on_which_nothing_passes_ends() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(idle_after(to(endpoint), 0.1)) as scene:
        reader, _ = await scene.connect()
        with pytest.raises(ConnectionResetError):
            await reader.read()
        assert (await scene.line())["error"] == "stream_idle"


async def test_an_endpoint_that_wants_it_is_told_of_the_client() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint, sends_proxy_header=True)) as scene:
        _, writer = await scene.connect()
        port = writer.get_extra_info("sockname")[1]
        writer.write(b"hello")
        await until(lambda: bool(endpoint.visits) and endpoint.visits[0].received.endswith(b"hello"))
        said = endpoint.visits[0].received
        header = read_proxy_header(said)
        assert header is not None
        assert (header.address, header.port, said[header.length :]) == ("127.0.0.1", scene.port, b"hello")
        assert said[24:26] == port.to_bytes(2, "big")
        writer.close()


async def test_a_drain_waits_and_then_ends_streams() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint), WorkerTimes(idle_grace_seconds=0.0)) as scene:
        reader, writer = await scene.connect()
        writer.write(b"one")
        assert await reader.readexactly(3) == b"one"
        draining = asyncio.create_task(scene.worker.drain(grace_seconds=0.0, limit_seconds=1.0))
        writer.write(b"two")
        assert await reader.readexactly(3) == b"two"
        assert await reader.read() == b""  # the endpoint was told of the end, and said goodbye
        await draining
        assert (await scene.line())["error"] == "stream_drained"


async def test_what_nobody_reads_is_counted_before_the_end() -> None:
    async with ScriptedEndpoint(echo) as endpoint, relaying(to(endpoint)) as scene:
        reader, writer = await scene.connect()
        sending = asyncio.create_task(_send(writer, 17 * 1024 * 1024))
        await reader.readexactly(17 * 1024 * 1024)
        await sending
        found = scene.counted("zonal_zone_bytes_total")
        assert sum(found.values()) >= 16 * 1024 * 1024
        writer.close()
