"""Handshakes that fail, take too long or end for another reason, on real connections."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable

import pytest

from balancer.connections.tls import make_context, self_signed
from balancer.runtime.tls import TlsTransport
from tests.unit.balancer.runtime.tcp_lines import LARGE, Noting
from tests.unit.balancer.runtime.tls_lines import line

pytestmark = pytest.mark.large


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
        it.handshake.cancel()
        assert it.ends == []  # whoever breaks off many may still go through them
        await it.until_gone()
        assert it.ends == [False]
        assert it.protocol.calls == []


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
