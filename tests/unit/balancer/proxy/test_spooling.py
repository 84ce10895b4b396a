"""Bodies that are received before an endpoint is picked: in memory, in a file, and refused."""

from __future__ import annotations

import resource
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.policies import RoutePolicy
from balancer.model.settings import ProxySettings
from balancer.proxy.body_room import FILE_BYTES_MOST, FILES_MOST, MEMORY_BYTES_MOST, BodyRoom
from balancer.proxy.spooling import SpooledBody
from tests.fakes.endpoints import ScriptedEndpoint, Visit
from tests.fakes.sockets import until
from tests.unit.balancer.proxy.standing import GET, Standing, post, refusing, shop, standing

MEMORY_BYTES = 1000
SPOOLS = RoutePolicy(spools_bodies=True, spool_memory_bytes=MEMORY_BYTES, max_body_bytes=0, tries=3)


@given(st.lists(st.binary(max_size=700), max_size=8))
def test_a_body_comes_back_as_it_was_and_leaves_no_file(pieces: list[bytes]) -> None:
    room = BodyRoom(file_bytes=1_000_000)
    body = SpooledBody(MEMORY_BYTES, room, "shop")
    assert all(body.keep(piece) for piece in pieces)
    whole = b"".join(pieces)
    assert body.size == len(whole)
    assert b"".join(body.pieces()) == b"".join(body.pieces()) == whole
    assert room.files.held("shop") == (len(whole) if len(whole) > MEMORY_BYTES else 0)
    assert room.open.held("shop") == (len(whole) > MEMORY_BYTES)
    del body
    assert (room.files.free, room.memory.free, room.open.free) == (1_000_000, MEMORY_BYTES_MOST, FILES_MOST)


def test_what_finds_no_room_is_not_kept() -> None:
    room = BodyRoom(file_bytes=3000)
    body = SpooledBody(MEMORY_BYTES, room, "shop")
    assert body.keep(b"x" * 900)
    assert not body.keep(b"x" * 700)
    assert body.keep(b"x" * 600)
    body.drop()
    assert (room.files.free, list(body.pieces())) == (3000, [])


async def takes(visit: Visit) -> None:
    """Answers each request with the number of bytes of its body."""
    while True:
        head = await visit.head()
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0] or b"0")
        body = await visit.exactly(length)
        assert body == bytes(length)
        said = b"%d" % length
        await visit.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(said), said))


@asynccontextmanager
async def spooling(
    endpoint: ScriptedEndpoint, policy: RoutePolicy = SPOOLS, settings: ProxySettings | None = None
) -> AsyncIterator[Standing]:
    with refusing() as gone:
        model = shop([gone, endpoint], policy=policy, settings=settings)
        async with standing(model) as proxy:
            yield proxy


@pytest.mark.large
@pytest.mark.parametrize("size", [1, MEMORY_BYTES, MEMORY_BYTES + 1, 3_000_000])
async def test_a_body_of_any_size_reaches_another_endpoint(size: int) -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        for _ in range(3):
            assert (await client.ask(post(bytes(size)))).body == b"%d" % size
        room = proxy.proxy.forwarder.bodies
        await until(lambda: room.files.free == FILE_BYTES_MOST)


async def test_the_endpoint_hears_of_a_request_when_its_body_is_complete() -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 2000\r\n\r\n" + bytes(1500))
        await until(lambda: proxy.proxy.forwarder.bodies.files.free < FILE_BYTES_MOST)
        assert endpoint.visits == []
        client.send(bytes(500))
        assert (await client.response()).body == b"2000"


