"""The doors of a port: how many connections come in, who leaves for whom, and which waits end."""

from __future__ import annotations

import asyncio
import select
import socket
import ssl
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress

import pytest
import trustme
from aiohttp import web

from balancer.connections.listeners import listen, port_of
from balancer.runtime.loops import loop_factory
from ingress.admin.doors import (
    EVERYBODY,
    HANG_UP,
    PORT_MOST,
    READ_NO_MORE,
    DoorRules,
    DoorTimes,
    open_doors,
    port_bound,
)
from tests.fakes.sockets import PATIENCE_SECONDS

pytestmark = pytest.mark.large

LONG_SECONDS = 600.0
LEFT = web.AppKey("left", threading.Event)
PATIENT = DoorTimes(LONG_SECONDS, LONG_SECONDS, LONG_SECONDS, LONG_SECONDS)
PIECE = b"x" * 65536

ASKS = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
UNFINISHED = b"GET / HTTP/1.1\r\nHost: a\r\n"


async def fine(_request: web.Request) -> web.Response:
    return web.Response(text="ok")


async def sent_away(request: web.Request) -> web.StreamResponse:
    """Answers without reading the body."""
    request[READ_NO_MORE]()
    response = web.Response(text="no")
    await response.prepare(request)
    await response.write_eof()
    await asyncio.to_thread(request.app[LEFT].wait)
    request[HANG_UP]()
    return response


async def endless(request: web.Request) -> web.StreamResponse:
    response = web.StreamResponse()
    with suppress(ConnectionError):
        await response.prepare(request)
        while True:
            await response.write(PIECE)
    return response


@asynccontextmanager
async def doors(
    *,
    bound: int = PORT_MOST,
    times: DoorTimes = PATIENT,
    tls: ssl.SSLContext | None = None,
    rules: DoorRules = EVERYBODY,
    left: threading.Event | None = None,
) -> AsyncIterator[int]:
    """The port of an application. Who is sent away loses the connection once `left` is set."""
    app = web.Application()
    app[LEFT] = left or threading.Event()
    app.router.add_post("/", sent_away)
    app.router.add_get("/", fine)
    app.router.add_get("/endless", endless)
    listener = listen("127.0.0.1", 0)
    port = port_of(listener)
    runner = await open_doors(app, listener, bound=bound, times=times, tls=tls, rules=rules)
    try:
        yield port
    finally:
        await runner.cleanup()


class Client:
    """A connection from an address on loopback."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def come(cls, port: int, *, address: str = "127.0.0.1", says: bytes = b"") -> Client:
        connection = socket.socket()
        connection.setblocking(False)
        connection.bind((address, 0))
        client = cls(connection)
        try:
            await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        except OSError:
            client.close()
            raise
        await client.say(says)
        return client

    async def say(self, what: bytes) -> None:
        await self._loop.sock_sendall(self._connection, what)

    async def hears(self) -> bytes:
        """What comes next; empty if the connection has ended."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            try:
                return await self._loop.sock_recv(self._connection, 65536)
            except ConnectionError:
                return b""

    async def is_cut(self, *, seconds: float) -> bool:
        """Whether the other side ends the connection with RST within `seconds`, whatever waits to be read."""
        poll = select.poll()
        poll.register(self._connection, 0)
        return bool(await asyncio.to_thread(poll.poll, seconds * 1000))

    async def asks(self) -> bool:
        """Whether a request is answered."""
        try:
            await self.say(ASKS)
        except ConnectionError:
            return False
        return (await self.hears()).startswith(b"HTTP/1.1 200")

    def close(self) -> None:
        self._connection.close()


async def crowd(port: int, count: int, *, address: str = "127.0.0.1", says: bytes = UNFINISHED) -> list[Client]:
    return [await Client.come(port, address=address, says=says) for _ in range(count)]


def close(*clients: Client) -> None:
    for client in clients:
        client.close()


async def test_beyond_the_bound_the_crowd_displaces_itself_and_others_are_answered() -> None:
    async with doors(bound=8) as port:
        kept = await Client.come(port, address="127.0.0.3")
        assert await kept.asks()
        greedy = await crowd(port, 20, address="127.0.0.2")
        assert [await each.hears() for each in greedy[:16]] == [b""] * 16
        assert await kept.asks()
        with closing(await Client.come(port, address="127.0.0.4")) as newcomer:
            assert await newcomer.asks()
        close(kept, *greedy)


