"""What is written to sockets, and how they end, on real connections: what asyncio promises, and what is beside it."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from balancer.runtime.tcp import TcpTransports
from tests.fakes.sockets import narrow, until
from tests.unit.balancer.runtime.tcp_lines import LARGE, Noting, line

pytestmark = pytest.mark.large


async def test_what_is_written_while_sockets_are_served_leaves_in_order() -> None:
    def answer(protocol: Noting) -> None:
        for part in (b"one ", b"two ", b"three"):
            it.transport.write(part)

    async with line(Noting(answer)) as it:
        await it.peer_sends(b"?")
        assert await it.peer_reads(13) == b"one two three"


async def test_much_between_two_short_writes_of_a_turn_hides_nobody_who_wrote_before() -> None:
    """Much leaves at once, so the rest is written by a transport that waits for the end of the turn already."""

    def answer(_: Noting) -> None:
        other.transport.write(b"first")
        for part in (b"little", bytes(32 * 1024), b"last"):
            it.transport.write(part)

    transports = TcpTransports(asyncio.get_running_loop())
    async with line(transports=transports) as other, line(Noting(answer), transports) as it:
        await it.peer_sends(b"?")
        assert await other.peer_reads(5) == b"first"
        assert await it.peer_reads(6 + 32 * 1024 + 4) == b"little" + bytes(32 * 1024) + b"last"


async def test_a_peer_that_does_not_read_pauses_the_protocol_until_it_has_read() -> None:
    data = bytes(range(256)) * (LARGE // 256)
    async with line() as it:
        it.transport.set_write_buffer_limits(high=1, low=0)
        for start in range(0, LARGE, 1 << 20):
            it.transport.write(data[start : start + (1 << 20)])
        assert it.protocol.calls == ["made", "pause"]
        assert await it.peer_reads(LARGE) == data
        await it.protocol.until_called("resume")
        assert it.protocol.calls == ["made", "pause", "resume"]


async def test_a_peer_that_leaves_bytes_waiting_again_and_again_gets_them_all() -> None:
    async with line() as it:
        for each in (it.own, it.peer):
            narrow(each, 32 * 1024)
        for _ in range(3):
            it.transport.write(bytes(1 << 20))
            assert it.transport.get_write_buffer_size() > 0
            assert len(await it.peer_reads(1 << 20)) == 1 << 20


async def test_a_high_limit_lets_so_much_wait() -> None:
    async with line() as it:
        it.transport.set_write_buffer_limits(high=LARGE, low=0)
        it.transport.write(bytes(LARGE))
        assert it.protocol.calls == ["made"]
        it.transport.write(bytes(LARGE))
        assert it.protocol.calls == ["made", "pause"]


async def test_what_was_written_before_close_still_arrives_and_nothing_after() -> None:
    async with line() as it:
        it.transport.write(bytes(LARGE))
        it.transport.close()
        it.transport.write(b"dropped")
        assert it.transport.is_closing()
        assert "lost" not in it.protocol.calls
        assert len(await it.peer_reads(LARGE + 1)) == LARGE
        await it.protocol.until_called("lost")


async def test_abort_drops_what_waits_and_tells_the_protocol_later() -> None:
    async with line() as it:
        it.transport.write(bytes(LARGE))
        it.transport.abort()
        assert it.protocol.calls[-1] != "lost"
        await it.protocol.until_called("lost")
        assert it.protocol.error is None
        assert len(await it.peer_reads(LARGE)) < LARGE


async def test_the_end_of_output_follows_what_was_written() -> None:
    async with line(Noting(keeps_open=True)) as it:
        it.transport.write(bytes(LARGE))
        it.transport.write_eof()
        assert len(await it.peer_reads(LARGE + 1)) == LARGE
        await it.peer_sends(b"still heard")
        await it.protocol.until(lambda: it.protocol.received == b"still heard")


async def test_writing_to_a_peer_that_has_reset_is_an_error_that_is_told_later() -> None:
    async with line() as it:
        it.transport.pause_reading()
        it.peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        it.peer.close()
        it.transport.write(b"too late")
        assert it.protocol.calls == ["made"]
        await it.protocol.until_called("lost")
        assert isinstance(it.protocol.error, OSError)


async def test_who_ends_while_sockets_are_served_ends_before_the_loop_goes_on() -> None:
    turns: list[str] = []

    def end(protocol: Noting) -> None:
        asyncio.get_running_loop().call_soon(lambda: turns.extend(protocol.calls))
        it.transport.write(b"goodbye")
        it.transport.close()
        assert "lost" not in protocol.calls

    async with line(Noting(end)) as it:
        await it.peer_sends(b"x")
        await it.protocol.until_called("lost")
        assert await it.peer_reads(8) == b"goodbye"
        await until(lambda: turns == ["made", "lost"])


async def test_who_ends_others_as_it_ends_itself_ends_them_too() -> None:
    class Ending(Noting):
        def connection_lost(self, exc: Exception | None) -> None:
            other.transport.write(b"goodbye")
            other.transport.close()
            super().connection_lost(exc)

    transports = TcpTransports(asyncio.get_running_loop())
    ending = Ending(lambda _: it.transport.close())
    async with line(transports=transports) as other, line(ending, transports) as it:
        await it.peer_sends(b"x")
        await other.protocol.until_called("lost")
        assert await other.peer_reads(8) == b"goodbye"


async def test_a_protocol_that_fails_as_it_ends_keeps_nobody_from_their_end() -> None:
    class Failing(Noting):
        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            raise RuntimeError("a mistake")

    loop, told = asyncio.get_running_loop(), []
    loop.set_exception_handler(lambda _, context: told.append(str(context["exception"])))
    transports = TcpTransports(loop)

    def end(_: Noting) -> None:
        it.transport.close()
        other.transport.close()

    async with line(Failing(end), transports) as it, line(transports=transports) as other:
        await it.peer_sends(b"x")
        await other.protocol.until_called("lost")
        await it.protocol.until_called("lost")
        assert told == ["a mistake"]
        assert (it.own.fileno(), other.own.fileno()) == (-1, -1)
