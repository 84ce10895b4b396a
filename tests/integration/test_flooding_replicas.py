"""A conversation on a real port: what replicas that send without an end can cost, and who is heard meanwhile."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import struct

import aiohttp
import pytest

from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, credentials_of
from tests.integration.listening import SECRET, One, listening, said
from tests.integration.running import until

ROW = ["shop/cart", 5]


async def test_who_tells_without_end_is_not_read_and_others_are_heard() -> None:
    sender, another = credentials_of(SECRET), credentials_of(SECRET)
    async with listening() as one, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{one.port}/converse"
        for first in (1, 10_001):
            with contextlib.suppress(ConnectionError, aiohttp.WSServerHandshakeError):  # the stream ends meanwhile
                async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME) as stream:
                    for number in range(first, first + 10_000):
                        await stream.send_bytes(said(number))
        await until(lambda: one.refused().get("too_many", 0) > 0, seconds=30)
        assert one.conversation.facts().messages["heard"] < 10_000
        assert await one.hears(another, said(1)) == 204
        assert "distrusted" not in one.peers(), "that is no lie"


async def test_who_tells_full_messages_without_end_is_read_in_part_and_others_are_heard() -> None:
    """Another replica tells meanwhile, and each of its messages is answered."""
    sender, another = credentials_of(SECRET), credentials_of(SECRET)
    rows = [[f"shop/s{number}", 1] for number in range(4096)]
    health = [[f"n{number}", 1, 0] for number in range(4096)]
    async with listening() as one:
        modest = asyncio.create_task(_tells(one, another, 8))
        for number in range(1, 200):
            await one.hears(sender, said(number, picks=rows, health=health))
            if one.refused().get("too_much", 0) >= 2 and modest.done():
                break
        assert await modest == [204] * 8
        assert one.refused().keys() == {"too_much"}
        assert "distrusted" not in one.peers(), "that is no lie"


async def _tells(one: One, sender: ReplicaCredentials, messages: int) -> list[int]:
    return [await one.hears(sender, said(number, picks=[ROW])) for number in range(1, messages + 1)]


async def test_empty_pieces_of_a_message_without_end_end_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    """No piece makes the message longer, and each costs work."""
    sender = credentials_of(SECRET)
    async with listening() as one, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{one.port}/converse"
        async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME) as stream:
            connection = stream._response.connection
            assert connection is not None
            assert connection.transport is not None
            connection.transport.write(struct.pack("!BBI", 2, 0x80, 0))
            pieces = struct.pack("!BBI", 0, 0x80, 0) * 20_000
            while not connection.transport.is_closing():
                connection.transport.write(pieces)
                await asyncio.sleep(0)
        await until(lambda: one.refused() == {"too_long": 1}, seconds=30)
        assert one.peers() == {"distrusted": 1}
        assert await one.hears(credentials_of(SECRET), said(1)) == 204
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


@pytest.mark.parametrize(
    "head",
    [
        "POST /tell HTTP/1.1\r\nHost: zonal\r\nContent-Length: 99999999999\r\n\r\n",
        "PUT /nothing HTTP/1.1\r\nHost: zonal\r\nTransfer-Encoding: chunked\r\n\r\n",
        "nonsense\r\n\r\n",
    ],
)
async def test_a_body_without_an_end_is_not_read_to_its_end(head: str, caplog: pytest.LogCaptureFixture) -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        _, writer = await asyncio.open_connection("127.0.0.1", one.port, ssl=sender.client, server_hostname=PEER_NAME)
        writer.write(head.encode())
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            async with asyncio.timeout(30):
                while True:
                    writer.write(b"10000\r\n" + bytes(65536) + b"\r\n")
                    await writer.drain()
        writer.close()
        assert await one.hears(credentials_of(SECRET), said(1)) == 204
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_pieces_of_a_message_without_end_end_the_stream() -> None:
    piece = bytes(256 * 1024)
    sender = credentials_of(SECRET)
    async with listening() as one, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{one.port}/converse"
        async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME) as stream:
            await stream.send_bytes(said(1))
            await stream.receive()
            connection = stream._response.connection
            assert connection is not None
            assert connection.transport is not None
            for opcode in (2, *[0] * 9):  # none of them is the last one
                connection.transport.write(struct.pack("!BBQI", opcode, 0x80 | 127, len(piece), 0) + piece)
            ended = await stream.receive()
            assert ended.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED, aiohttp.WSMsgType.ERROR)
        await until(lambda: one.refused() == {"too_long": 1}, seconds=30)
        assert one.peers() == {"distrusted": 1}


async def test_pings_are_not_answered_and_end_the_stream() -> None:
    """Messages of one replica are counted. Pings without end would make this one do nothing but answer them."""
    sender, another = credentials_of(SECRET), credentials_of(SECRET)
    async with listening() as one, aiohttp.ClientSession() as session:
        url = f"https://127.0.0.1:{one.port}/converse"
        for ping in (aiohttp.WSMsgType.PING, aiohttp.WSMsgType.PONG):
            async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME, autoping=False) as stream:
                await (stream.ping if ping is aiohttp.WSMsgType.PING else stream.pong)(b"0" * 100)
                ended = await stream.receive()
                assert ended.type in (aiohttp.WSMsgType.CLOSE, aiohttp.WSMsgType.CLOSED)
        assert await one.hears(another, said(1)) == 204
        assert one.peers() == {"up": 1}


async def test_who_goes_before_the_stream_begins_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    sender, another = credentials_of(SECRET), credentials_of(SECRET)
    upgrade = "GET /converse HTTP/1.1\r\nHost: zonal\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    upgrade += f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {'A' * 22}==\r\n\r\n"
    async with listening() as one:
        for _ in range(20):
            _, writer = await asyncio.open_connection(
                "127.0.0.1", one.port, ssl=sender.client, server_hostname=PEER_NAME
            )
            writer.write(upgrade.encode())
            writer.close()
        assert await one.hears(another, said(1)) == 204
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_strangers_who_take_all_places_and_say_nothing_keep_no_replica_out() -> None:
    """They connect from another address, some begin a handshake, and none of them goes on."""
    first, second = credentials_of(SECRET), credentials_of(SECRET)
    async with listening() as one, contextlib.AsyncExitStack() as stack:
        assert await one.hears(first, said(1)) == 204
        for number in range(200):
            _, writer = await asyncio.open_connection("127.0.0.1", one.port, local_addr=("127.0.0.9", 0))
            stack.callback(writer.close)
            writer.write((b"", b"\x16\x03\x01\x02\x00\x01", b"\x16\x03\x01" + b"\xff" * 64)[number % 3])
        assert await one.hears(first, said(2)) == 204
        assert await one.hears(second, said(1)) == 204
        assert one.peers() == {"up": 2}
        assert one.refused().keys() <= {"noise", "too_often"}
