"""Endpoints that are silent, cut short or talk out of turn harm nobody but the request they had."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from tests.fakes.clients import RawClient
from tests.fakes.endpoints import Script, Visit
from tests.fakes.sockets import until
from tests.fakes.stopwatch import Stopwatch
from tests.features.faults.http2_scripts import Http2ScriptedEndpoint
from tests.features.faults.load import Ledger, answer_to, body_of, honest, request_of
from tests.features.faults.stage import Record, staged
from tests.features.faults.versions import HTTP1, Version, each_version

pytestmark = [pytest.mark.faults, pytest.mark.alone]

_TICK_SECONDS = 0.3  # of the deadline wheel, and of a machine that is busy with other tests


def silent(ledger: Ledger, over: list[Visit]) -> Script:
    """Read requests and never answer; `over` gets the connections that were closed."""

    async def script(visit: Visit) -> None:
        await ledger.take(visit)
        await visit.rest()
        over.append(visit)

    return script


@each_version
async def test_u04_a_silent_endpoint_is_a_504_at_the_time_out_and_a_post_is_sent_once(
    tmp_path: Path, version: Version, record_property: Record, judge_times: bool
) -> None:
    ledger = Ledger()
    over: list[Visit] = []
    async with (
        version.endpoint(silent(ledger, over)) as first,
        version.endpoint(silent(ledger, over)) as second,
        version.endpoint(honest(ledger)) as well,
        staged(
            tmp_path,
            {"app": [well], "silent": [first, second]},
            ledger=ledger,
            protocol=version.protocol,
            proxy_read_timeout="1",
        ) as stage,
        RawClient(stage.port) as client,
    ):
        beside = stage.load()
        loading = asyncio.create_task(beside.steady(rate=50, seconds=1.0))
        sent_at, watch = time.monotonic(), Stopwatch()
        response = await client.ask(request_of("lost", 0, prefix="/silent", post=body_of("lost", 4096)))
        seconds, least_seconds = time.monotonic() - sent_at, watch.seconds
        await loading
        await until(lambda: len(over) == 1)
    record_property("seconds", seconds)
    assert response.status == 504
    assert seconds >= 1.0
    assert not judge_times or least_seconds <= 1.0 + _TICK_SECONDS
    # A connection without a byte only asks whether the endpoint is there (ADR 25).
    spoken = [visit for endpoint in (first, second) for visit in endpoint.visits if visit.received]
    assert ledger.posts["lost"] == len(spoken) == 1
    assert beside.failures == []
    assert not judge_times or beside.percentile_seconds(0.99) < 0.25


@each_version
@pytest.mark.parametrize("post", [None, b"order"], ids=["GET", "POST"])
async def test_u05_half_a_head_and_the_end_is_a_502_at_once(
    tmp_path: Path, version: Version, post: bytes | None
) -> None:
    ledger = Ledger()

    async def half_head(visit: Visit) -> None:
        await ledger.take(visit)
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Le")

    async with (
        version.endpoint(half_head) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol=version.protocol) as stage,
        RawClient(stage.port) as client,
    ):
        since_sent = Stopwatch()
        response = await client.ask(request_of("cut", 0, post=post))
        seconds = since_sent.seconds
        assert version is not HTTP1 or await stage.connections("endpoint_idle") == 0, "it is not pooled"
    assert response.status == 502
    assert seconds < 0.1
    assert len(endpoint.visits) == 1


@each_version
async def test_u05_a_get_goes_once_more_to_another_endpoint(tmp_path: Path, version: Version) -> None:
    ledger = Ledger()

    async def half_head(visit: Visit) -> None:
        await ledger.take(visit)
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Le")

    async with (
        version.endpoint(half_head) as broken,
        version.endpoint(honest(ledger)) as well,
        staged(tmp_path, {"app": [broken, well]}, ledger=ledger, protocol=version.protocol) as stage,
    ):
        load = stage.load()
        for _ in range(10):
            await load.ask(1024)
        load.close()
    assert load.failures == []
    assert broken.visits


async def test_u05_an_endpoint_that_cuts_shared_connections_gets_a_request_twice_at_most(tmp_path: Path) -> None:
    """Requests that share a new connection do not take its end for that of an old one, again and again."""
    ledger, count = Ledger(), 50

    async def cut(visit: Visit) -> None:
        await ledger.take(visit)
        for end in tuple(endpoint.ends):
            end.abort()

    async with (
        Http2ScriptedEndpoint(cut) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol="GRPC") as stage,
    ):
        load = stage.load()
        await load.wave(count, posts=False)
        load.close()
    assert len(load.failures) == count
    assert all(each.endswith("status 502") for each in load.failures)
    assert len(endpoint.visits) <= 2 * count


@each_version
@pytest.mark.parametrize("framing", ["length", "chunked", "end"])
async def test_u06_a_reset_amid_a_body_never_looks_like_its_end(tmp_path: Path, version: Version, framing: str) -> None:
    ledger = Ledger()
    field = {"length": "Content-Length: 65536\r\n", "chunked": "Transfer-Encoding: chunked\r\n", "end": ""}[framing]
    half = b"x" * 32768
    part = b"8000\r\n" + half + b"\r\n" if framing == "chunked" else half

    async def reset_amid(visit: Visit) -> None:
        await ledger.take(visit)
        await visit.send(f"HTTP/1.1 200 OK\r\n{field}\r\n".encode() + part)
        await asyncio.sleep(0.05)  # the client has the half before the reset overtakes it
        visit.reset()

    async with (
        version.endpoint(reset_amid) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol=version.protocol) as stage,
    ):
        clean_ends = sum(await asyncio.gather(*(_ends_cleanly(stage.port, number) for number in range(20))))
        assert len(endpoint.visits) == 20
    assert clean_ends == 0


async def _ends_cleanly(port: int, number: int) -> bool:
    async with RawClient(port) as client:
        client.send(request_of(f"{number}", 65536))
        assert (await client.head()).startswith(b"HTTP/1.1 200")
        try:
            await client.rest()
        except ConnectionError:
            return False
        return True


@each_version
async def test_u08_what_an_endpoint_says_out_of_turn_reaches_no_client(tmp_path: Path, version: Version) -> None:
    ledger = Ledger()
    out_of_turn = b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"

    async def impatient(visit: Visit) -> None:
        answer = answer_to(await ledger.take(visit), "impatient")
        await visit.send(answer + (out_of_turn if visit.number % 2 else b""))
        await asyncio.sleep(0.02)  # the answer is on its way, and the connection is idle
        await visit.send(out_of_turn)
        await visit.rest()

    async with (
        version.endpoint(impatient) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol=version.protocol) as stage,
    ):
        load = stage.load()
        for number in range(20):
            await load.ask(0 if number % 3 == 0 else 1024)
            await asyncio.sleep(0.03)
        load.close()
    assert load.failures == []
    assert len(endpoint.visits) == 20, "each connection was discarded"


@each_version
async def test_u12_an_early_answer_reaches_the_client_amid_its_upload(
    tmp_path: Path, version: Version, record_property: Record
) -> None:
    ledger = Ledger()

    async def too_large(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
        await visit.rest()

    async with (
        version.endpoint(too_large) as endpoint,
        staged(tmp_path, {"app": [endpoint]}, ledger=ledger, protocol=version.protocol) as stage,
    ):
        times = await asyncio.gather(*(_early_answer_seconds(stage.port) for _ in range(20)))
        assert version is not HTTP1 or await stage.connections("endpoint_idle") == 0, "it is not pooled"
    record_property("slowest seconds", max(times))
    assert max(times) < 0.2


async def _early_answer_seconds(port: int) -> float:
    async with RawClient(port) as client:
        head = b"POST /0/early HTTP/1.1\r\nHost: app.test\r\nContent-Length: 52428800\r\n\r\n"
        since_sent = Stopwatch()
        response = await client.ask(head + b"x" * 65536)
        assert response.status == 413
        return since_sent.seconds
