"""The transport for TLS, on real connections: what asyncio promises to protocols, and what comes in midstream."""

from __future__ import annotations

import asyncio
import socket
import ssl
from contextlib import suppress

import pytest

from balancer.runtime.reading import PIECE_BYTES
from tests.unit.balancer.runtime.tcp_lines import LARGE, Noting
from tests.unit.balancer.runtime.tls_lines import VERSIONS, line

pytestmark = pytest.mark.large


@pytest.mark.parametrize("version", VERSIONS)
async def test_bytes_pass_both_ways_and_goodbyes_are_exchanged(version: ssl.TLSVersion) -> None:
    async with line(version=version) as it:
        it.transport.write(b"hello")
        assert await it.peer.read(5) == b"hello"
        await it.peer.write(b"good day")
        await it.protocol.until(lambda: it.protocol.received == b"good day")
        await it.peer.do(it.peer.session.unwrap)
        await it.protocol.until_called("lost")
        assert it.protocol.calls == ["made", "eof", "lost"]
        assert it.protocol.error is None
        assert it.ends == [False]
        assert it.own.fileno() == -1


async def test_what_comes_with_the_end_of_the_handshake_is_handed_on() -> None:
    async with line(shakes_hands=False) as it:
        session = it.peer.session
        with pytest.raises(ssl.SSLWantReadError):
            session.do_handshake()
        await it.peer.flush()
        while True:
            await it.peer.hear()
            try:
                session.do_handshake()
            except ssl.SSLWantReadError:
                continue
            break
        session.write(b"at once")
        await it.peer.flush()
        await it.protocol.until(lambda: it.protocol.received == b"at once")


@pytest.mark.parametrize("version", VERSIONS)
async def test_records_may_come_byte_by_byte(version: ssl.TLSVersion) -> None:
    async with line(version=version) as it:
        it.peer.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            it.peer.session.write(b"slowly")
            for byte in it.peer.outgoing.read():
                await it.peer.send(bytes((byte,)))
        await it.protocol.until(lambda: it.protocol.received == b"slowly" * 2)


