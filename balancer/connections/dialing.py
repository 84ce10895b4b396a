"""Connects to endpoints: without TLS on transports of our own, else on those of the event loop."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable
from typing import TypeVar

from balancer.runtime.reading import ReadsPieces
from balancer.runtime.tcp import TcpTransport, TcpTransports

_Protocol = TypeVar("_Protocol", bound=ReadsPieces)


async def dial(
    transports: TcpTransports,
    make: Callable[[], _Protocol],
    address: str,
    port: int,
    *,
    context: ssl.SSLContext | None,
    server_name: str | None,
) -> tuple[asyncio.Transport | TcpTransport, _Protocol]:
    """Connects to `address`, which may be a name, and makes the protocol of the connection.

    `context` is for TLS, whose handshake expects a certificate for `server_name`. Raises OSError.
    """
    if context is None and _is_numeric(address):
        return await _connect(transports, make, address, port)
    _check_name(server_name or "")
    loop = asyncio.get_running_loop()
    return await loop.create_connection(make, address, port, ssl=context, server_hostname=server_name)


async def _connect(
    transports: TcpTransports, make: Callable[[], _Protocol], address: str, port: int
) -> tuple[TcpTransport, _Protocol]:
    connection = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
    try:
        connection.setblocking(False)
        await asyncio.get_running_loop().sock_connect(connection, (address, port))
        protocol = make()
        return transports.open(connection, protocol), protocol
    except BaseException:
        connection.close()
        raise


def _check_name(name: str) -> None:
    """Raises OSError for a name that no handshake can send. After the connect it would be an error of another class."""
    try:
        name.encode("idna")
    except UnicodeError:
        raise OSError("no name that DNS can have") from None


def _is_numeric(address: str) -> bool:
    """Whether `address` is an IP address: a name has to be looked up first."""
    return ":" in address or address.replace(".", "").isdigit()
