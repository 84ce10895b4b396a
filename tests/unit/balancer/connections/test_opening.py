"""Accepted sockets become transports in each event loop, also after a handshake, without a task."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import cast

import pytest

from balancer.connections.opening import AcceptedSocket, Opening, TlsOpening, accept
from balancer.connections.tls import make_context, self_signed
from balancer.runtime.loops import loop_factory
from tests.fakes.sockets import PATIENCE_SECONDS, until
from tests.integration.wire import trusting
from tests.unit.balancer.connections.test_clienthello import hello


class Echo(asyncio.Protocol):
    """Notes its transport, and sends back what comes."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.events: list[str] = []

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)  # uvloop's are not of this class
        self.events.append("open")

    def data_received(self, data: bytes) -> None:
        assert self.transport is not None
        self.transport.write(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.events.append("lost")


def connected() -> tuple[socket.socket, AcceptedSocket]:
    """A client and its accepted connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        client = socket.create_connection(listener.getsockname())
        connection, address = accept(listener, int(listener.family))
    assert address == client.getsockname()[0]
    return client, connection


async def open_and_close() -> None:
    client, connection = connected()
    descriptor, protocol = connection.fileno(), Echo()
    opening = Opening(asyncio.get_running_loop(), connection, lambda: protocol)
    assert protocol.events == []
    await asyncio.sleep(0)
    assert protocol.events == ["open"]
    opening.finish()
    with client:
        reader, writer = await asyncio.open_connection(sock=client)
        writer.write(b"said")
        assert await reader.readexactly(4) == b"said"
        writer.write_eof()
        assert await reader.read() == b""
        await until(lambda: protocol.events == ["open", "lost"])
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(descriptor)  # closed once; nobody closes it again, when it may be another's
        assert connection.fileno() == -1
        writer.close()


async def cancel_before_it_is_open() -> None:
    client, connection = connected()
    protocol = Echo()
    opening = Opening(asyncio.get_running_loop(), connection, lambda: protocol)
    opening.cancel()
    await asyncio.sleep(0)
    opening.finish()
    with client:
        reader, writer = await asyncio.open_connection(sock=client)
        assert await reader.read() == b""
        writer.close()
    await until(lambda: protocol.events == ["open", "lost"])


class Leaving(Echo):
    """Cuts its connection at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        cast("asyncio.Transport", transport).abort()


async def cut_while_it_opens() -> None:
    client, connection = connected()
    protocol = Leaving()
    opening = Opening(asyncio.get_running_loop(), connection, lambda: protocol)
    await asyncio.sleep(0)
    opening.finish()
    await until(lambda: protocol.events == ["open", "lost"])
    client.close()


class Shaking:
    """A handshake that has begun, and what was heard of its end."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self.protocol, self.ends = Echo(), list[bool]()
        self.client, self.connection = connected()
        self.handshake = TlsOpening(self._over)
        context = make_context(self_signed())
        self.handshake.begin(asyncio.get_running_loop(), self.connection, lambda: self.protocol, context, seconds)

    def _over(self, handshake: TlsOpening, failed: bool) -> None:
        assert handshake is self.handshake
        self.ends.append(failed)

    async def until_closed(self) -> None:
        """Wait until the client sees the end, and nothing before it."""
        reader, writer = await asyncio.open_connection(sock=self.client)
        with suppress(ConnectionError):
            assert await reader.read() == b""
        writer.close()
        await until(lambda: self.connection.fileno() == -1)


async def shake_hands() -> None:
    shaking = Shaking()
    reader, writer = await asyncio.open_connection(sock=shaking.client, ssl=trusting(), server_hostname="shop.test")
    writer.write(b"said")
    assert await reader.readexactly(4) == b"said"
    await until(lambda: shaking.ends == [False])
    assert shaking.protocol.events == ["open"]
    writer.close()
    await until(lambda: shaking.protocol.events == ["open", "lost"])


async def break_a_handshake_off() -> None:
    shaking = Shaking()
    shaking.handshake.cancel()
    await until(lambda: shaking.ends == [False])
    await shaking.until_closed()
    assert shaking.protocol.events == []


async def break_a_handshake_off_amid_it() -> None:
    shaking = Shaking()
    shaking.client.sendall(hello("http/1.1"))
    await asyncio.get_running_loop().run_in_executor(None, shaking.client.recv, 1)  # of the answer
    shaking.handshake.cancel()
    await until(lambda: shaking.ends == [False] and shaking.connection.fileno() == -1)
    shaking.client.close()
    assert shaking.protocol.events == []


async def be_told_nonsense() -> None:
    shaking = Shaking()
    shaking.client.sendall(b"GET / HTTP/1.1\r\n\r\n")
    await until(lambda: shaking.ends == [True] and shaking.connection.fileno() == -1)
    shaking.client.close()
    assert shaking.protocol.events == []


async def wait_for_too_long() -> None:
    shaking = Shaking(seconds=0.01)
    await until(lambda: shaking.ends == [True])
    await shaking.until_closed()
    assert shaking.protocol.events == []


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize(
    "case",
    [
        open_and_close,
        cancel_before_it_is_open,
        cut_while_it_opens,
        shake_hands,
        break_a_handshake_off,
        break_a_handshake_off_amid_it,
        be_told_nonsense,
        wait_for_too_long,
    ],
)
def test_in_each_event_loop(event_loop: str, case: Callable[[], Coroutine[None, None, None]]) -> None:
    with asyncio.Runner(loop_factory=loop_factory(event_loop)) as runner:
        runner.run(case())


def test_where_nobody_waits_there_is_nothing_to_accept() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            accept(listener, int(listener.family))


def test_the_family_is_that_of_the_listener() -> None:
    client, connection = connected()
    with client, connection:
        assert (connection.family, connection.type) == (socket.AF_INET, socket.SOCK_STREAM)
        assert connection.getpeername() == client.getsockname()
