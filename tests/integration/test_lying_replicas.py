"""A conversation on a real port: what replicas that lie, are broken or are none can send, and that nothing follows."""

from __future__ import annotations

import asyncio
import contextlib
import io
import math
import ssl
import struct
from datetime import UTC, datetime

import aiohttp
import msgspec
import pytest

from balancer.model.zones import FleetUse
from ingress.replicas.others import REPLICAS_MOST
from ingress.replicas.trust import credentials_of
from tests.integration.listening import SECRET, listening, said
from tests.integration.running import until

ROW = ["shop/cart", 5]
TAG = struct.pack("<Q", 7)
FAILING = ["shop/cart:80", "10.0.0.1:80", 5, False]
LONG_AGO = datetime(2021, 1, 1, tzinfo=UTC)


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