async def test_pieces_are_bounded_and_complete() -> None:
    data = bytes(range(256)) * (LARGE // 256)
    async with line() as it:
        await it.peer.write(data)
        await it.protocol.until(lambda: sum(map(len, it.protocol.pieces)) == LARGE)
        assert it.protocol.received == data
        assert max(map(len, it.protocol.pieces)) <= PIECE_BYTES


async def test_pausing_amid_many_pieces_stops_at_once_and_nothing_is_lost() -> None:
    def stop(protocol: Noting) -> None:
        it.transport.pause_reading()

    data = bytes(range(256)) * 4096
    async with line(Noting(stop)) as it:
        sending = asyncio.ensure_future(it.peer.write(data))
        count = 0
        while sum(map(len, it.protocol.pieces)) < len(data):
            count += 1
            await it.protocol.until(lambda: len(it.protocol.pieces) >= count)  # noqa: B023  # awaited here
            assert len(it.protocol.pieces) == count
            it.transport.resume_reading()
        await sending
        assert it.protocol.received == data


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_peer_that_does_not_read_pauses_the_protocol_until_it_has_read(version: ssl.TLSVersion) -> None:
    data = bytes(range(256)) * (LARGE // 256)
    async with line(version=version) as it:
        it.transport.set_write_buffer_limits(high=1, low=0)
        for start in range(0, LARGE, 1 << 20):
            it.transport.write(data[start : start + (1 << 20)])
        # What one write left may have gone to the peer's buffer before the next write.
        before = it.protocol.calls.copy()
        assert before == ["made", *("pause", "resume") * (len(before) // 2 - 1), "pause"]
        assert await it.peer.read(LARGE) == data
        await it.protocol.until(lambda: it.protocol.calls[-1] == "resume")
        assert it.protocol.calls == [*before, "resume"]


@pytest.mark.parametrize("version", VERSIONS)
async def test_what_was_written_before_close_still_arrives_and_nothing_after(version: ssl.TLSVersion) -> None:
    async with line(version=version) as it:
        it.transport.write(bytes(LARGE))
        it.transport.close()
        it.transport.write(b"dropped")
        assert it.transport.is_closing()
        assert len(await it.peer.read(LARGE + 1)) == LARGE
        assert "lost" not in it.protocol.calls  # the peer has not said goodbye
        await it.peer.write(b"nobody listens")
        await it.peer.do(it.peer.session.unwrap)
        await it.protocol.until_called("lost")
        assert it.protocol.calls[-1] == "lost"
        assert not it.protocol.pieces
        assert it.protocol.error is None


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", [7, LARGE])
async def test_a_peer_that_expects_the_end_need_not_say_goodbye(version: ssl.TLSVersion, size: int) -> None:
    async with line(version=version) as it:
        it.transport.write(bytes(size))
        it.transport.close_at_once()
        assert it.transport.is_closing()
        assert len(await it.peer.read(size + 1)) == size
        await it.until_gone()
        assert it.protocol.calls[-1] == "lost"
        assert it.protocol.error is None


async def test_a_peer_that_has_said_more_is_heard_before_the_end() -> None:
    async with line() as it:
        it.peer.session.write(b"nobody listens")
        it.peer.socket.send(it.peer.outgoing.read())  # the loop does not turn
        it.transport.write(b"the end")
        it.transport.close_at_once()
        assert await it.peer.read(8) == b"the end"
        assert "lost" not in it.protocol.calls
        await it.peer.do(it.peer.session.unwrap)
        await it.protocol.until_called("lost")
        assert not it.protocol.pieces
        assert it.protocol.error is None


async def test_an_end_at_once_has_its_limit_where_the_peer_reads_nothing() -> None:
    async with line(goodbye_seconds=0.05) as it:
        it.transport.write(bytes(LARGE))
        it.transport.close_at_once()
        await it.until_gone()
        assert it.protocol.calls[-1] == "lost"


async def test_close_reads_on_where_reading_was_paused() -> None:
    async with line() as it:
        it.transport.pause_reading()
        await it.peer.write(b"nobody listens")
        it.transport.close()
        assert await it.peer.read(1) == b""
        await it.peer.do(it.peer.session.unwrap)
        await it.protocol.until_called("lost")
        assert not it.protocol.pieces


async def test_abort_drops_what_waits_and_tells_the_protocol_later() -> None:
    async with line() as it:
        it.transport.write(bytes(LARGE))
        it.transport.abort()
        assert it.transport.is_closing()
        assert it.protocol.calls[-1] != "lost"
        await it.protocol.until_called("lost")
        with pytest.raises(ConnectionError):
            await it.peer.read(LARGE)


async def test_an_abort_by_the_protocol_hands_on_nothing_more() -> None:
    def cut(protocol: Noting) -> None:
        it.transport.abort()

    async with line(Noting(cut)) as it:
        with suppress(ConnectionError):  # it is cut amid that
            await it.peer.write(bytes(LARGE))
        await it.protocol.until_called("lost")
        assert len(it.protocol.pieces) == 1
        assert it.protocol.calls == ["made", "lost"]


async def test_an_end_without_goodbye_is_no_orderly_one() -> None:
    async with line() as it:
        it.peer.socket.shutdown(socket.SHUT_WR)
        await it.protocol.until_called("lost")
        assert it.protocol.calls == ["made", "lost"]


async def test_a_reset_by_the_peer_is_an_error() -> None:
    async with line() as it:
        it.peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        it.peer.socket.close()
        await it.protocol.until_called("lost")
        assert isinstance(it.protocol.error, ConnectionResetError)


@pytest.mark.parametrize("version", VERSIONS)
async def test_bytes_that_are_no_tls_end_the_connection_with_an_alert(version: ssl.TLSVersion) -> None:
    async with line(version=version) as it:
        it.peer.session.write(b"sound")
        await it.peer.send(it.peer.outgoing.read() + b"\x17\x03\x03\x00\x20" + bytes(32))
        await it.protocol.until_called("lost")
        assert it.protocol.calls == ["made", "lost"]
        with pytest.raises(ssl.SSLError, match=r"(?i)bad.record.mac"):
            await it.peer.read(1)


async def test_another_protocol_may_take_the_place_of_the_first() -> None:
    later = Noting()
    async with line() as it:
        it.transport.set_protocol(later)
        await it.peer.write(b"for the second")
        await later.until(lambda: later.received == b"for the second")
        it.transport.abort()
        await later.until_called("lost")
        assert it.protocol.calls == ["made"]


async def test_the_session_the_socket_and_the_address_of_the_peer_are_told() -> None:
    async with line() as it:
        assert it.transport.get_extra_info("ssl_object").version() == "TLSv1.3"
        assert it.transport.get_extra_info("socket") is it.own
        assert it.transport.get_extra_info("peername") == it.peer.socket.getsockname()
