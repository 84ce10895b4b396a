"""Connections to the transport for TLS, whose client sends each record as a test likes."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

from balancer.connections.tls import make_context, self_signed
from balancer.runtime.deadlines import Deadlines
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransports
from balancer.runtime.tls import TlsTransport
from balancer.runtime.tls_handshakes import TlsHandshake
from tests.fakes.sockets import until
from tests.integration.wire import trusting
from tests.unit.balancer.runtime.tcp_lines import Noting

SERVER = make_context(self_signed())
VERSIONS = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
KEY_UPDATE = b"\x18\x00\x00\x01"
UNASKED, _ASKING = b"\x00", b"\x01"  # by whether it demands one of the other side
_Result = TypeVar("_Result")


class Peer:
    """The client's end: a socket, and a session between two buffers, so that records can be sent as a test likes."""

    def __init__(self, own: socket.socket, version: ssl.TLSVersion, secrets: Path | None) -> None:
        self.socket = own
        context = trusting()
        if secrets is not None:
            context.keylog_filename = str(secrets)
        context.minimum_version = context.maximum_version = version
        self.incoming, self.outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.session = context.wrap_bio(self.incoming, self.outgoing, server_hostname="shop.test")

    async def flush(self) -> None:
        await self.send(self.outgoing.read())

    async def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        async with asyncio.timeout(20):
            await asyncio.get_running_loop().sock_sendall(self.socket, data)

    async def hear(self) -> bytes:
        async with asyncio.timeout(20):
            data = await asyncio.get_running_loop().sock_recv(self.socket, 1 << 16)
        self.incoming.write(data)
        return data

    async def do(self, step: Callable[[], _Result]) -> _Result:
        """Takes a step of the session and exchanges what it needs. Raises ConnectionError at an end without goodbye."""
        while True:
            try:
                done = step()
            except ssl.SSLWantReadError:
                await self.flush()
                if not await self.hear():
                    raise ConnectionError("the end") from None
            else:
                await self.flush()
                return done

    async def write(self, data: bytes) -> None:
        await self.do(lambda: self.session.write(data))

    async def read(self, count: int) -> bytes:
        """So many bytes, or fewer if the server says goodbye."""
        parts, left = [], count
        while left and (part := await self.do(partial(self.session.read, left))):
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


class Records:
    """Makes records of TLS 1.3 with whatever in them, in place of the session (RFC 8446 5.2 and 7).

    For the cipher that both ends prefer, of AES-256 and SHA-384.
    """

    def __init__(self, secrets: Path) -> None:
        (line,) = (each for each in secrets.read_text().splitlines() if each.startswith("CLIENT_TRAFFIC_SECRET_0"))
        self._use(bytes.fromhex(line.split()[-1]))

    def _use(self, secret: bytes) -> None:
        self._secret, self._number = secret, 0
        self._cipher, self._salt = AESGCM(self._derived("key", 32)), int.from_bytes(self._derived("iv", 12), "big")

    def _derived(self, label: str, size: int) -> bytes:
        name = f"tls13 {label}".encode()
        info = size.to_bytes(2, "big") + bytes((len(name),)) + name + b"\x00"
        return HKDFExpand(hashes.SHA384(), size, info).derive(self._secret)

    def handshake(self, data: bytes) -> bytes:
        """A record with so much of a handshake message."""
        head = b"\x17\x03\x03" + (len(data) + 1 + 16).to_bytes(2, "big")
        nonce = (self._salt ^ self._number).to_bytes(12, "big")
        self._number += 1
        return head + self._cipher.encrypt(nonce, data + b"\x16", head)

    def key_update(self) -> bytes:
        """A record that changes the keys, and demands that of the other side."""
        made = self.handshake(KEY_UPDATE + _ASKING)
        self._use(self._derived("traffic upd", 48))
        return made


class Line:
    """A connection: a handshake, then a transport with its protocol, and the peer."""

    transport: TlsTransport

    def __init__(
        self,
        protocol: Noting,
        context: ssl.SSLContext,
        *,
        seconds: float,
        version: ssl.TLSVersion,
        secrets: Path | None,
        goodbye_seconds: float,
    ) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            other = socket.create_connection(server.getsockname())
            self.own, _ = server.accept()
        other.setblocking(False)
        self.protocol, self.peer = protocol, Peer(other, version, secrets)
        self.ends: list[bool] = []
        loop = asyncio.get_running_loop()
        self.deadlines = Deadlines(loop)
        self.handshake = TlsHandshake(self, self._over, self.deadlines, goodbye_seconds)
        self.tcp = TcpTransports(loop).open(self.own, ReadsPieces())
        self.handshake.begin(self.tcp, context, loop.time() + seconds)

    def connection_made(self, transport: TlsTransport) -> None:
        """The handshake is over: the protocol takes the place."""
        self.transport = transport
        transport.set_protocol(self.protocol)
        self.protocol.connection_made(transport)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        raise AssertionError("the protocol has the place")

    def _over(self, handshake: TlsHandshake, failed: bool) -> None:
        assert handshake is self.handshake
        self.ends.append(failed)

    async def shake_hands(self) -> None:
        await self.peer.do(self.peer.session.do_handshake)
        await self.protocol.until_called("made")
        assert self.ends == [False]

    async def until_gone(self) -> None:
        await until(lambda: self.own.fileno() == -1)


@asynccontextmanager
async def line(
    protocol: Noting | None = None,
    *,
    context: ssl.SSLContext = SERVER,
    seconds: float = 20,
    version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_3,
    shakes_hands: bool = True,
    secrets: Path | None = None,
    goodbye_seconds: float = 20,
) -> AsyncIterator[Line]:
    made = Line(
        protocol or Noting(),
        context,
        seconds=seconds,
        version=version,
        secrets=secrets,
        goodbye_seconds=goodbye_seconds,
    )
    with made.peer.socket:
        if shakes_hands:
            await made.shake_hands()
        yield made
        made.tcp.abort()
        await made.until_gone()
        made.deadlines.stop()
