"""A conversation on a real port: what replicas that lie, are broken or are none can send, and that nothing follows."""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import ssl
import struct
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import aiohttp
import msgspec
import pytest

from balancer.model.zones import FleetUse, Zone, ZoneFacts, ZonePolicy, ZonePolicyName, ZoneTraffic
from balancer.sharing.memory import alone
from balancer.workers.messages import SuspectRow
from ingress.replicas.conversation import Conversation, ConversationOptions
from ingress.replicas.others import REPLICAS_MOST
from ingress.replicas.sharing import Ends
from ingress.replicas.trust import PEER_NAME, ReplicaCredentials, credentials_of
from tests import builders as build
from tests.fakes.sockets import free_ports
from tests.integration.running import until

SECRET = b"a secret of replicas that nobody can guess"
MODEL = build.model(build.backend("shop/cart:80", zone_policy=ZonePolicy(ZonePolicyName.PROPORTIONAL)))
ROW = ["shop/cart", 5]
TAG = struct.pack("<Q", 7)
FAILING = ["shop/cart:80", "10.0.0.1:80", 5, False]
LONG_AGO = datetime(2021, 1, 1, tzinfo=UTC)


class One:
    """A replica that hears others, and what followed from that."""

    def __init__(
        self,
        port: int,
        name: str = "zonal-0",
        use: FleetUse = FleetUse.ON,
        credentials: ReplicaCredentials | None = None,
    ) -> None:
        model = msgspec.structs.replace(MODEL, zones=ZoneFacts(fleet=use))
        self.port = port
        self.used: list[tuple[tuple[str, ZoneTraffic], ...]] = []
        self.suspects: list[SuspectRow] = []
        self.places: tuple[str, ...] = ()
        self.crowded: list[bool] = []
        self.expired: list[tuple[str, ...]] = []
        ends = Ends(
            totals=lambda services: dict.fromkeys(services, 0),
            answers=dict,
            model=lambda: model,
            use=self.use,
            memory=alone().among_replicas,
            failing=lambda: (),
            suspect=self.suspects.extend,
            left=lambda: (),
            events=lambda _: None,
            flows=dict,
            places=lambda: self.places,
            crowded=self.crowded.append,
            expired=self.expired.append,
        )
        options = ConversationOptions("127.0.0.1", port, (), name)
        self.conversation = Conversation(options, credentials or credentials_of(SECRET), ends)

    def use(self, traffic: tuple[tuple[str, ZoneTraffic], ...] | None, sick: tuple[Zone, ...] | None) -> None:
        assert sick is None
        if traffic is not None:
            self.used.append(traffic)

    async def hears(self, sender: ReplicaCredentials, data: bytes) -> int:
        """What it answers to a message: the status. 0: it closes the stream because the message is too long."""
        async with aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{self.port}/converse"
            try:
                async with session.ws_connect(url, ssl=sender.client, server_hostname=PEER_NAME) as stream:
                    await stream.send_bytes(data)
                    answer = await stream.receive()
                    return int(answer.data.split()[0]) if answer.type is aiohttp.WSMsgType.TEXT else 0
            except aiohttp.WSServerHandshakeError as refused:  # nothing of that sender is read now
                return refused.status

    async def hears_older(self, sender: ReplicaCredentials, data: bytes | io.BytesIO) -> int:
        """The same for a sender of schema 1."""
        async with aiohttp.ClientSession() as session:
            url = f"https://127.0.0.1:{self.port}/tell"
            async with session.post(url, data=data, ssl=sender.client, server_hostname=PEER_NAME) as answer:
                return answer.status

    def refused(self) -> dict[str, int]:
        return {reason: count for reason, count in self.conversation.facts().refused.items() if count}

    def peers(self) -> dict[str, int]:
        return {state: count for state, count in self.conversation.facts().peers.items() if count}


@asynccontextmanager
async def listening(
    name: str = "zonal-0", use: FleetUse = FleetUse.ON, credentials: ReplicaCredentials | None = None
) -> AsyncIterator[One]:
    one = One(free_ports(1)[0], name, use, credentials)
    await one.conversation.start()
    running = asyncio.create_task(one.conversation.run())
    try:
        yield one
    finally:
        running.cancel()
        await asyncio.wait({running})
        await one.conversation.close()


def said(number: int, **fields: Any) -> bytes:
    return msgspec.msgpack.encode({"number": number, "zone": "zone-b", "seconds": 5.0, **fields})


