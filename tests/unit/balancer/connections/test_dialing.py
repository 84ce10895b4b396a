"""Connections to endpoints: addresses without TLS on transports of our own, everything else on those of the loop."""

from __future__ import annotations

import asyncio
import gc
import socket
import ssl

import pytest

from balancer.connections.dialing import dial
from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransport, TcpTransports


class Silent(ReadsPieces):
    def __init__(self) -> None:
        self.lost = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


async def dialled(address: str, transports: TcpTransports) -> bool:
    """Whether a connection to `address` is on a transport of our own."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        transport, protocol = await dial(transports, Silent, address, port, context=None, server_name=None)
        transport.abort()
        await protocol.lost.wait()
    return isinstance(transport, TcpTransport)


async def test_an_address_is_dialled_on_a_transport_of_our_own() -> None:
    assert await dialled("127.0.0.1", TcpTransports(asyncio.get_running_loop()))


async def test_a_name_is_looked_up_by_the_loop() -> None:
    assert not await dialled("localhost", TcpTransports(asyncio.get_running_loop()))


async def test_an_address_that_refuses_leaves_no_socket() -> None:
    """A socket that nobody closes is a warning, and so an error of the test."""
    transports = TcpTransports(asyncio.get_running_loop())
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(ConnectionRefusedError):
        await dial(transports, Silent, "127.0.0.1", port, context=None, server_name=None)
    gc.collect()


async def test_a_name_that_no_handshake_can_send_is_an_error_of_the_connection() -> None:
    """Whoever waits for a connection waits for OSError, and would hear nothing of another error."""
    transports, context = TcpTransports(asyncio.get_running_loop()), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(OSError, match="DNS"):
            await dial(transports, Silent, "127.0.0.1", port, context=context, server_name="a" * 64 + ".test")
