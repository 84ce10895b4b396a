"""The transport for plain TCP, on real connections: what asyncio promises to protocols, and what it promises beside."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from balancer.runtime.accepted import AcceptedSocket
from balancer.runtime.reading import PIECE_BYTES
from balancer.runtime.tcp import TcpTransports
from tests.fakes.sockets import until
from tests.unit.balancer.runtime.tcp_lines import LARGE, Noting, line

pytestmark = pytest.mark.large


async def test_bytes_pass_both_ways_and_the_end_is_told_once() -> None:
    async with line() as it:
        it.transport.write(b"hello")
        assert await it.peer_reads(5) == b"hello"
        await it.peer_sends(b"good day")
        await it.protocol.until(lambda: it.protocol.received == b"good day")
        it.peer.close()
        await it.protocol.until_called("lost")
        assert it.protocol.calls == ["made", "eof", "lost"]
        assert it.protocol.error is None
        assert it.own.fileno() == -1


async def test_what_is_known_to_have_come_is_read_at_once_and_only_once() -> None:
    async with line() as it:
        it.peer.send(b"hello")
        it.transport.read_now()
        assert it.protocol.pieces == [b"hello"]
        await it.peer_sends(b"again")
        await it.protocol.until(lambda: it.protocol.pieces == [b"hello", b"again"])


async def test_a_protocol_that_fails_as_it_is_read_at_once_loses_its_connection() -> None:
    def fail(_: Noting) -> None:
        raise ValueError

    heard: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: heard.append(context["exception"]))
    async with line(Noting(fail)) as it:
        it.peer.send(b"hello")
        it.transport.read_now()
        await it.protocol.until_called("lost")
        assert [type(each) for each in heard] == [ValueError]


async def test_a_half_closed_peer_gets_its_answer() -> None:
    async with line(Noting(keeps_open=True)) as it:
        await it.peer_sends(b"question")
        it.peer.shutdown(socket.SHUT_WR)
        await it.protocol.until_called("eof")
        assert it.protocol.received == b"question"
        it.transport.write(b"answer")
        assert await it.peer_reads(6) == b"answer"
        assert it.protocol.calls == ["made", "eof"]


async def test_a_half_closed_peer_that_resets_is_lost() -> None:
    """Nothing is left to be read that would tell, and nothing may have to be written for long."""
    async with line(Noting(keeps_open=True)) as it:
        it.peer.shutdown(socket.SHUT_WR)
        await it.protocol.until_called("eof")
        it.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        it.peer.close()
        await it.protocol.until_called("lost")
        assert isinstance(it.protocol.error, ConnectionResetError)


async def test_nothing_is_handed_on_while_reading_is_paused_and_nothing_is_lost() -> None:
    async with line() as it:
        it.transport.pause_reading()
        await it.peer_sends(b"early")
        other = Noting()
        async with line(other) as second:  # what comes later on another connection is there already
            await second.peer_sends(b"x")
            await other.until(lambda: bool(other.pieces))
        assert not it.protocol.pieces
        it.transport.resume_reading()
        await it.protocol.until(lambda: it.protocol.received == b"early")


async def test_pausing_amid_many_pieces_stops_at_once() -> None:
    def stop(protocol: Noting) -> None:
        it.transport.pause_reading()

    async with line(Noting(stop)) as it:
        sending = asyncio.ensure_future(it.peer_sends(bytes(LARGE)))
        for count in range(1, 6):
            await it.protocol.until(lambda: len(it.protocol.pieces) == count)  # noqa: B023  # awaited here
            it.transport.resume_reading()
        sending.cancel()


async def test_pieces_are_bounded_and_complete() -> None:
    data = bytes(range(256)) * (LARGE // 256)
    async with line() as it:
        await it.peer_sends(data)
        await it.protocol.until(lambda: sum(map(len, it.protocol.pieces)) == LARGE)
        assert it.protocol.received == data
        assert max(map(len, it.protocol.pieces)) <= PIECE_BYTES


async def test_a_reset_by_the_peer_is_an_error() -> None:
    async with line() as it:
        it.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        it.peer.close()
        await it.protocol.until_called("lost")
        assert isinstance(it.protocol.error, ConnectionResetError)


async def test_an_urgent_byte_does_not_hide_what_follows() -> None:
    """A read ends at an urgent byte, so a short read does not say that nothing more has come."""
    async with line() as it:
        it.peer.send(b"before")
        it.peer.send(b"!", socket.MSG_OOB)
        it.peer.send(b"after")
        await it.protocol.until(lambda: it.protocol.received == b"beforeafter")


async def test_a_protocol_that_fails_loses_its_connection_and_no_other() -> None:
    def fail(protocol: Noting) -> None:
        raise RuntimeError("a mistake")

    loop, told = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    transports = TcpTransports(loop)
    async with line(Noting(fail), transports) as it, line(Noting(), transports) as other:
        await it.peer_sends(b"x")
        await other.peer_sends(b"y")
        await it.protocol.until_called("lost")
        await other.protocol.until(lambda: other.protocol.received == b"y")
        assert told == ["a mistake"]
        assert "lost" not in other.protocol.calls


async def test_the_socket_and_the_address_of_the_peer_are_told() -> None:
    async with line() as it:
        assert it.transport.get_extra_info("socket") is it.own
        assert it.transport.get_extra_info("peername") == it.peer.getsockname()
        assert it.transport.get_extra_info("ssl_object") is None
        assert it.transport.can_write_eof()


class Peeking:
    """Notes what it sees on a connection of which nothing is taken."""

    def __init__(self) -> None:
        self.seen: list[tuple[bytes, bool]] = []
        self.errors: list[Exception | None] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport

    def peeked(self, ahead: bytes, is_at_end: bool) -> None:
        self.seen.append((ahead, is_at_end))

    def connection_lost(self, exc: Exception | None) -> None:
        self.errors.append(exc)


async def test_what_is_peeked_at_stays_for_the_protocol_that_it_is_handed_to() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    with theirs:
        peeking, protocol = Peeking(), Noting()
        own = AcceptedSocket(ours.detach(), int(socket.AF_UNIX))
        transport = TcpTransports(asyncio.get_running_loop()).open(own, peeking, 6)
        transport.read_now()
        theirs.sendall(b"one ")
        await until(lambda: len(peeking.seen) == 2)
        theirs.sendall(b"two three")
        await until(lambda: len(peeking.seen) == 3)
        assert peeking.seen == [(b"", False), (b"one ", False), (b"one tw", False)]
        transport.hand_to(protocol)
        assert (protocol.calls, protocol.received) == (["made"], b"")
        transport.read_now()
        assert protocol.received == b"one two three"
        transport.abort()
        await protocol.until_called("lost")
        assert peeking.errors == []


async def test_who_peeks_hears_of_the_end() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    peeking = Peeking()
    own = AcceptedSocket(ours.detach(), int(socket.AF_UNIX))
    transport = TcpTransports(asyncio.get_running_loop()).open(own, peeking, 6)
    with theirs:
        theirs.sendall(b"one")
    await until(lambda: (b"one", True) in peeking.seen)
    transport.abort()
    await until(lambda: peeking.errors == [None])