@pytest.mark.parametrize(
    "lie",
    [
        b"",
        b"\xff" * 100,
        b"\xdd\xff\xff\xff\xff",  # a list that is said to have four billion rows
        said(2, seconds=math.nan),
        said(2, seconds=1e9),  # it would be up for ever
        said(2, seconds=0.0),
        said(2**53 + 1),
        said(-1),
        said(2, picks=[["shop/cart", math.nan]]),
        said(2, picks=[["shop/cart", -1]]),
        said(2, picks=[["shop/cart", 2**64 - 1]]),
        said(2, picks=[["shop/cart", 4]]),
        said(2, picks=[["shop/cart", 10**9]]),
        said(2, picks=[[f"shop/s{number}", 1] for number in range(5000)]),
        said(2, spent=[[1, 1, 4, 5]]),
        said(2, loads=[[1, [1, 2, 3]]]),
        said(2, loads=[[1, [1] * 7]]),
        said(2, loads=[[1, [1] * 6, [1]]]),
        said(2, loads=[[2**52, [1] * 6]]),
        said(2, load_table=[b"", b"", b""]),
        said(2, load_table=[TAG, struct.pack("<d", math.nan) * 6, bytes(16)]),
        said(2, load_table=[TAG, struct.pack("<d", -1.0) * 6, bytes(16)]),
        said(2, load_table=[TAG, bytes(7 * 8), bytes(16)]),
        said(2, load_table=[TAG, bytes(6 * 8), struct.pack("<2d", 1e300, 0.02)]),  # no share: all means would be none
        said(2, load_table=[TAG, bytes(6 * 8), struct.pack("<2d", 0.1, 1e9)]),
        said(2, loads=[[7, [1] * 6, [10_001, 20_000]]]),
        said(2, load_table=[TAG * 2, bytes(12 * 8), bytes(32)]),
        said(2, load_table=[bytes(4097 * 8), b"", b""]),
        said(2, zone_table=[TAG, bytes(32 * 8), b""]),
        said(2, zones=[[1, [1] * 32]]),
        said(2, zones=[[1, [math.nan] * 33]]),
        said(2, health=[["shop", 1, 2]]),
        said(2, flows=[["zone-a", "zone-b", -1, 0, 0, 0]]),
        said(2, flows=[["zone-a", "zone-b", 1, 0, 0, 0]] * 257),
        said(2, left=[["shop/cart:80", "z" * 64]]),
        said(2, left=[["shop/cart:80", "zone-a"]] * 1025),
        said(2, spent=[[0, 1, 5, 5]]),
        said(2, failing=[["shop/cart:80", "x" * 129, 1, False]]),
        said(2, failing=[FAILING] * 1025),
        said(2, zone="z" * 64),
        said(math.nan),  # type: ignore[arg-type]
    ],
)
async def test_who_sends_nonsense_is_not_believed_and_what_it_told_is_dropped(lie: bytes) -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        assert await one.hears(sender, said(1, picks=[ROW])) == 204
        assert one.peers() == {"up": 1}
        assert await one.hears(sender, lie) == 400
        assert one.peers() == {"distrusted": 1}
        assert await one.hears(sender, said(3, failing=[FAILING])) == 400, "not even the truth is believed now"
        assert sum(one.refused().values()) == 2
        assert await one.hears(credentials_of(SECRET), said(1)) == 204
        assert one.peers() == {"up": 1, "distrusted": 1}
    assert one.used == []
    assert one.suspects == []


async def test_a_message_beyond_the_bound_is_not_read_to_its_end() -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        assert await one.hears(sender, said(1)) == 204
        with contextlib.suppress(aiohttp.ClientError):  # it may hang up before the message has ended
            assert await one.hears(sender, bytes(8 * 1024 * 1024)) == 0
        await until(lambda: one.peers() == {"distrusted": 1}, seconds=30)  # the stream is closed first
        assert one.refused() == {"too_long": 1}
        another = credentials_of(SECRET)
        assert await one.hears_older(another, said(1)) == 204
        with contextlib.suppress(aiohttp.ClientError):
            assert await one.hears_older(another, io.BytesIO(bytes(8 * 1024 * 1024))) == 400
        assert one.peers() == {"distrusted": 2}
        assert one.refused() == {"too_long": 2}


async def test_a_message_that_came_before_is_refused_and_its_sender_stays() -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        message = said(7, picks=[ROW])
        assert await one.hears(sender, message) == 204
        assert await one.hears(sender, message) == 400
        assert await one.hears(sender, said(6, picks=[ROW])) == 400
        assert one.refused() == {"replayed": 2}
        assert one.peers() == {"up": 1}


async def test_anothers_name_makes_nobody_another_one() -> None:
    first, second = credentials_of(SECRET), credentials_of(SECRET)
    async with listening() as one:
        assert await one.hears(first, said(9, name="zonal-1", picks=[ROW])) == 204
        assert await one.hears(second, said(1, name="zonal-1", picks=[["shop/cart", 1]])) == 204
        assert await one.hears(second, b"nonsense") == 400
        assert one.peers() == {"up": 1, "distrusted": 1}


async def test_who_cannot_prove_itself_is_not_heard() -> None:
    stranger = credentials_of(b"another secret, which nobody has told us")
    nobody = credentials_of(SECRET)
    nobody.client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    nobody.client.check_hostname = False
    nobody.client.verify_mode = ssl.CERT_NONE
    async with listening() as one:
        for sender in (stranger, nobody):
            with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
                await one.hears(sender, said(1))
        assert one.conversation.facts().messages["heard"] == 0
        await until(lambda: one.refused() == {"stranger": 2}, seconds=30)


