"""Without worker processes everything is the same, in the loop of whoever asks."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import pytest

from balancer.connections.listeners import CannotListen, Port, listen, port_of
from balancer.connections.tls import self_signed
from balancer.explain.asking import BadQuestion
from balancer.logs.accesslines import AccessLogFormat
from balancer.metrics.definitions import REQUESTS
from balancer.metrics.recorder import NUMBERS
from balancer.metrics.slots import read
from balancer.workers.fleet import Fleet
from balancer.workers.inprocess import InProcessFleet
from tests import builders as build

MODEL = build.model(build.backend(), hosts=[build.host("shop.test", build.route("/"))])


def fleet_of(log: int, *, http_port: int = 0) -> InProcessFleet:
    return InProcessFleet(
        address="127.0.0.1",
        ports=(Port("http", http_port), Port("https", 0)),
        access_log=AccessLogFormat.JSON,
        fallback=self_signed(),
        new_log=lambda: log,
    )


@pytest.fixture
def pipe() -> tuple[int, int]:
    return os.pipe()


@pytest.fixture
async def fleet(pipe: tuple[int, int]) -> AsyncIterator[Fleet]:
    reader, writer = pipe
    fleet = fleet_of(writer)
    fleet.open()
    await fleet.start()
    fleet.publish(build.publication(1, MODEL))
    yield fleet
    await fleet.stop()
    os.close(reader)


async def ask(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\nConnection: close\r\n\r\n")
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_it_serves_counts_and_logs(fleet: Fleet, pipe: tuple[int, int]) -> None:
    assert fleet.readiness() is None
    assert (await ask(fleet.ports["http"])).startswith(b"HTTP/1.1 503")
    counted = [entry for table in fleet.tables() for entry in read(table) if entry.key.metric == NUMBERS[REQUESTS.name]]
    assert sum(entry.values[0] for entry in counted) == 1
    assert b'"host":"shop.test"' in await asyncio.to_thread(os.read, pipe[0], 10_000)


async def test_it_reports_what_its_worker_says(fleet: Fleet) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", fleet.ports["http"])
    writer.write(b"GET / HTTP/1.1\r\nHost: shop.test\r\n\r\n")
    await reader.readuntil(b"\r\n\r\n")
    connections = (await fleet.report()).connections
    writer.close()
    await writer.wait_closed()
    assert connections["client_idle",] + connections["client_active",] == 1.0
    assert connections["endpoint_idle",] == 0.0


async def test_it_explains(fleet: Fleet) -> None:
    told = await fleet.explain("http://shop.test/", (), client="")
    assert told.explanation.ingress == "shop/web"
    with pytest.raises(BadQuestion):
        await fleet.explain("no url", (), client="")


async def test_draining_closes_its_ports(fleet: Fleet) -> None:
    await fleet.drain(grace_seconds=0.0, limit_seconds=1.0)
    with pytest.raises(ConnectionRefusedError):
        await ask(fleet.ports["http"])


async def test_a_port_in_use_is_said_before_anything_serves(pipe: tuple[int, int]) -> None:
    with listen("127.0.0.1", 0) as taken:
        fleet = fleet_of(pipe[1], http_port=port_of(taken))
        with pytest.raises(CannotListen):
            fleet.open()
        await fleet.stop()
    os.close(pipe[0])
