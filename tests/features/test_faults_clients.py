"""Clients that are slow, idle, rude or too eager are bounded, and nobody beside them notices."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

import pytest

from tests.fakes.clients import RawClient, Response
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.crowds import closing, crowd, dripping, trickling_crowd
from tests.features.faults.http2_clients import Http2Client
from tests.features.faults.leaving import Leaving, begun_by_http2, each_way_to_leave, hello_of_http2
from tests.features.faults.load import Ledger, Load, honest, request_of
from tests.features.faults.stage import Record, Stage, staged

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_CROWD = 300
_CALM_SECONDS = 0.25  # of the 99th percentile beside a fault: what a busy machine of two cores needs


class Client(Protocol):
    """One connection to the proxy, of any version."""

    async def ask(self, request: bytes) -> Response: ...


def _assert_unharmed(beside: Load, judge_times: bool) -> None:
    assert beside.failures == []
    assert not judge_times or beside.percentile_seconds(0.99) < _CALM_SECONDS


@pytest.mark.parametrize("deadline", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("begun", "linger_seconds"),
    [(b"GET / HTTP/1.1\r\nHost: app.test\r\n", 0.0), (begun_by_http2(), 1.0)],
    ids=["HTTP/1.1", "HTTP/2"],
)
async def test_c01_a_head_that_drips_in_is_cut_at_its_deadline(
    tmp_path: Path, record_property: Record, *, judge_times: bool, begun: bytes, linger_seconds: float, deadline: int
) -> None:
    """Over HTTP/2 the client is told why, and has `linger_seconds` to read it."""
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(
            tmp_path,
            {"app": [endpoint]},
            ledger=ledger,
            client_header_timeout=str(deadline),
            http2_cleartext="true",
        ) as stage,
    ):
        beside = stage.load()
        loading = asyncio.create_task(beside.steady(rate=50, seconds=float(deadline)))
        sockets = await crowd(stage.port, _CROWD, first_bytes=begun)
        with closing(sockets):
            ends = await dripping(sockets, drop=b"X", seconds=deadline + linger_seconds + 2.0)
        await loading
    record_property("last closed after seconds", max(ends))
    record_property("p99 beside it", beside.percentile_seconds(0.99))
    assert len(ends) == _CROWD
    assert not judge_times or max(ends) <= deadline + linger_seconds + 1.0
    _assert_unharmed(beside, judge_times)


@pytest.mark.slow
async def test_c02_a_body_that_stops_is_cut_and_holds_its_endpoint_no_longer(
    tmp_path: Path, record_property: Record, judge_times: bool
) -> None:
    ledger, deadline, arrival_seconds = Ledger(), 3, 2.0
    started = b"POST /0/slow HTTP/1.1\r\nHost: app.test\r\nContent-Length: 8192\r\n\r\n1"
    async with (
        ScriptedEndpoint(swallow) as swallowing,
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(
            tmp_path,
            {"app": [swallowing], "well": [endpoint]},
            ledger=ledger,
            client_body_timeout=str(deadline),
        ) as stage,
    ):
        beside = stage.load(prefix="/well")
        until_cut = arrival_seconds + deadline + 0.5
        loading = asyncio.create_task(beside.steady(rate=50, seconds=until_cut))
        sockets = await trickling_crowd(stage.port, _CROWD, first_bytes=started, seconds=arrival_seconds)
        with closing(sockets):
            for each in sockets:
                each.send(b"2")  # the last of each, so that all are cut at the same time
            ends = await dripping(sockets, drop=b"", seconds=deadline + 2.0)
            await loading
            assert await stage.connections("endpoint_active") == 0
    record_property("last closed after seconds", max(ends))
    record_property("p99 beside it", beside.percentile_seconds(0.99))
    assert len(ends) == _CROWD
    assert max(ends) <= deadline + 1.0  # what it takes to cut 300 at once
    _assert_unharmed(beside, judge_times)


async def test_c02_a_body_that_drips_in_holds_no_more_endpoints_than_allowed(tmp_path: Path) -> None:
    ledger = Ledger()
    started = b"POST /0/slow HTTP/1.1\r\nHost: app.test\r\nContent-Length: 8192\r\n\r\n1"
    async with (
        ScriptedEndpoint(swallow) as swallowing,
        staged(tmp_path, {"app": [swallowing]}, ledger=ledger, max_concurrency="20") as stage,
    ):
        sockets = await crowd(stage.port, 100, first_bytes=started)
        with closing(sockets):
            refused = await dripping(sockets, drop=b"1", seconds=1.0)
            held = await stage.connections("endpoint_active")
    assert held == 20
    assert len(refused) == 80


async def _never_sent(port: int, head: bytes) -> int:
    """The status of the answer to a request whose body does not come."""
    async with RawClient(port) as client:
        client.send(head)
        return int((await client.rest()).rpartition(b"HTTP/1.1 ")[2][:3])


async def _never_sent_by_http2(port: int, head: bytes) -> int:
    async with Http2Client.to(port) as client:
        return (await client.begin(head, ends=False).answer).status


@pytest.mark.parametrize("expects", ["", "Expect: 100-continue\r\n"], ids=["at once", "after 100"])
@pytest.mark.parametrize("ask", [_never_sent, _never_sent_by_http2], ids=["HTTP/1.1", "HTTP/2"])
async def test_c02_a_body_of_which_nothing_comes_is_cut_as_one_that_stops(
    tmp_path: Path, ask: Callable[[int, bytes], Awaitable[int]], expects: str
) -> None:
    """However long an endpoint may take for its answer."""
    ledger = Ledger()

    async def welcoming(visit: Visit) -> None:
        if b"expect" in (await visit.head()).lower():
            await visit.send(b"HTTP/1.1 100 Continue\r\n\r\n")
        await visit.rest()

    async with (
        ScriptedEndpoint(welcoming) as endpoint,
        staged(
            tmp_path,
            {"app": [endpoint]},
            ledger=ledger,
            client_body_timeout="1",
            proxy_read_timeout="60",
            http2_cleartext="true",
        ) as stage,
    ):
        head = f"POST /0/slow HTTP/1.1\r\nHost: app.test\r\nContent-Length: 9\r\n{expects}\r\n"
        async with asyncio.timeout(30.0):
            assert await ask(stage.port, head.encode()) == 408


async def swallow(visit: Visit) -> None:
    """Take what comes and say nothing."""
    await visit.rest()


@pytest.mark.parametrize("client_to", [RawClient, Http2Client.to], ids=["HTTP/1.1", "HTTP/2"])
async def test_c04_range_floods_are_passed_on_or_refused_at_little_cost(
    tmp_path: Path, client_to: Callable[[int], AbstractAsyncContextManager[Client]]
) -> None:
    ledger = Ledger()
    ranges = ",".join(f"{number}-{number}" for number in range(1, 700))
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, access_log="off", http2_cleartext="true") as stage,
        client_to(stage.port) as client,
    ):
        plain = await _cpu_seconds(stage, client, "")
        flooded = await _cpu_seconds(stage, client, f"Range: bytes={ranges}\r\n")
        too_many = await client.ask(request_of("many", 0, fields=f"Range: bytes={ranges}{ranges}{ranges}\r\n"))
    assert too_many.status == 431
    assert flooded <= 3 * plain + 0.1


async def _cpu_seconds(stage: Stage, client: Client, fields: str) -> float:
    """What a hundred requests cost the process."""
    before = stage.cpu_seconds()
    for number in range(100):
        response = await client.ask(request_of(f"{number}", 1024, fields=fields))
        assert (response.status, len(response.body)) == (200, 1024)
    return stage.cpu_seconds() - before


@pytest.mark.slow
@pytest.mark.parametrize("says", [b"", hello_of_http2()], ids=["HTTP/1.1", "HTTP/2"])
async def test_c05_ten_thousand_idle_connections_take_little_memory_and_disturb_nobody(
    tmp_path: Path, record_property: Record, judge_times: bool, says: bytes
) -> None:
    """Those over HTTP/2 have said their preface, and end as kept connections do.

    Where both versions are spoken without TLS, who says nothing is not open yet.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    count = min(10_000, soft - 1000, hard * 2 // 5)  # the process keeps descriptors for endpoints and in reserve
    ledger, deadline = Ledger(), 12  # by then all must be there, also on a busy machine
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(
            tmp_path,
            {"app": [endpoint]},
            ledger=ledger,
            client_header_timeout=str(deadline),
            keep_alive=str(deadline),
            http2_cleartext="true" if says else "false",
        ) as stage,
    ):
        beside = stage.load()
        before = stage.resident_bytes()
        since_opened = Stopwatch()
        sockets = await crowd(stage.port, count, first_bytes=says)
        with closing(sockets):
            while await stage.connections("client_idle") < count - 10:
                assert since_opened.within(deadline)
            each = (stage.resident_bytes() - before) / count
            await beside.steady(rate=100, seconds=2.0)
            ends = await dripping(sockets, drop=b"", seconds=deadline + 9.0)
    record_property("connections", count)
    record_property("KiB each", each / 1024)
    assert each <= 50 * 1024
    assert len(ends) == count, "each is closed in the end"
    _assert_unharmed(beside, judge_times)


