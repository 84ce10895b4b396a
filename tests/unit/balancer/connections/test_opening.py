"""Accepted sockets become transports in each event loop, without a task."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Coroutine
from typing import cast

import pytest

from balancer.connections.opening import AcceptedSocket, Opening, accept
from balancer.runtime.loops import loop_factory
from tests.fakes.sockets import until


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


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("case", [open_and_close, cancel_before_it_is_open, cut_while_it_opens])
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
