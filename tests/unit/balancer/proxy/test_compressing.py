"""Compressed responses under way: framing, streams of events, back-pressure, and connections that go on."""

from __future__ import annotations

import asyncio
import gzip
import os
import zlib

import brotli
import pytest

from balancer.model.publication import RoutingModel
from balancer.model.settings import Compression, ProxySettings
from tests.fakes.endpoints import ScriptedEndpoint, Visit, answering
from tests.fakes.sockets import settled
from tests.unit.balancer.proxy.standing import NARROW_BYTES, UNDER_WAY_BYTES, get, shop, standing
from tests.unit.balancer.proxy.test_exchange_limits import GROWN_BUFFER_BYTES

SETTINGS = ProxySettings(compression=Compression(types=("text/event-stream", "application/json")))
ACCEPTS = get(b"/", b"Accept-Encoding: gzip")
TYPE = b"Content-Type: application/json\r\n"
BODY = b'{"a": 1}' * 100


BROTLI = ProxySettings(brotli=SETTINGS.compression)
ACCEPTS_BROTLI = get(b"/", b"Accept-Encoding: gzip, br")


def compressing(endpoint: ScriptedEndpoint) -> RoutingModel:
    return shop([endpoint], settings=SETTINGS)


def whole(body: bytes = BODY, *fields: bytes, status: bytes = b"200 OK") -> bytes:
    lines = b"".join(field + b"\r\n" for field in fields)
    return b"HTTP/1.1 %b\r\n%b%bContent-Length: %d\r\n\r\n%b" % (status, TYPE, lines, len(body), body)


CHUNKS = b"320\r\n%b\r\n0\r\nX-Trailer: 1\r\n\r\n" % BODY
CHUNKED = b"HTTP/1.1 200 OK\r\n%bTransfer-Encoding: chunked\r\n\r\n%b" % (TYPE, CHUNKS)