@each_way_to_leave
async def test_c10_clients_that_reset_amid_the_answer_end_the_work_for_them(
    tmp_path: Path, record_property: Record, way: Leaving
) -> None:
    ledger = Ledger()
    under_way: set[int] = set()

    async def endless(visit: Visit) -> None:
        await visit.head()  # before it there is no work: a connection made for a client that left is kept for others
        under_way.add(visit.number)
        try:
            await visit.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while True:
                await visit.send(b"400\r\n" + b"x" * 1024 + b"\r\n")
                await asyncio.sleep(0.1)  # often enough to be amid it, and not what this process is busy with
        finally:
            under_way.discard(visit.number)

    async with (
        ScriptedEndpoint(endless) as endpoint,
        ScriptedEndpoint(honest(ledger)) as well,
        staged(tmp_path, {"app": [endpoint], "well": [well]}, ledger=ledger, http2_cleartext="true") as stage,
    ):
        sockets = await crowd(stage.port, _CROWD, first_bytes=way.request)
        for each in sockets:
            while b"xxxx" not in await asyncio.get_running_loop().sock_recv(each, 65536):
                pass
        assert len(under_way) == _CROWD
        for each in sockets:
            way.leave(each)
        since_reset = Stopwatch()
        await until(lambda: not under_way)
        seconds = since_reset.seconds
        held = await stage.connections("endpoint_active") + await stage.connections("endpoint_idle")
        after = stage.load(prefix="/well")
        await after.wave(20, posts=True)
        after.close()
        for each in sockets:
            each.close()
    record_property("seconds", seconds)
    assert seconds <= 1.0
    assert held == 0
    assert after.failures == []


