"""What can be asked of the socket under a transport, and told to it. It must not know what is sent."""

from __future__ import annotations

import asyncio
import select
import socket
import struct
from contextlib import suppress

_RESET = struct.pack("ii", 1, 0)  # SO_LINGER on, for no time: closing sends RST and drops what is unsent


def peer_address(transport: asyncio.BaseTransport) -> str:
    """The address of the other side, without port, IPv4 as such; empty where it is not known."""
    peername = transport.get_extra_info("peername")
    return plain_address(peername[0]) if peername else ""


def plain_address(address: str) -> str:
    """An address as the kernel tells it, but IPv4 as such."""
    return address.removeprefix("::ffff:") if "." in address else address


def has_unread(transport: asyncio.BaseTransport) -> bool:
    """Whether something has come that was not read yet, be it only the end."""
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
    return bool(poll.poll(0))


def reset_on_close(transport: asyncio.BaseTransport) -> None:
    """Have the connection end with RST when it is closed."""
    with suppress(OSError):  # it may have just been closed
        connection = transport.get_extra_info("socket")
        if connection is not None:  # TLS that has ended has none left
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
