"""gRPC through zonal with gRPC's own client and servers: every kind of call, its end, and who gets it."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
import trustme

from tests.fakes.sockets import until
from tests.features.grpc.servers import DETAILS, method
from tests.features.grpc.stage import GrpcStage, serving, staged

SECONDS = 60.0
LARGE = bytes(range(256)) * 4 * 4096  # 4 MiB


async def echoed(channel: Any, request: bytes = b"hello", *, name: str = "Unary", call: str = "") -> bytes:
    reply: bytes = await channel.unary_unary(method(name))(request, metadata=(("x-call", call),), timeout=SECONDS)
    return reply


async def failure(awaitable: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await awaitable
    return raised.value.code(), raised.value.details()


async def numbers(count: int) -> AsyncIterator[bytes]:
    for number in range(count):
        yield b"%d" % number


def lines(stage: GrpcStage) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stage.zonal.access_lines]


async def test_every_kind_of_call(tmp_path: Path) -> None:
    async with serving("zone-a") as (server,), staged(tmp_path, [server]) as stage, stage.channel() as channel:
        call = channel.unary_unary(method("Unary"))(b"hello", metadata=(("x-call", "1"), ("data-bin", b"\0\xff")))
        assert await call == b"hello"
        assert dict(await call.trailing_metadata())["x-server"] == str(server.port)
        assert server.metadata[0]["data-bin"] == b"\0\xff"
        replies = [reply async for reply in channel.unary_stream(method("Expand"))(b"1000", timeout=SECONDS)]
        assert replies == [b"%d" % number for number in range(1000)]
        collected = await channel.stream_unary(method("Collect"))(numbers(1000), timeout=SECONDS)
        assert collected == b",".join(replies)
        chat = channel.stream_stream(method("Chat"))(timeout=SECONDS)
        for number in range(100):  # each reply comes before the next question: nothing is kept back
            await chat.write(b"%d" % number)
            assert await chat.read() == b"%d" % number
        await chat.done_writing()
        assert await chat.read() is grpc.aio.EOF
        assert await chat.code() is grpc.StatusCode.OK
        assert await echoed(channel, LARGE) == LARGE
        assert await echoed(channel, b"") == b""
        await until(lambda: len(stage.zonal.access_lines) == 6)
        assert {(line["protocol"], line["status"], line["grpc_status"]) for line in lines(stage)} == {
            ("HTTP/2.0", 200, 0)
        }


async def test_calls_over_tls_to_the_server(tmp_path: Path) -> None:
    issued = trustme.CA().issue_cert("calls.test")
    pair = (issued.private_key_pem.bytes(), b"".join(blob.bytes() for blob in issued.cert_chain_pems))
    credentials = grpc.ssl_server_credentials([pair])
    async with (
        serving("zone-a", credentials=credentials) as servers,
        staged(tmp_path, servers, protocol="GRPCS") as stage,
        stage.channel() as channel,
    ):
        assert await echoed(channel) == b"hello"


async def test_statuses_deadlines_and_calls_that_are_taken_back(tmp_path: Path) -> None:
    async with serving("zone-a") as (server,), staged(tmp_path, [server]) as stage, stage.channel() as channel:
        for code in (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.INTERNAL):
            reply = failure(channel.unary_unary(method("Fail"))(b"%d" % code.value[0], timeout=SECONDS))
            assert await reply == (code, DETAILS)
        assert (await failure(echoed(channel, name="None")))[0] is grpc.StatusCode.UNIMPLEMENTED
        waiting = channel.unary_unary(method("Wait"))
        late = await failure(waiting(b"", timeout=0.5, metadata=(("x-call", "late"),)))
        assert late[0] is grpc.StatusCode.DEADLINE_EXCEEDED
        await until(lambda: server.begun.count("late") == server.cancelled.count("late"))
        back = waiting(b"", metadata=(("x-call", "back"),), timeout=SECONDS)
        await until(lambda: "back" in server.begun)
        back.cancel()
        await until(lambda: "back" in server.cancelled)
        chat = channel.stream_stream(method("Chat"))(metadata=(("x-call", "chat"),), timeout=SECONDS)
        await chat.write(b"x")
        assert await chat.read() == b"x"
        chat.cancel()
        await until(lambda: server.running == 0)
        assert await echoed(channel) == b"hello"


async def test_an_error_of_zonal_is_a_status(tmp_path: Path) -> None:
    async with serving() as servers, staged(tmp_path, servers) as stage, stage.channel() as channel:
        assert await failure(echoed(channel)) == (grpc.StatusCode.UNAVAILABLE, "Service Unavailable")
        await until(lambda: len(stage.zonal.access_lines) == 1)
        (line,) = lines(stage)
        assert (line["status"], line["grpc_status"], line["error"]) == (200, 14, "no_endpoint")


async def test_a_server_that_cancels_a_call_ends_it_at_the_client(tmp_path: Path) -> None:
    async with serving("zone-a") as (server,), staged(tmp_path, [server]) as stage, stage.channel() as channel:
        waiting = channel.unary_unary(method("Wait"))(b"", metadata=(("x-call", "1"),), timeout=SECONDS)
        await until(lambda: "1" in server.begun)
        await server.stop()
        assert (await failure(waiting))[0] in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


async def test_one_connection_is_spread_over_the_endpoints_of_its_zone(tmp_path: Path) -> None:
    async with (
        serving("zone-a", "zone-a", "zone-b", "zone-b") as servers,
        staged(tmp_path, servers, "--zone", "zone-a", zone_aware_routing="true") as stage,
        stage.channel() as channel,
    ):
        for number in range(100):
            await echoed(channel, call=str(number))
        assert [len(server.begun) for server in servers] == [50, 50, 0, 0]
        await until(lambda: len(stage.zonal.access_lines) == 100)
        assert Counter(line["reason"] for line in lines(stage)) == {"zone_local": 100}


async def test_a_thousand_streams_of_ten_connections_run_at_once(tmp_path: Path) -> None:
    async def chatting(channel: Any, number: int, all_there: asyncio.Barrier) -> None:
        chat = channel.stream_stream(method("Chat"))(timeout=SECONDS)
        await chat.write(b"%d" % number)
        assert await chat.read() == b"%d" % number
        await all_there.wait()
        await chat.write(b"again %d" % number)
        assert await chat.read() == b"again %d" % number
        await chat.done_writing()
        assert await chat.read() is grpc.aio.EOF

    async with (
        serving("zone-a", "zone-a", "zone-b") as servers,
        staged(tmp_path, servers, "--zone", "zone-a", zone_aware_routing="true") as stage,
    ):
        channels = [stage.channel() for _ in range(10)]
        barrier = asyncio.Barrier(1000)
        await asyncio.gather(*(chatting(channels[number % 10], number, barrier) for number in range(1000)))
        assert [server.at_once for server in servers] == [500, 500, 0]
        await asyncio.gather(*(channel.close() for channel in channels))