@each_way_to_leave
async def test_c10_clients_that_reset_before_their_answer_leave_no_work_behind(tmp_path: Path, way: Leaving) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(swallow) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, http2_cleartext="true") as stage,
    ):
        sockets = await crowd(stage.port, _CROWD, first_bytes=way.request)
        await until(lambda: len(endpoint.visits) == _CROWD)  # in the kernel; the process may not have heard of some
        for each in sockets:
            way.leave(each)
        since_reset = Stopwatch()
        while await stage.connections("client_active") + await stage.connections("endpoint_active"):
            assert since_reset.seconds <= 1.0
        for each in sockets:
            each.close()


async def test_c11_a_client_that_has_said_all_still_gets_its_answer(tmp_path: Path) -> None:
    ledger = Ledger()
    async with (
        ScriptedEndpoint(honest(ledger, delay_seconds=0.1)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger) as stage,
    ):
        lengths = await asyncio.gather(*(_half_closed(stage.port, number) for number in range(100)))
    assert lengths == [65536] * 100


async def _half_closed(port: int, number: int) -> int:
    async with RawClient(port) as client:
        client.send(request_of(f"half-{number}", 65536))
        client.finish_sending()
        return len((await client.response()).body)


@pytest.mark.slow
async def test_c12_ten_thousand_requests_in_one_write_are_answered_in_order_in_bounded_memory(
    tmp_path: Path, record_property: Record
) -> None:
    ledger, count = Ledger(), 10_000
    async with (
        ScriptedEndpoint(honest(ledger)) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, keep_alive_requests=str(count)) as stage,
    ):
        load = stage.load()
        await load.wave(50, posts=False)
        load.close()
        before = stage.resident_bytes()
        stage.forget_peak()
        async with RawClient(stage.port) as client:
            client.send(b"".join(request_of(f"{number}", 0) for number in range(count)))
            for number in range(count):
                assert (await client.response()).fields[b"x-id"] == b"%d" % number
        growth = stage.peak_bytes() - before
    record_property("KiB", growth / 1024)
    assert growth < 1024 * 1024


async def test_c15_a_tunnel_in_which_nothing_moves_is_closed_on_both_sides(tmp_path: Path) -> None:
    ledger, count = Ledger(), 20
    frame = b"\x82\x7f" + (4 * 1024 * 1024).to_bytes(8, "big") + b"x" * (4 * 1024 * 1024)
    huge: list[int] = []
    over: list[float] = []

    async def chat(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        huge.append(len(await visit.rest()))
        over.append(watch.seconds)

    asking = b"GET /chat HTTP/1.1\r\nHost: app.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    async with (
        ScriptedEndpoint(chat) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, proxy_read_timeout="1") as stage,
        RawClient(stage.port) as shouting,
    ):
        shouting.send(asking)
        await shouting.head()
        shouting.send(frame)
        sockets = await crowd(stage.port, count, first_bytes=asking)
        watch = Stopwatch()
        with closing(sockets):
            ends = await dripping(sockets, drop=b"", seconds=3.0)
        assert await shouting.rest() == b""
        shouting.writer.close()
    assert len(ends) == count
    assert max(ends) <= 1.7
    assert max(over) <= 2.0
    assert sorted(huge) == [0] * count + [len(frame)]