async def test_chunks_become_a_length_and_100_comes_from_the_proxy() -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        client.send(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\nExpect: 100-continue\r\n\r\n")
        assert (await client.response()).status == 100
        client.send(b"3\r\n\0\0\0\r\n0\r\n\r\n")
        assert (await client.response()).body == b"3"
        assert (await client.ask(GET)).body == b"0"


async def test_a_body_over_its_limit_is_refused_before_any_endpoint_is_asked() -> None:
    limited = msgspec.structs.replace(SPOOLS, max_body_bytes=10)
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint, limited) as proxy, proxy.client() as client:
        chunk = b"b\r\n%b\r\n" % bytes(11)
        response = await client.ask(b"POST / HTTP/1.1\r\nHost: shop.test\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
        assert (response.status, endpoint.visits) == (413, [])


async def test_a_body_that_stops_is_answered_408() -> None:
    settings = ProxySettings(client_body_timeout_seconds=0.1)
    async with (
        ScriptedEndpoint(takes) as endpoint,
        spooling(endpoint, settings=settings) as proxy,
        proxy.client() as client,
    ):
        response = await client.ask(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5\r\n\r\nab")
        assert (response.status, endpoint.visits) == (408, [])


async def test_a_client_that_leaves_frees_its_room() -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy:
        room = proxy.proxy.forwarder.bodies
        async with proxy.client() as client:
            client.send(b"POST / HTTP/1.1\r\nHost: shop.test\r\nContent-Length: 5000\r\n\r\n" + bytes(4000))
            await until(lambda: room.files.free < FILE_BYTES_MOST)
            client.reset()
        await until(lambda: room.files.free == FILE_BYTES_MOST)
        assert endpoint.visits == []


async def test_without_room_the_answer_is_503() -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        room = proxy.proxy.forwarder.bodies
        assert room.files.take("another", FILE_BYTES_MOST // 2)
        assert room.files.take("a third", FILE_BYTES_MOST // 4)
        assert room.files.take("shop", FILE_BYTES_MOST // 8)
        response = await client.ask(post(bytes(2000)))
        assert (response.status, endpoint.visits) == (503, [])
        await until(lambda: room.files.held("shop") == FILE_BYTES_MOST // 8)


@pytest.fixture
def no_folder() -> Iterator[None]:
    """No temporary file can be made."""
    before = tempfile.tempdir
    tempfile.tempdir = "/nowhere"
    yield
    tempfile.tempdir = before


@pytest.mark.usefixtures("no_folder")
async def test_without_a_folder_for_files_the_answer_is_503(caplog: pytest.LogCaptureFixture) -> None:
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        assert (await client.ask(post(bytes(2000)))).status == 503
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy:
        for _ in range(3):
            async with proxy.client() as client:
                assert (await client.ask(post(bytes(2000)))).status == 503
    assert caplog.text.count("could not be written to a temporary file") == 2, "one for each worker, not for each body"


def test_without_a_share_of_the_memory_a_body_goes_to_a_file_earlier() -> None:
    room = BodyRoom(memory_bytes=20_000)
    first, second, neighbours = (SpooledBody(10_000, room, tenant) for tenant in ("shop", "shop", "tea"))
    assert first.keep(b"x" * 9000)
    assert second.keep(b"x" * 4096)
    assert second.keep(b"x" * 1000)
    assert neighbours.keep(b"x" * 5000)
    assert (room.memory.held("shop"), room.files.held("shop")) == (9000, 5096)
    assert (room.memory.held("tea"), room.files.held("tea")) == (5000, 0)
    assert b"".join(second.pieces()) == b"x" * 5096


def test_without_a_share_of_the_files_a_body_is_not_kept() -> None:
    room = BodyRoom(files=2)
    first, second, neighbours = (SpooledBody(0, room, tenant) for tenant in ("shop", "shop", "tea"))
    assert first.keep(b"x")
    assert not second.keep(b"x")
    assert not neighbours.keep(b"x")  # half of what is left: with one place left, nobody may have it
    first.drop()
    assert neighbours.keep(b"x")


def test_a_disk_that_takes_a_part_of_a_piece_is_full() -> None:
    room = BodyRoom()
    body = SpooledBody(MEMORY_BYTES, room, "shop")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1500, hard))
    try:
        with pytest.raises(OSError, match="space"):
            body.keep(b"x" * 1600)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    body.drop()
    assert room.files.free == FILE_BYTES_MOST


async def test_a_file_that_cannot_be_read_is_answered_503(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreadable(self: SpooledBody) -> Iterator[bytes]:
        yield b"x"
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(SpooledBody, "pieces", unreadable)
    async with ScriptedEndpoint(takes) as endpoint, spooling(endpoint) as proxy, proxy.client() as client:
        assert (await client.ask(post(bytes(2000)))).status == 503