@pytest.mark.parametrize("response", [whole(), CHUNKED], ids=["length", "chunked"])
async def test_a_response_comes_out_as_it_went_in_and_the_connection_goes_on(response: bytes) -> None:
    async with (
        ScriptedEndpoint(answering(response)) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        for _ in range(3):
            coded = await client.ask(ACCEPTS)
            assert (coded.fields[b"content-encoding"], coded.fields[b"transfer-encoding"]) == (b"gzip", b"chunked")
            assert b"content-length" not in coded.fields
            assert gzip.decompress(coded.body) == BODY
            plain = await client.ask(get(b"/"))
            assert plain.body == BODY
            assert b"content-encoding" not in plain.fields
        assert len(endpoint.visits) == 1


async def test_a_tag_is_weakened_and_ranges_are_not_offered() -> None:
    response = whole(BODY, b'ETag: "a"', b"Accept-Ranges: bytes", b"Vary: Cookie")
    async with (
        ScriptedEndpoint(answering(response)) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        coded = await client.ask(ACCEPTS)
        assert coded.fields[b"etag"] == b'W/"a"'
        assert b"accept-ranges" not in coded.fields
        assert (await client.ask(get(b"/"))).fields[b"etag"] == b'"a"'


async def test_old_clients_and_head_get_the_response_as_it_is() -> None:
    async with (
        ScriptedEndpoint(answering(whole())) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        old = await client.ask(ACCEPTS.replace(b"HTTP/1.1", b"HTTP/1.0"))
        assert (old.body, old.fields.get(b"content-encoding")) == (BODY, None)

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(whole().partition(b"\r\n\r\n")[0] + b"\r\n\r\n")

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        head = await client.ask(ACCEPTS.replace(b"GET", b"HEAD"), bodiless=True)
        assert head.fields[b"content-length"] == b"%d" % len(BODY)
        assert b"content-encoding" not in head.fields


async def test_events_arrive_as_they_are_sent() -> None:
    go_on = asyncio.Event()

    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"9\r\ndata: 1\n\n\r\n"
        )
        await go_on.wait()
        await visit.send(b"9\r\ndata: 2\n\n\r\n0\r\n\r\n")

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        client.send(ACCEPTS)
        reader, seen = zlib.decompressobj(31), b""
        await client.reader.readuntil(b"\r\n\r\n")
        while b"data: 1\n\n" not in seen:
            size = int(await client.reader.readuntil(b"\r\n"), 16)
            seen += reader.decompress((await client.reader.readexactly(size + 2))[:-2])
        go_on.set()
        while not seen.endswith(b"data: 2\n\n"):
            size = int(await client.reader.readuntil(b"\r\n"), 16)
            seen += reader.decompress((await client.reader.readexactly(size + 2))[:-2])


async def test_a_client_that_does_not_read_holds_the_endpoint_back() -> None:
    """What cannot be compressed is as long as before, so as little of it is under way as without compression."""
    size = 64 * 1024 * 1024
    piece = os.urandom(64 * 1024)
    sent = 0

    async def script(visit: Visit) -> None:
        nonlocal sent
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (TYPE, size))
        for _ in range(size // len(piece)):
            await visit.send(piece)
            sent += len(piece)

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.stop_reading()
        client.send(ACCEPTS)
        assert await settled(lambda: sent) < UNDER_WAY_BYTES + GROWN_BUFFER_BYTES


@pytest.mark.parametrize("response", [whole(), CHUNKED], ids=["length", "chunked"])
async def test_a_response_comes_out_of_brotli_as_it_went_in(response: bytes) -> None:
    async with (
        ScriptedEndpoint(answering(response)) as endpoint,
        standing(shop([endpoint], settings=BROTLI)) as proxy,
        proxy.client() as client,
    ):
        for _ in range(2):
            coded = await client.ask(ACCEPTS_BROTLI)
            assert (coded.fields[b"content-encoding"], coded.fields[b"vary"]) == (b"br", b"Accept-Encoding")
            assert brotli.decompress(coded.body) == BODY
            plain = await client.ask(ACCEPTS)
            assert (plain.body, plain.fields.get(b"content-encoding")) == (BODY, None)


@pytest.mark.large
async def test_a_client_that_does_not_read_holds_back_a_body_that_brotli_codes() -> None:
    size, sent, piece = 64 * 1024 * 1024, 0, os.urandom(64 * 1024)

    async def script(visit: Visit) -> None:
        nonlocal sent
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n" % (TYPE, size))
        for _ in range(size // len(piece)):
            await visit.send(piece)
            sent += len(piece)

    async with (
        ScriptedEndpoint(script, buffer_bytes=NARROW_BYTES) as endpoint,
        standing(shop([endpoint], settings=BROTLI)) as proxy,
        proxy.client(buffer_bytes=NARROW_BYTES) as client,
    ):
        client.stop_reading()
        client.send(ACCEPTS_BROTLI)
        assert await settled(lambda: sent) < UNDER_WAY_BYTES + GROWN_BUFFER_BYTES


@pytest.mark.large
@pytest.mark.parametrize("settings", [SETTINGS, BROTLI], ids=["gzip", "brotli"])
async def test_a_gzip_bomb_is_passed_on_and_never_inflated(settings: ProxySettings) -> None:
    """10 MiB of zeros are 10 KiB of gzip. The proxy neither inflates them nor codes them a second time."""
    bomb = gzip.compress(bytes(10 * 1024 * 1024), 9)
    async with (
        ScriptedEndpoint(answering(whole(bomb, b"Content-Encoding: gzip"))) as endpoint,
        standing(shop([endpoint], settings=settings)) as proxy,
        proxy.client() as client,
    ):
        for accepts in (b"gzip, br", b"identity"):
            answer = await client.ask(get(b"/", b"Accept-Encoding: " + accepts))
            assert (answer.body, answer.fields[b"content-encoding"]) == (bomb, b"gzip")


async def test_a_response_that_is_cut_is_never_a_whole_gzip_body() -> None:
    async def script(visit: Visit) -> None:
        await visit.head()
        await visit.send(b"HTTP/1.1 200 OK\r\n%bContent-Length: 1000\r\n\r\n%b" % (TYPE, BODY))
        visit.reset()

    async with (
        ScriptedEndpoint(script) as endpoint,
        standing(compressing(endpoint)) as proxy,
        proxy.client() as client,
    ):
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await client.ask(ACCEPTS)
