"""Clients over HTTP/2 whose bodies stop or drip in, or who ask too much at once: what HTTP/1.1 does to a connection
(C02, C06, C12, U16), HTTP/2 does to a stream."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.crowds import closing, connected, crowd, is_over, take
from tests.features.faults.http2_clients import Begun, Http2Client
from tests.features.faults.http2_load import Http2Load
from tests.features.faults.leaving import hello_of_http2
from tests.features.faults.load import Ledger, honest, request_of
from tests.features.faults.stage import Record, Stage, staged
from tests.features.faults.versions import Version, each_version
from tests.features.http2 import frames
from tests.features.http2.cases import block

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_STARTED = b"POST /0/slow HTTP/1.1\r\nHost: app.test\r\nContent-Length: 8192\r\n\r\n1"
_STREAMS = 50  # on each connection
_MIB = 1024 * 1024


async def _swallow(visit: Visit) -> None:
    await visit.rest()


@asynccontextmanager
async def _clients(port: int, count: int) -> AsyncIterator[list[Http2Client]]:
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(Http2Client.to(port)) for _ in range(count)]


@each_version
async def test_c02_bodies_that_stop_are_answered_408_and_their_connections_go_on(
    tmp_path: Path, version: Version, record_property: Record, judge_times: bool
) -> None:
    ledger, deadline = Ledger(), 1
    async with (
        version.endpoint(_swallow) as swallowing,
        version.endpoint(honest(ledger)) as well,
        staged(
            tmp_path,
            {"app": [swallowing], "well": [well]},
            ledger=ledger,
            protocol=version.protocol,
            client_body_timeout=str(deadline),
            http2_cleartext="true",
        ) as stage,
        _clients(stage.port, 6) as clients,
    ):
        beside = stage.load(prefix="/well")
        loading = asyncio.create_task(beside.steady(rate=50, seconds=float(deadline)))
        begun = [client.begin(_STARTED, ends=False) for client in clients for _ in range(_STREAMS)]
        watch = Stopwatch()
        answers = await asyncio.gather(*(each.answer for each in begun))
        seconds = watch.seconds
        await loading
        after = await asyncio.gather(*(each.ask(request_of("on", 100, prefix="/well")) for each in clients))
        await until(lambda: all(visit.received for visit in swallowing.visits))
        assert await stage.connections("endpoint_active") == 0
    record_property("last answered after seconds", seconds)
    assert {each.status for each in answers} == {408}
    assert not judge_times or seconds <= deadline + 1.5
    assert [each.status for each in after] == [200] * len(clients)
    assert beside.failures == []
    assert not judge_times or beside.percentile_seconds(0.99) < 0.25


@each_version
async def test_c02_bodies_that_drip_in_hold_no_more_endpoints_than_allowed(tmp_path: Path, version: Version) -> None:
    ledger = Ledger()
    async with (
        version.endpoint(_swallow) as swallowing,
        staged(
            tmp_path,
            {"app": [swallowing]},
            ledger=ledger,
            protocol=version.protocol,
            max_concurrency="20",
            http2_cleartext="true",
        ) as stage,
        _clients(stage.port, 2) as clients,
    ):
        begun = [(client, client.begin(_STARTED, ends=False)) for client in clients for _ in range(_STREAMS)]
        await _drip(begun, seconds=1.0)
        await until(lambda: sum(each.answer.done() for _, each in begun) == 80)
        refused = [each.answer.result().status for _, each in begun if each.answer.done()]
    assert refused == [503] * 80
    assert len(swallowing.visits) == 20


async def _drip(begun: list[tuple[Http2Client, Begun]], *, seconds: float) -> None:
    """A byte of each body that is wanted still, ten times a second."""
    for _ in range(int(seconds * 10)):
        await asyncio.sleep(0.1)
        for client, each in begun:
            if not each.answer.done():
                client.send(each.stream, b"1", ends=False)


@each_version
async def test_u16_what_is_beyond_the_limit_of_a_backend_is_refused_at_once(tmp_path: Path, version: Version) -> None:
    ledger, limit, count = Ledger(), 20, 100
    async with (
        version.endpoint(honest(ledger, delay_seconds=1.0)) as endpoint,
        staged(
            tmp_path,
            {"app": [endpoint]},
            ledger=ledger,
            protocol=version.protocol,
            max_concurrency=str(limit),
            http2_cleartext="true",
        ) as stage,
        _clients(stage.port, 2) as clients,
    ):
        asked = [each.ask(request_of("at-once", 10)) for each in clients for _ in range(count // 2)]
        answers = await asyncio.gather(*asked)
    statuses = [each.status for each in answers]
    assert (statuses.count(200), statuses.count(503)) == (limit, count - limit)
    assert all(b"retry-after" in each.fields for each in answers if each.status == 503)


@each_version
async def test_a_body_over_its_limit_is_a_413_and_other_streams_go_on(tmp_path: Path, version: Version) -> None:
    ledger = Ledger()
    stated = b"POST /0/stated HTTP/1.1\r\nHost: app.test\r\nContent-Length: 2000\r\n\r\n1"
    silent = b"POST /0/silent HTTP/1.1\r\nHost: app.test\r\n\r\n" + bytes(2000)
    async with (
        version.endpoint(honest(ledger)) as endpoint,
        version.endpoint(_swallow) as swallowing,
        staged(
            tmp_path,
            {"app": [swallowing], "well": [endpoint]},
            ledger=ledger,
            protocol=version.protocol,
            proxy_body_size="1000",
            http2_cleartext="true",
        ) as stage,
        Http2Client.to(stage.port) as client,
    ):
        others = [client.begin(request_of(f"{number}", 1024, prefix="/well")) for number in range(10)]
        refused = [client.begin(stated, ends=False), client.begin(silent, ends=False)]
        statuses = [(await each.answer).status for each in (*refused, *others)]
    assert statuses == [413] * 2 + [200] * 10


async def test_c06_beyond_the_limit_connections_are_closed_and_those_within_it_serve(tmp_path: Path) -> None:
    ledger, limit, more = Ledger(), 50, 50
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(
            tmp_path, {"app": [endpoint]}, ledger=ledger, max_worker_connections=str(limit), http2_cleartext="true"
        ) as stage,
    ):
        sockets = await crowd(stage.port, limit + more, first_bytes=hello_of_http2())
        with closing(sockets):
            await until(lambda: sum(map(is_over, sockets)) == more)
            served = next(each for each in sockets if not is_over(each))
            served.send(_get(1))
            await until(lambda: b"1|1|1|" in (take(served) or b""))
            assert (await stage.zonal.admin("/healthz")).status == 200


def _get(number: int) -> bytes:
    pseudo = [[":method", "GET"], [":scheme", "http"], [":authority", "app.test"], [":path", f"/100/{number}"]]
    return frames.frame(frames.HEADERS, frames.END_HEADERS | frames.END_STREAM, number, block(pseudo))


@pytest.mark.slow
async def test_c12_ten_thousand_requests_in_one_write_are_refused_beyond_the_limit_in_bounded_memory(
    tmp_path: Path, record_property: Record
) -> None:
    """HTTP/1.1 answers them in their order. HTTP/2 has a limit that its client knows, and refuses what is beyond it."""
    ledger, count, streams = Ledger(), 10_000, 100
    async with (
        ScriptedEndpoint(honest(ledger, delay_seconds=0.5)) as endpoint,
        staged(
            tmp_path,
            {"app": [endpoint]},
            ledger=ledger,
            http2_max_concurrent_streams=str(streams),
            http2_cleartext="true",
        ) as stage,
    ):
        load = Http2Load(stage.port)
        await load.wave(2 * streams, posts=False)
        load.close()
        before = stage.resident_bytes()
        stage.forget_peak()
        client = await connected(stage.port)
        with closing([client]):
            said = hello_of_http2() + b"".join(_get(number) for number in range(1, 2 * count, 2))
            writing = asyncio.create_task(_write(client, said))
            await until(lambda: is_over(client))
            writing.cancel()
        growth = stage.peak_bytes() - before
        await _serves(stage)
    record_property("KiB", growth / 1024)
    assert len(endpoint.visits) <= 3 * streams + 1
    assert growth < _MIB


async def _write(connection: socket.socket, data: bytes) -> None:
    loop = asyncio.get_running_loop()
    await loop.sock_sendall(connection, data)


async def _serves(stage: Stage) -> None:
    async with Http2Client.to(stage.port) as client:
        assert (await client.ask(request_of("after", 100))).status == 200
