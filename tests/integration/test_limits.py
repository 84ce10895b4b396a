"""Limits of one process: connections, handshakes and descriptors run out, and it stays alive (C06, C09, R01, R13)."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from balancer.connections.listeners import connection_bound, descriptor_limit
from ingress.settings.context import TranslationContext
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.integration.in_process import data_plane
from tests.integration.manifests import ingress_class
from tests.integration.running import running
from tests.integration.shop import HOST, shop
from tests.integration.wire import Connection, get

pytestmark = [pytest.mark.faults, pytest.mark.alone]

Record = Callable[[str, object], None]

PROBE_SECONDS = 1.0  # of a machine that runs several suites at once; alone it is a few milliseconds


@asynccontextmanager
async def idle_connections(port: int, count: int) -> AsyncIterator[list[socket.socket]]:
    """So many connections that were all asked for at once, and that stay open on this side."""
    loop = asyncio.get_running_loop()
    opened = [socket.socket() for _ in range(count)]
    for connection in opened:
        connection.setblocking(False)
    try:
        await asyncio.gather(*(loop.sock_connect(connection, ("127.0.0.1", port)) for connection in opened))
        yield opened
    finally:
        for connection in opened:
            connection.close()


def is_open(connection: socket.socket) -> bool:
    """Whether the other side has not closed a connection on which it has nothing to say."""
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


async def answers_again(port: int) -> float:
    """The seconds until a request is answered."""
    watch = Stopwatch()
    async with asyncio.timeout(30):
        while True:
            with suppress(ConnectionError, EOFError):
                if (await get(port, HOST)).status == 200:
                    return watch.seconds
            await asyncio.sleep(0.01)


async def test_c06_beyond_the_limit_connections_are_closed_and_the_admin_port_answers(
    tmp_path: Path, record_property: Record
) -> None:
    limit, more = 50, 100
    async with (
        shop(tmp_path, {"zone-a": 1}, max_worker_connections=str(limit)) as place,
        running(place.place) as zonal,
    ):
        async with idle_connections(zonal.http_port, limit + more) as connections:
            await until(lambda: sum(map(is_open, connections)) == limit)
            slowest = 0.0
            for _ in range(5):
                watch = Stopwatch()
                assert (await zonal.admin("/healthz")).status == 200
                slowest = max(slowest, watch.seconds)
            record_property("slowest probe in seconds", slowest)
            assert slowest < PROBE_SECONDS
            errors = (await zonal.metrics())["zonal_errors"].samples
            assert [sample.value for sample in errors if sample.labels["kind"] == "connection_limit"] == [more]
        assert await answers_again(zonal.http_port) < 2


async def test_r01_few_descriptors_are_shared_out_before_they_run_out(tmp_path: Path, record_property: Record) -> None:
    limited = ("prlimit", "--nofile=256")
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place, through=limited) as zonal:
        assert resource.prlimit(zonal.pid, resource.RLIMIT_NOFILE) == (256, 256)
        async with idle_connections(zonal.http_port, 400) as connections:
            await until(lambda: 0 < sum(map(is_open, connections)) < 256)
            watch = Stopwatch()
            assert (await zonal.admin("/healthz")).status == 200
            assert watch.within(PROBE_SECONDS)
        again = await answers_again(zonal.http_port)
        record_property("answers again after seconds", again)
        assert again < 2


async def test_r01_when_descriptors_run_out_after_all_accepting_resumes(tmp_path: Path) -> None:
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        assert (await get(zonal.http_port, HOST)).status == 200
        # Lowered under its feet, so that what it reckoned with at its start does not hold.
        before = resource.prlimit(zonal.pid, resource.RLIMIT_NOFILE, (64, 256))
        async with idle_connections(zonal.http_port, 100):
            await until(lambda: "accepting pauses" in zonal.stderr)
            resource.prlimit(zonal.pid, resource.RLIMIT_NOFILE, (256, 256))
            assert await answers_again(zonal.http_port) < 2
        assert before[0] > 64
        assert zonal.exit_status is None


async def test_r13_a_burst_of_connects_waits_and_is_served(tmp_path: Path, record_property: Record) -> None:
    count = min(5000, connection_bound(descriptor_limit()) - 10)
    record_property("connections", count)
    async with shop(tmp_path, {"zone-a": 1}) as place, running(place.place) as zonal:
        watch = Stopwatch()
        async with idle_connections(zonal.http_port, count) as connections:
            record_property("connected after seconds", watch.seconds)
            first, last = connections[0], connections[-1]
            loop = asyncio.get_running_loop()
            for connection in (first, last):
                await loop.sock_sendall(connection, f"GET / HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
                assert (await loop.sock_recv(connection, 100)).startswith(b"HTTP/1.1 200 ")
            assert all(map(is_open, connections))
        assert (await get(zonal.http_port, HOST)).status == 200


@pytest.mark.slow
async def test_c09_stalled_handshakes_are_closed_at_their_deadline(record_property: Record) -> None:
    deadline, count = 2.0, min(2000, connection_bound(descriptor_limit()) - 10)
    async with data_plane(handshake_seconds=deadline) as plane:
        plane.serve((ingress_class(),), TranslationContext())
        async with idle_connections(plane.https_port, count) as connections:
            assert all(map(is_open, connections))
            since_opened = Stopwatch()
            await until(lambda: not any(map(is_open, connections)))
            seconds = since_opened.seconds
            record_property("last closed after seconds", seconds)
            assert seconds < deadline + 5.0
        async with await Connection.open(plane.http_port) as connection:
            assert (await connection.get(HOST)).status == 404
