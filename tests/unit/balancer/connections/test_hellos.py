"""A connection waits for its ClientHello, which stays in the socket, however its bytes come."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from balancer.connections.arrivals import Arrival
from balancer.connections.clienthello import HELLO_BYTES_MAX, Hello
from balancer.connections.hellos import AwaitedHello
from balancer.model.entry_points import HTTPS
from balancer.runtime.accepted import AcceptedSocket
from balancer.runtime.tcp import TcpTransports
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_clienthello import hello, spread

pytestmark = pytest.mark.large


class Waiting:
    """A connection whose ClientHello is awaited, what came of that, and its other end."""

    def __init__(self) -> None:
        ours, self.theirs = socket.socketpair()
        ours.setblocking(False)
        self.came: list[Hello] = []
        self.lost: list[bool] = []
        self.awaited = AwaitedHello(Arrival("192.0.2.7", None, HTTPS), 0.0, self._come, self._lose)
        own = AcceptedSocket(ours.detach(), int(socket.AF_UNIX))
        self.tcp = TcpTransports(asyncio.get_running_loop()).open(own, self.awaited, HELLO_BYTES_MAX)  # type: ignore[arg-type]
        self.own = own.whole()

    def _come(self, awaited: AwaitedHello, hello: Hello) -> None:
        assert awaited is self.awaited
        self.came.append(hello)

    def _lose(self, awaited: AwaitedHello, failed: bool) -> None:
        assert awaited is self.awaited
        self.lost.append(failed)


@asynccontextmanager
async def waiting() -> AsyncIterator[Waiting]:
    it = Waiting()
    with it.theirs:
        yield it
        it.awaited.cancel()
        await until(lambda: it.own.fileno() == -1)


async def test_a_hello_that_is_there_is_seen_at_once_and_stays() -> None:
    said = hello("h2", server_name="shop.test")
    async with waiting() as it:
        it.theirs.sendall(said + b"more")
        it.tcp.read_now()
        assert it.came == [Hello(len(said), (b"h2",), "shop.test", True)]
        assert it.own.recv(4096) == said + b"more"


async def test_a_hello_in_many_records_and_pieces_comes_once() -> None:
    said = spread(hello("imap", server_name="mail.test"), 7)
    async with waiting() as it:
        for place in range(0, len(said), 50):
            assert it.came == []
            it.theirs.sendall(said[place : place + 50])
            await asyncio.sleep(0)
        await until(lambda: bool(it.came))
        it.theirs.sendall(b"more")
        it.tcp.read_now()
        assert it.came == [Hello(len(said), (b"imap",), "mail.test", True)]
        assert it.own.recv(4096) == said + b"more"


@pytest.mark.parametrize("first", [b"", hello()[:4], hello()[:-1]], ids=["nothing", "part", "nearly all"])
async def test_an_end_before_the_hello_is_a_failure(first: bytes) -> None:
    async with waiting() as it:
        it.theirs.sendall(first)
        it.tcp.read_now()
        assert (it.came, it.lost) == ([], [])
        it.theirs.shutdown(socket.SHUT_WR)
        await until(lambda: it.lost == [True])
        assert it.awaited.closed
        assert it.came == []


async def test_who_has_said_all_may_end_its_side() -> None:
    async with waiting() as it:
        it.theirs.sendall(hello())
        it.theirs.shutdown(socket.SHUT_WR)
        await until(lambda: len(it.came) == 1)
        assert it.lost == []


async def test_what_is_cancelled_has_not_failed_and_what_is_settled_is_not_lost() -> None:
    async with waiting() as it:
        it.awaited.cancel()
        await until(lambda: it.lost == [False])
    async with waiting() as it:
        it.awaited.settle()
        it.awaited.cancel()
        await until(lambda: it.own.fileno() == -1)
        assert it.lost == []


async def test_what_is_prepared_ends_with_the_connection() -> None:
    async with waiting() as it:
        preparing = asyncio.create_task(asyncio.Event().wait())
        it.awaited.wait_for(preparing)  # type: ignore[arg-type]
        it.awaited.expire()
        await until(lambda: it.lost == [True])
        assert preparing.cancelled() or preparing.cancelling()
