"""The transport for TLS, on real connections to peers that are hostile, slow or gone."""

from __future__ import annotations

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from balancer.runtime.reading import PIECE_BYTES
from tests.fakes.sockets import until
from tests.unit.balancer.runtime.tcp_lines import LARGE
from tests.unit.balancer.runtime.tls_lines import KEY_UPDATE, UNASKED, Peer, Records, line

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