async def test_somebody_new_of_the_address_of_the_crowd_is_answered() -> None:
    async with doors(bound=8) as port:
        greedy = await crowd(port, 20)
        with closing(await Client.come(port)) as newcomer:
            assert await newcomer.asks()
        close(*greedy)


async def test_many_addresses_with_one_unfinished_head_each_do_not_keep_a_newcomer_out() -> None:
    async with doors(bound=8) as port:
        greedy = [await Client.come(port, address=f"127.0.1.{number}", says=UNFINISHED) for number in range(1, 30)]
        with closing(await Client.come(port, address="127.0.0.2")) as newcomer:
            assert await newcomer.asks()
        close(*greedy)


@pytest.mark.parametrize("says", [b"", UNFINISHED], ids=["nothing", "a part of a head"])
async def test_an_unfinished_head_ends(says: bytes) -> None:
    async with doors(times=PATIENT._replace(head_seconds=0.05)) as port:
        with closing(await Client.come(port, says=says)) as client:
            assert await client.hears() == b""


async def test_a_head_that_comes_in_drops_ends_as_well() -> None:
    async with doors(times=PATIENT._replace(head_seconds=0.3)) as port:
        with closing(await Client.come(port, says=UNFINISHED)) as client:
            hearing = asyncio.ensure_future(client.hears())
            while not hearing.done():
                await asyncio.wait({hearing}, timeout=0.02)
                if not hearing.done():
                    await client.say(b"a: b\r\n")
            assert hearing.result() == b""


async def test_the_deadline_of_the_first_head_is_not_that_of_the_connection() -> None:
    async with doors(times=PATIENT._replace(head_seconds=0.5)) as port:
        with closing(await Client.come(port)) as client, closing(await Client.come(port)) as silent:
            assert await client.asks()
            assert await silent.hears() == b""
            assert await client.asks()


@pytest.mark.parametrize("then", [b"", UNFINISHED], ids=["nothing", "a part of a head"])
async def test_an_idle_connection_ends(then: bytes) -> None:
    async with doors(times=PATIENT._replace(idle_seconds=0.2)) as port:
        with closing(await Client.come(port)) as client:
            assert await client.asks()
            await client.say(then)
            assert await client.hears() == b""