async def test_a_replica_whose_certificate_has_expired_is_named_and_the_others_go_on() -> None:
    over = credentials_of(SECRET, until=LONG_AGO)
    async with listening("one") as one, listening("other") as other, listening("old", credentials=over) as old:
        places = {each: f"127.0.0.1:{each.port}" for each in (one, other, old)}
        one.places = (places[old], places[other])
        other.places = (places[one],)
        await until(lambda: one.expired == [(places[old],)], seconds=30)
        await until(lambda: one.peers().get("up") == 1, seconds=30)
        told = one.refused()["expired"]
        with pytest.raises((aiohttp.ClientError, ssl.SSLError, OSError)):
            await one.hears(over, said(1, picks=[ROW]))
        await until(lambda: one.refused()["expired"] > told, seconds=30)
        assert one.peers() == {"up": 1, "silent": 1}
        assert old.conversation.facts().messages["heard"] == 0
        one.places = (places[other],)
        await until(lambda: one.expired[-1] == (), seconds=30)
        assert one.peers() == {"up": 1}


async def test_readers_of_two_versions_understand_each_other() -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        assert await one.hears(sender, said(1, schema=99, moods=["good"], picks=[ROW])) == 204
        assert await one.hears(sender, msgspec.msgpack.encode({"number": 2})) == 204, "an old one knows little"
        assert await one.hears_older(sender, said(3, loads=[[7, [1] * 6, [1, 1]]], picks=[ROW])) == 204
        assert await one.hears_older(sender, said(4, picks=[["shop/cart", 4]])) == 400, "its totals may not fall either"
        assert one.peers() == {"distrusted": 1}


async def test_one_that_starts_anew_again_and_again_takes_no_more_than_its_places() -> None:
    async with listening() as one:
        statuses = [await one.hears(credentials_of(SECRET), said(1, picks=[ROW])) for _ in range(REPLICAS_MOST + 2)]
        assert statuses[:REPLICAS_MOST] == [204] * REPLICAS_MOST
        assert sum(one.peers().values()) <= REPLICAS_MOST
        assert statuses.count(400) == sum(one.refused().values()), "there was no room while all of them were up"
    assert one.used == []


async def test_a_single_replica_that_lies_about_endpoints_ejects_nothing() -> None:
    sender = credentials_of(SECRET)
    async with listening() as one:
        rows = [["shop/cart:80", f"10.0.0.{number}:80", 10**6, False] for number in range(200)]
        assert await one.hears(sender, said(1, failing=rows)) == 204
        await until(lambda: len(one.suspects) >= 200, seconds=30)
    assert not any(row.ejects for row in one.suspects)


async def test_a_clock_in_the_future_means_nothing() -> None:
    """No message has a time. Who says one is understood without it."""
    sender = credentials_of(SECRET)
    async with listening() as one:
        assert await one.hears(sender, said(1, at=10**12, picks=[ROW])) == 204
        assert await one.hears(sender, said(2, at=-(10**12), picks=[ROW])) == 204
        assert one.peers() == {"up": 1}


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
        assert one.peers() == {"up": 2}, "that is no lie"


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
        assert one.peers() == {"up": 2}, "that is no lie"


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


async def test_noise_ends_a_connection_and_nothing_else() -> None:
    async with listening() as one:
        for noise in (b"\x00" * 5000, b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff"):
            reader, writer = await asyncio.open_connection("127.0.0.1", one.port)
            writer.write(noise)
            writer.write_eof()
            with contextlib.suppress(ConnectionError):
                assert not (await reader.read()).startswith(b"HTTP/1.1 2")
            writer.close()
        assert await one.hears(credentials_of(SECRET), said(1)) == 204
        await until(lambda: one.refused() == {"noise": 3}, seconds=30)


async def test_who_is_off_tells_nothing_and_a_dry_run_tells() -> None:
    async with listening("on") as one, listening("off", FleetUse.OFF) as off, listening("dry", FleetUse.DRY_RUN) as dry:
        for each in (off, dry):
            each.places = (f"127.0.0.1:{one.port}",)
        await until(lambda: one.conversation.facts().messages["heard"] >= 3, seconds=60)
        assert {replica.name for replica in one.conversation.facts().replicas} == {"dry"}
        assert off.conversation.facts().messages == {"heard": 0, "sent": 0, "failed": 0}
        assert dry.used == []


async def test_more_replicas_than_tell_each_other_are_told_once_until_there_are_fewer() -> None:
    async with listening() as one:
        one.places = tuple(f"127.0.0.1:{port}" for port in range(1, REPLICAS_MOST + 3))
        await until(lambda: one.crowded == [True], seconds=30)
        assert sum(one.peers().values()) == REPLICAS_MOST + 1
        one.places = one.places[:2]
        await until(lambda: one.crowded == [True, False], seconds=30)
