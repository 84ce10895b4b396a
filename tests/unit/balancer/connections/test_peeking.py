"""The first bytes of a connection are seen, however they come, and stay for whoever reads them next."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable

import pytest
import uvloop

from balancer.connections.clienthello import Hello
from balancer.connections.peeking import (
    begins_http2,
    hello_at_hand,
    receive_hello,
    receive_proxy_header,
    refuse_hello,
)
from balancer.connections.proxyprotocol import InvalidHeader
from balancer.http2.frames import PREFACE
from balancer.runtime.accepted import AcceptedSocket
from tests.fakes.sockets import until
from tests.unit.balancer.connections.test_clienthello import hello, spread

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


def at_hand(connection: socket.socket) -> Hello | None:
    accepted = AcceptedSocket(os.dup(connection.fileno()), int(connection.family))
    try:
        return hello_at_hand(accepted)
    finally:
        accepted.close()


def test_a_hello_that_has_come_is_seen_and_stays() -> None:
    ours, theirs = socket.socketpair()
    said = hello("h2", server_name="shop.test")
    with ours, theirs:
        theirs.sendall(said + b"more")
        assert at_hand(ours) == Hello(len(said), (b"h2",), "shop.test", True)
        assert ours.recv(4096) == said + b"more"


@pytest.mark.parametrize("first", [b"", hello()[:4], hello()[:-1]], ids=["nothing", "part", "nearly all"])
def test_a_hello_that_has_to_be_waited_for_is_not_at_hand(first: bytes) -> None:
    ours, theirs = socket.socketpair()  # which would block whoever waits
    with ours, theirs:
        theirs.sendall(first)
        assert at_hand(ours) is None
        theirs.shutdown(socket.SHUT_WR)
        assert at_hand(ours) is None


async def test_a_hello_in_many_records_and_pieces_is_received_and_stays() -> None:
    ours, theirs = socket.socketpair()
    whole = hello("imap", server_name="mail.test")
    said = spread(whole, 7)
    with ours, theirs:
        ours.setblocking(False)
        receiving = asyncio.create_task(receive_hello(ours))
        for place in range(0, len(said), 50):
            theirs.sendall(said[place : place + 50])
            await asyncio.sleep(0)
        assert await receiving == Hello(len(said), (b"imap",), "mail.test", True)
        assert ours.recv(4096) == said


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