async def test_a_body_that_never_comes_ends_the_connection() -> None:
    async with doors(times=PATIENT._replace(linger_seconds=0.1)) as port:
        with closing(await Client.come(port, says=b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n")) as client:
            assert (await client.hears()).startswith(b"HTTP/1.1 200")
            assert await client.hears() == b""


@pytest.mark.parametrize("coding", [b"gzip", b"deflate"])
@pytest.mark.parametrize("pieces", [1, 2], ids=["at once", "after the head"])
async def test_a_body_that_is_not_what_its_coding_says_is_no_error_of_ours(
    coding: bytes, pieces: int, caplog: pytest.LogCaptureFixture
) -> None:
    head = (
        b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Encoding: %b\r\nContent-Length: 5\r\n\r\n" % coding
    )
    async with doors() as port:
        with closing(await Client.come(port, says=head + b"hello" * (2 - pieces))) as client:
            assert (await client.hears()).startswith(b"HTTP/1.1 200")
            with suppress(ConnectionError):
                await client.say(b"hello" * (pieces - 1))
            while await client.hears():
                pass
    assert caplog.records == []


@pytest.mark.parametrize("reads", [0, 65536], ids=["nothing", "a little now and then"])
async def test_an_answer_that_is_hardly_read_ends(reads: int) -> None:
    async with doors(times=PATIENT._replace(unread_seconds=0.2)) as port:
        with closing(await Client.come(port, says=b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")) as client:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while not await client.is_cut(seconds=0.02):
                    if reads:
                        await client.hears()


async def test_an_answer_that_is_read_does_not_end() -> None:
    async with doors(times=PATIENT._replace(head_seconds=0.1, idle_seconds=0.1)) as port:
        with closing(await Client.come(port, says=b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")) as client:
            read = 0
            while read < 100 * 1024**2:
                piece = await client.hears()
                assert piece
                read += len(piece)


def tls_contexts() -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """That of the port, and that of a client."""
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    serving, asking = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.issue_cert("a.test", key_type=trustme.KeyType.ECDSA).configure_cert(serving)
    authority.configure_trust(asking)
    return serving, asking


async def test_handshakes_count_and_make_room_for_others() -> None:
    serving, asking = tls_contexts()
    async with doors(bound=8, tls=serving) as port:
        greedy = await crowd(port, 20, says=b"")
        assert [await each.hears() for each in greedy[:16]] == [b""] * 16
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=asking, server_hostname="a.test")
        writer.write(ASKS)
        assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        writer.close()
        close(*greedy)


async def test_a_handshake_that_does_not_end_is_ended() -> None:
    serving, _ = tls_contexts()
    async with doors(tls=serving, times=PATIENT._replace(head_seconds=0.05)) as port:
        with closing(await Client.come(port)) as client:
            assert await client.hears() == b""


async def test_at_the_end_nobody_is_let_in_and_idle_connections_are_ended() -> None:
    async with doors() as port:
        client = await Client.come(port)
        assert await client.asks()
    assert await client.hears() == b""
    with pytest.raises(ConnectionRefusedError):
        await Client.come(port)
    client.close()


def test_the_doors_serve_in_the_other_event_loop_too() -> None:
    async def scenario() -> None:
        await test_beyond_the_bound_the_crowd_displaces_itself_and_others_are_answered()
        await test_handshakes_count_and_make_room_for_others()
        await test_an_answer_that_is_hardly_read_ends(0)

    with asyncio.Runner(loop_factory=loop_factory("uvloop")) as runner:
        runner.run(scenario())


@pytest.mark.parametrize(
    ("descriptors", "workers", "bound"),
    [
        (1024**2, 4, PORT_MOST),
        (1024, 4, 220),
        (256, 2, 36),
        (64, 2, 4),  # a process with so few descriptors has none to spare
        (1024, 0, 25),  # the other descriptors are for clients and endpoints
        (1024**2, 0, PORT_MOST),
        (128, 0, 16),
    ],
)
def test_a_port_leaves_descriptors_to_what_the_process_has_to_do(descriptors: int, workers: int, bound: int) -> None:
    assert port_bound(descriptors, workers=workers) == bound


async def test_who_calls_too_often_is_not_let_in_and_others_are() -> None:
    rules = DoorRules(admits=lambda address: address != "127.0.0.9")
    async with doors(rules=rules) as port:
        refused = await Client.come(port, address="127.0.0.9")
        another = await Client.come(port)
        assert await refused.hears() == b""
        assert await another.asks()
        for each in (refused, another):
            each.close()


async def test_what_comes_without_an_end_ends_the_connection_and_is_told() -> None:
    """Each request has its own bound, so one who asks again and again stays."""
    told = list[asyncio.BaseTransport]()
    async with doors(rules=DoorRules(unheard_bytes=100, floods=told.append)) as port:
        modest = await Client.come(port)
        for _ in range(20):
            assert await modest.asks()
        assert not told
        flood = await Client.come(port, says=b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20)
        assert await flood.hears() == b""
        assert len(told) == 1
        assert await modest.asks()
        for each in (modest, flood):
            each.close()


async def test_what_a_client_sends_who_is_sent_away_is_not_read() -> None:
    """The body never ends, and is more than all buffers hold."""
    left = threading.Event()
    async with doors(left=left) as port:
        client = await Client.come(port, says=b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n")
        assert b"200" in await client.hears()

        async def floods() -> None:
            with suppress(ConnectionError):
                while True:
                    await client.say(PIECE)

        flooding = asyncio.create_task(floods())
        _, waits = await asyncio.wait({flooding}, timeout=0.2)
        assert waits, "nobody reads"
        left.set()
        async with asyncio.timeout(PATIENCE_SECONDS):
            await flooding
        client.close()


async def test_who_speaks_no_http_fills_no_log(caplog: pytest.LogCaptureFixture) -> None:
    async with doors() as port:
        client = await Client.come(port, says=b"nonsense\r\n\r\n")
        assert b"400" in await client.hears()
        client.close()
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
