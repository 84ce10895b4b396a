"""One end of a relay: bytes come and go, it is read only when somebody wants that, and it ends in either way."""

from __future__ import annotations

import asyncio
import socket
import ssl

import pytest
import trustme

from balancer.connections.raw import CROWDED_PIECE, RawConnection
from balancer.runtime.reading import PIECE
from balancer.runtime.tcp import TcpTransports
from tests.fakes.sockets import until


class Noting:
    """An owner that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.is_crowded = False

    def raw_made(self, end: RawConnection) -> None:
        self.told.append("made")

    def raw_came(self, end: RawConnection, data: bytes) -> None:
        self.told.append(data)

    def raw_ended(self, end: RawConnection) -> None:
        self.told.append("ended")

    def raw_lost(self, end: RawConnection, error: Exception | None) -> None:
        self.told.append("lost" if error is None else "failed")

    def raw_full(self, end: RawConnection) -> None:
        self.told.append("full")

    def raw_freed(self, end: RawConnection) -> None:
        self.told.append("freed")

    def reads_little(self) -> bool:
        return self.is_crowded


def opened(owner: Noting) -> tuple[RawConnection, socket.socket]:
    ours, theirs = socket.socketpair()
    inet = socket.create_server(("127.0.0.1", 0))
    theirs.close()
    ours.close()
    theirs = socket.create_connection(inet.getsockname())
    accepted, _ = inet.accept()
    inet.close()
    raw = RawConnection(owner, is_client=True)
    TcpTransports(asyncio.get_running_loop()).open(accepted, raw)
    return raw, theirs


async def test_nothing_is_read_before_somebody_wants_it() -> None:
    owner = Noting()
    raw, theirs = opened(owner)
    with theirs:
        theirs.sendall(b"hello")
        for _ in range(5):
            await asyncio.sleep(0)
        assert owner.told == ["made"]
        raw.resume()
        await until(lambda: b"hello" in owner.told)
        assert raw.carried_bytes == 5
        raw.write(b"back")
        theirs.settimeout(10)
        assert theirs.recv(10) == b"back"
        assert not raw.is_secure
        assert raw.peer_port() == theirs.getsockname()[1]
        assert raw.local_address() == theirs.getpeername()
        theirs.shutdown(socket.SHUT_WR)
        await until(lambda: "ended" in owner.told)
        assert raw.finish()
        assert theirs.recv(10) == b""
        raw.close()
        await until(lambda: raw.closed)
        assert owner.told[-1] == "lost"


async def test_whoever_does_not_read_is_full_until_all_is_taken() -> None:
    owner = Noting()
    raw, theirs = opened(owner)
    with theirs:
        while "full" not in owner.told:
            raw.write(bytes(65536))
        theirs.setblocking(False)
        while "freed" not in owner.told:
            try:
                theirs.recv(2**20)
            except BlockingIOError:
                await asyncio.sleep(0)
        raw.abort()
        await until(lambda: raw.closed)
        raw.write(b"dropped")
        assert raw.finish()


async def test_little_is_read_where_much_waits() -> None:
    owner = Noting()
    raw, theirs = opened(owner)
    with theirs:
        assert raw.get_buffer(-1) is PIECE
        owner.is_crowded = True
        assert raw.get_buffer(-1) is CROWDED_PIECE
        assert len(CROWDED_PIECE) == 4096
        raw.abort()
        await until(lambda: raw.closed)
        assert raw.local_address() == ("", 0)


@pytest.mark.large
async def test_over_tls_a_connection_that_was_closed_twice_can_be_cut() -> None:
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("cart.test").configure_cert(context)
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    authority.configure_trust(ours)
    raw = RawConnection(Noting(), is_client=False)
    loop = asyncio.get_running_loop()
    async with await loop.create_server(asyncio.Protocol, "127.0.0.1", 0, ssl=context) as server:
        port = server.sockets[0].getsockname()[1]
        await loop.create_connection(lambda: raw, "127.0.0.1", port, ssl=ours, server_hostname="cart.test")
        raw.close()
        raw.close()
        assert raw.is_secure
        raw.abort()
        await until(lambda: raw.closed)
