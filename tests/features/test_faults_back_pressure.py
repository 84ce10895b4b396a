"""A side that is slow holds up the other side, not the process's memory."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.fakes.bulk import blocks
from tests.fakes.clients import RawClient
from tests.fakes.endpoints import Script, ScriptedEndpoint, Visit
from tests.fakes.sockets import settled, until
from tests.features.faults.crowds import closing, connected, is_over, take
from tests.features.faults.http2_clients import Http2Client
from tests.features.faults.http2_endpoints import StuckEndpoint, TakingSlowlyEndpoint
from tests.features.faults.load import Ledger, honest, request_of
from tests.features.faults.stage import Record, Stage, staged
from tests.features.faults.versions import HTTP1, HTTP2, PLAIN, Pair, Version, each_pair

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_ALLOWED_BYTES = 256 * 1024  # a piece of its body for each slow connection, and the objects of its two sides
_SOCKET_BYTES = 64 * 1024  # what the kernel may hold for either side, so that the stall shows soon
_SIDE_BY_SIDE = 20
_TOTAL_BYTES = 100 * 1024 * 1024  # a quarter is more than the kernel may keep for both connections of the process


async def _warm_up(stage: Stage, pair: Pair = PLAIN) -> None:
    """What a process takes once is not growth: some requests, and a body of more than one read."""
    load = pair.load(stage, prefix="/warm")
    await load.wave(20, posts=False)
    await load.ask(1024 * 1024)
    load.close()
    stage.forget_peak()


@each_pair
async def test_u10_an_endpoint_that_reads_slowly_holds_up_the_upload(
    tmp_path: Path, record_property: Record, pair: Pair
) -> None:
    """One that speaks HTTP/2 gives its window back slowly."""
    ledger, version = Ledger(), pair.version
    done = asyncio.Event()

    async def reading_slowly(visit: Visit) -> None:
        await visit.head()
        while not done.is_set():
            visit.received = b""
            await visit.exactly(10 * 1024)
            await asyncio.sleep(0.1)

    async with (
        _taking_slowly(version, reading_slowly, done) as endpoint,
        version.endpoint(honest(ledger)) as well,
        staged(
            tmp_path,
            {"app": [endpoint], "warm": [well]},
            ledger=ledger,
            protocol=version.protocol,
            http2_cleartext="true",
        ) as stage,
    ):
        await _warm_up(stage, pair)
        before = stage.resident_bytes()
        upload = _upload_by_http2 if pair.is_http2 else _upload
        taken = await asyncio.gather(*(upload(stage.port) for _ in range(_SIDE_BY_SIDE)))
        growth = stage.peak_bytes() - before
        record_property("KiB each", growth / _SIDE_BY_SIDE / 1024)
        done.set()
    assert max(taken) < _TOTAL_BYTES / 4, "the client was held up"
    assert growth / _SIDE_BY_SIDE <= _ALLOWED_BYTES


@pytest.mark.slow
@pytest.mark.parametrize("is_http2", [False, True], ids=["HTTP/1.1", "HTTP/2"])
async def test_an_http2_endpoint_that_grants_windows_and_reads_nothing_holds_up_the_upload(
    tmp_path: Path, record_property: Record, is_http2: bool
) -> None:
    """The uploads share one connection, and all but the first begin when nothing more can be written to it."""
    ledger, pair = Ledger(), Pair(is_http2, HTTP2)
    async with (
        StuckEndpoint(swallow, buffer_bytes=_SOCKET_BYTES) as endpoint,
        HTTP2.endpoint(honest(ledger)) as well,
        staged(
            tmp_path,
            {"app": [endpoint], "warm": [well]},
            ledger=ledger,
            protocol=HTTP2.protocol,
            http2_cleartext="true",
            proxy_send_timeout="8",
        ) as stage,
    ):
        await _warm_up(stage, pair)
        before = stage.resident_bytes()
        upload = _upload_by_http2 if is_http2 else _upload
        async with RawClient(stage.port, buffer_bytes=_SOCKET_BYTES) as first:
            first.send(f"POST /0/up HTTP/1.1\r\nHost: app.test\r\nContent-Length: {_TOTAL_BYTES}\r\n\r\n".encode())
            first.send(bytes(_TOTAL_BYTES // 4))
            assert await settled(lambda: first.unsent_bytes)
            taken = await asyncio.gather(*(upload(stage.port) for _ in range(_SIDE_BY_SIDE)))
            growth = stage.peak_bytes() - before
            assert len(endpoint.ends) == 1
        record_property("KiB each", growth / _SIDE_BY_SIDE / 1024)
    assert max(taken) < _TOTAL_BYTES / 4, "the client was held up"
    assert growth / _SIDE_BY_SIDE <= _ALLOWED_BYTES


def _taking_slowly(version: Version, script: Script, done: asyncio.Event) -> ScriptedEndpoint:
    if version is HTTP1:
        return ScriptedEndpoint(script, buffer_bytes=_SOCKET_BYTES)
    return TakingSlowlyEndpoint(swallow, done)


async def swallow(visit: Visit) -> None:
    """Take what comes and say nothing."""
    await visit.rest()


async def _upload_by_http2(port: int) -> int:
    """The same; the bytes for which there was a window."""
    taken = 0
    head = f"POST /0/up HTTP/1.1\r\nHost: app.test\r\nContent-Length: {_TOTAL_BYTES}\r\n\r\n"
    async with Http2Client.to(port) as client:
        upload = client.begin(head.encode(), ends=False)
        try:
            async with asyncio.timeout(1.0):
                for block in blocks(_TOTAL_BYTES):
                    client.send(upload.stream, block, ends=False)
                    await until(lambda: not client.is_held(upload))
                    taken += len(block)
        except TimeoutError:
            pass
        upload.answer.cancel()
    return taken


async def _upload(port: int) -> int:
    """Upload for a second; the bytes that were taken."""
    taken = 0
    async with RawClient(port, buffer_bytes=_SOCKET_BYTES) as client:
        client.send(f"POST /0/up HTTP/1.1\r\nHost: app.test\r\nContent-Length: {_TOTAL_BYTES}\r\n\r\n".encode())
        try:
            async with asyncio.timeout(1.0):
                for block in blocks(_TOTAL_BYTES):
                    client.send(block)
                    await client.writer.drain()
                    taken += len(block)
        except TimeoutError:
            pass
    return taken


@pytest.mark.parametrize(
    ("send_timeout", "reading_seconds"),
    [pytest.param("60", 1.5, marks=pytest.mark.slow, id="U11"), pytest.param("1", 3.0, id="C03")],
)
async def test_a_client_that_reads_slowly_holds_up_the_endpoint(
    tmp_path: Path, record_property: Record, send_timeout: str, reading_seconds: float
) -> None:
    """C03 is U11 with a reader so slow that the time-out of sending ends it."""
    ledger = Ledger()
    sent = 0

    async def endless(visit: Visit) -> None:
        nonlocal sent
        await visit.head()
        await visit.send(f"HTTP/1.1 200 OK\r\nContent-Length: {_TOTAL_BYTES}\r\n\r\n".encode())
        for block in blocks(_TOTAL_BYTES):
            await visit.send(block)
            sent += len(block)

    async with (
        ScriptedEndpoint(endless, buffer_bytes=_SOCKET_BYTES) as endpoint,
        ScriptedEndpoint(honest(ledger)) as well,
        staged(tmp_path, {"app": [endpoint], "warm": [well]}, ledger=ledger, proxy_send_timeout=send_timeout) as stage,
    ):
        await _warm_up(stage)
        before, descriptors = stage.resident_bytes(), stage.descriptors()
        beside = stage.load(prefix="/warm")
        loading = asyncio.create_task(beside.steady(rate=50, seconds=1.0))
        cut = await asyncio.gather(*(_read_slowly(stage.port, seconds=reading_seconds) for _ in range(_SIDE_BY_SIDE)))
        await loading
        growth = stage.peak_bytes() - before
        record_property("KiB each", growth / _SIDE_BY_SIDE / 1024)
        assert stage.descriptors() <= descriptors + 4
    assert set(cut) == {send_timeout == "1"}
    assert beside.failures == []
    assert sent < _SIDE_BY_SIDE * _TOTAL_BYTES / 4, "the endpoint was held up"
    assert growth / _SIDE_BY_SIDE <= _ALLOWED_BYTES


async def _read_slowly(port: int, *, seconds: float) -> bool:
    """Read 32 bytes ten times a second through a narrow window; whether the connection was cut off meanwhile."""
    connection = await connected(port, buffer_bytes=2048)
    with closing([connection]):
        connection.send(request_of("down", 0))
        for _ in range(int(seconds * 10)):
            await asyncio.sleep(0.1)
            take(connection, 32)
        return is_over(connection)  # what had come before a reset is still read first
