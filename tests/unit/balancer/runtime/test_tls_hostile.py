"""The transport for TLS, on real connections to peers that are hostile, slow or gone."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from balancer.connections.tls import make_context, self_signed
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.reading import PIECE_BYTES
from balancer.runtime.tcp import TcpTransports
from balancer.runtime.tls import TlsTransport
from tests.fakes.sockets import until
from tests.unit.balancer.runtime.test_tcp import LARGE, Noting
from tests.unit.balancer.runtime.tls_lines import KEY_UPDATE, SERVER, UNASKED, Peer, Records, line

pytestmark = pytest.mark.large

# Messages of the handshake after it (RFC 8446 4.6.3).


async def test_what_cannot_be_encrypted_amid_a_message_of_the_peer_waits(tmp_path: Path) -> None:
    async with line(secrets=tmp_path / "secrets") as it:
        records = Records(tmp_path / "secrets")
        await it.peer.send(records.handshake(KEY_UPDATE))
        transport = it.transport
        async with line() as other:  # what comes later on another connection is there already
            await other.peer.write(b"x")
            await other.protocol.until(lambda: bool(other.protocol.pieces))
        transport.write(b"one ")
        transport.write(b"two")
        assert it.protocol.calls == ["made", "pause"]
        await it.peer.send(records.handshake(UNASKED))
        assert await it.peer.read(7) == b"one two"
        assert it.protocol.calls == ["made", "pause", "resume"]


async def test_a_peer_that_demands_answers_and_reads_none_has_to_wait(tmp_path: Path) -> None:
    async with line(secrets=tmp_path / "secrets") as it:
        it.own.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)  # less has to be demanded
        records, transport = Records(tmp_path / "secrets"), it.transport
        sending = asyncio.ensure_future(_demand(it.peer, records))
        await until(lambda: transport._is_held)
        assert transport._tcp._size < PIECE_BYTES
        sending.cancel()
        while transport._is_held:
            async with asyncio.timeout(20):
                assert await asyncio.get_running_loop().sock_recv(it.peer.socket, 1 << 16)
        assert "lost" not in it.protocol.calls


async def _demand(peer: Peer, records: Records) -> None:
    while True:
        await peer.send(b"".join(records.key_update() for _ in range(50)))


# Handshakes that fail.


async def test_a_peer_that_says_nothing_has_limited_time() -> None:
    async with line(seconds=0.01, shakes_hands=False) as it:
        await it.until_gone()
        assert it.ends == [True]
        assert it.protocol.calls == []


async def test_a_peer_that_never_finishes_has_limited_time() -> None:
    async with line(seconds=0.2, shakes_hands=False) as it:
        with pytest.raises(ssl.SSLWantReadError):
            it.peer.session.do_handshake()
        await it.peer.flush()
        while await it.peer.hear():
            pass
        await it.until_gone()
        assert it.ends == [True]


@pytest.mark.parametrize("data", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00", bytes(LARGE)])
async def test_nonsense_is_no_handshake(data: bytes) -> None:
    async with line(shakes_hands=False) as it:
        sending = asyncio.ensure_future(it.peer.send(data))
        await it.until_gone()
        assert it.ends == [True]
        assert it.protocol.calls == []
        await asyncio.wait([sending])
        sending.exception()


@pytest.mark.parametrize("resets", [False, True])
async def test_an_end_amid_the_handshake_is_a_failure(resets: bool) -> None:
    async with line(shakes_hands=False) as it:
        with pytest.raises(ssl.SSLWantReadError):
            it.peer.session.do_handshake()
        await it.peer.flush()
        await it.peer.hear()
        if resets:
            it.peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        it.peer.socket.close()
        await it.until_gone()
        assert it.ends == [True]


async def test_a_peer_without_a_common_version_is_told_so() -> None:
    context = make_context(self_signed())
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    async with line(context=context, version=ssl.TLSVersion.TLSv1_2, shakes_hands=False) as it:
        with pytest.raises(ssl.SSLError, match=r"(?i)protocol.version"):
            await it.peer.do(it.peer.session.do_handshake)
        await it.until_gone()
        assert it.ends == [True]


async def test_a_handshake_that_is_broken_off_has_not_failed() -> None:
    async with line(shakes_hands=False) as it:
        it.transport.cancel()
        assert it.ends == []  # whoever breaks off many may still go through them
        await it.until_gone()
        assert it.ends == [False]
        assert it.protocol.calls == []


async def test_a_connection_that_is_gone_before_the_handshake_is_an_error() -> None:
    loop = asyncio.get_running_loop()
    with socket.socket() as unconnected:
        unconnected.close()
        with pytest.raises(OSError, match="descriptor"):
            deadlines = Deadlines(loop)
            TlsTransport(Noting(), lambda *_: None).begin(deadlines, TcpTransports(loop), unconnected, SERVER, 1)
        deadlines.stop()


class Refusing(Noting):
    """Cuts or closes its connection as soon as it is told of it."""

    def __init__(self, end: Callable[[asyncio.Transport], None]) -> None:
        super().__init__()
        self._end = end

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._end(transport)  # type: ignore[arg-type]


@pytest.mark.parametrize("end", [TlsTransport.abort, TlsTransport.close])
async def test_a_protocol_may_end_the_connection_at_once(end: Callable[[asyncio.Transport], None]) -> None:
    async with line(Refusing(end), shakes_hands=False) as it:
        await it.peer.do(it.peer.session.do_handshake)
        with pytest.raises(ConnectionError):
            while await it.peer.read(1):
                pass
            raise ConnectionError  # it has said goodbye
        it.peer.socket.close()
        await it.protocol.until_called("lost")
        assert it.protocol.calls == ["made", "lost"]
        assert it.ends == [False]


# Ends that never come.


@pytest.mark.parametrize("says_goodbye", [False, True])
async def test_a_peer_that_ends_and_never_reads_has_limited_time(says_goodbye: bool) -> None:
    async with line(goodbye_seconds=0.1) as it:
        it.transport.write(bytes(LARGE))
        if says_goodbye:
            with pytest.raises(ssl.SSLWantReadError):
                it.peer.session.unwrap()
            await it.peer.flush()
        else:
            it.peer.socket.shutdown(socket.SHUT_WR)
        await it.protocol.until_called("lost")
        await it.until_gone()


async def test_a_peer_that_never_says_goodbye_has_limited_time() -> None:
    async with line(goodbye_seconds=0.1) as it:
        it.transport.close()
        await it.protocol.until_called("lost")
        assert await it.peer.read(1) == b""
