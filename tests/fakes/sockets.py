"""What tests do to sockets and how they wait for what sockets bring about."""

from __future__ import annotations

import asyncio
import os
import random
import socket
import struct
from collections.abc import Callable
from contextlib import ExitStack, suppress

PATIENCE_SECONDS = 30  # a machine with other things to do may take seconds for what takes milliseconds
_POLL_SECONDS = 0.002
_FIRST_PORT, _RANGES, _RANGE = 12_000, 8, 2_500  # ports of a range
_QUIET_POLLS = 40  # a loopback transfer that still moves never rests for 80 ms


def own_ports() -> range:
    """The ports that this process may try. Processes that run tests beside each other have ids in a row, so they try
    different ones.
    """
    first = _FIRST_PORT + os.getpid() % _RANGES * _RANGE
    return range(first, first + _RANGE)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago, for a process that takes no others than those that it is told.

    They lie below those that the system gives to connections, so nobody gets one by chance.
    """
    with ExitStack() as held:
        ports: list[int] = []
        while len(ports) < count:
            candidate = random.choice(own_ports())
            with suppress(OSError):
                held.enter_context(socket.create_server(("", candidate)))
                ports.append(candidate)
    return ports


def narrow(connection: socket.socket, buffer_bytes: int) -> None:
    """Bound what the kernel holds in each direction, of a connection or of all that a listener accepts."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)


def reset(writer: asyncio.StreamWriter) -> None:
    """Close a connection with RST."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.transport.abort()


async def until(condition: Callable[[], bool]) -> None:
    """Wait for `condition`. Raises TimeoutError when it does not come true."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is waited for is in the kernel
            await asyncio.sleep(_POLL_SECONDS)


async def settled(measure: Callable[[], int]) -> int:
    """The value of `measure` once it has stopped changing."""
    value, quiet = measure(), 0
    async with asyncio.timeout(PATIENCE_SECONDS):
        while quiet < _QUIET_POLLS:
            await asyncio.sleep(_POLL_SECONDS)
            quiet = quiet + 1 if measure() == value else 0
            value = measure()
    return value
