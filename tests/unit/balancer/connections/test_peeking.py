"""The first bytes of a connection are seen, however they come, and stay for whoever reads them next."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable

import pytest
import uvloop

from balancer.connections.peeking import begins_http2, receive_proxy_header, refuse_hello
from balancer.connections.proxyprotocol import InvalidHeader
from balancer.http2.frames import PREFACE
from balancer.runtime.accepted import AcceptedSocket
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_clienthello import hello

V1 = b"PROXY TCP4 192.0.2.7 198.51.100.1 56324 443\r\n"


async def test_a_header_is_read_in_pieces_and_nothing_after_it() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        reading = asyncio.create_task(receive_proxy_header(ours))
        for place, piece in enumerate((V1[:3], V1[3:20], V1[20:] + b"GET")):
            theirs.sendall(piece)
            if place < 2:
                await until(lambda: not _is_pending(ours))
        assert (await reading).address == "192.0.2.7"
        assert ours.recv(100) == b"GET"


def _is_pending(connection: socket.socket) -> bool:
    try:
        return bool(connection.recv(1, socket.MSG_PEEK))
    except BlockingIOError:
        return False


async def test_a_connection_that_ends_within_its_header_is_refused() -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        theirs.sendall(V1[:9])
        theirs.close()
        with pytest.raises(InvalidHeader):
            await receive_proxy_header(ours)


@pytest.mark.parametrize("cut", [1, 10, 23, 24])
async def test_a_preface_is_seen_and_stays(cut: int) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.setblocking(False)
        looking = asyncio.create_task(begins_http2(ours))
        theirs.sendall(PREFACE[:cut])
        await asyncio.sleep(0)
        theirs.sendall(PREFACE[cut:] + b"more")
        assert await looking
        assert ours.recv(100) == PREFACE + b"more"


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n", b"PRI * HTTP/1.1\r\n", PREFACE[:-1] + b"x", PREFACE[:5], b""])
async def test_anything_else_is_no_preface(first: bytes) -> None:
    ours, theirs = socket.socketpair()
    with ours:
        ours.setblocking(False)
        theirs.sendall(first)
        theirs.close()
        assert not await begins_http2(ours)
        assert ours.recv(100) == first


def test_a_hello_that_is_refused_is_answered_with_an_alert_and_an_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(hello())
        refuse_hello(ours, b"alert")
        assert theirs.recv(100) == b"alert"
        assert theirs.recv(100) == b""


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_connection_that_we_have_accepted_is_waited_for_on_each_loop(
    new_loop: Callable[[], asyncio.AbstractEventLoop],
) -> None:
    async def seen() -> bool:
        with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket() as theirs:
            theirs.connect(listener.getsockname())
            came, _ = listener.accept()
            ours = AcceptedSocket(came.detach(), int(listener.family))
            try:
                reading = asyncio.create_task(begins_http2(ours.whole()))
                await asyncio.sleep(0)  # it waits
                theirs.sendall(PREFACE)
                return await reading
            finally:
                ours.close()

    with asyncio.Runner(loop_factory=new_loop) as runner:
        assert runner.run(seen())
