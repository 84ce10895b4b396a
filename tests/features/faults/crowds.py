"""Many bare connections at once: clients that are slow, idle or rude need nothing more than a socket."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.fakes.sockets import narrow
from tests.fakes.stopwatch import Stopwatch

_AT_ONCE = 200  # connection attempts, so that no backlog overflows


@contextmanager
def closing(sockets: list[socket.socket]) -> Iterator[None]:
    """Close all that the list holds at the end."""
    try:
        yield
    finally:
        for each in sockets:
            each.close()


@contextmanager
def closed_by_errors(sockets: list[socket.socket]) -> Iterator[None]:
    """Close all that the list holds if the block raises."""
    try:
        yield
    except BaseException:
        for each in sockets:
            each.close()
        raise


async def connected(port: int, *, buffer_bytes: int | None = None) -> socket.socket:
    """A connection to a port on loopback, not blocking."""
    connection = socket.socket()
    with closed_by_errors([connection]):
        connection.setblocking(False)
        if buffer_bytes is not None:
            narrow(connection, buffer_bytes)
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
    return connection


async def crowd(port: int, count: int, *, first_bytes: bytes = b"") -> list[socket.socket]:
    """So many connections, each of which has sent the same. Raises the first error of any, and then none is open."""
    sockets: list[socket.socket] = []
    with closed_by_errors(sockets):
        while len(sockets) < count:
            few = min(_AT_ONCE, count - len(sockets))
            joined = await asyncio.gather(*(_join(sockets, port) for _ in range(few)), return_exceptions=True)
            for error in filter(None, joined):
                raise error
        for each in sockets:
            each.send(first_bytes)
    return sockets


async def _join(sockets: list[socket.socket], port: int) -> None:
    sockets.append(await connected(port))


async def trickling_crowd(port: int, count: int, *, first_bytes: bytes, seconds: float) -> list[socket.socket]:
    """So many connections, each of which has sent the same when the next one comes; all have come after `seconds`."""
    started, sockets = time.monotonic(), list[socket.socket]()
    for number in range(count):
        await asyncio.sleep(max(0.0, started + seconds * number / count - time.monotonic()))
        sockets += await crowd(port, 1, first_bytes=first_bytes)
    return sockets


def take(connection: socket.socket, size: int = 65536) -> bytes | None:
    """What has come, empty if the other side closed or cut the connection, None if nothing has come."""
    try:
        return connection.recv(size)
    except BlockingIOError:
        return None
    except ConnectionError:
        return b""


def is_over(connection: socket.socket) -> bool:
    """Whether the other side has closed it; what it said before is dropped."""
    while data := take(connection):
        pass
    return data == b""


def reset(connection: socket.socket) -> None:
    """Close with RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


async def dripping(sockets: Sequence[socket.socket], *, drop: bytes, seconds: float) -> list[float]:
    """Send `drop` on each every tenth of a second until it is closed: when each was, in seconds of a `Stopwatch`.

    Those that outlive `seconds` are not in the list.
    """
    watch, left, ends = Stopwatch(), list(sockets), list[float]()
    while left and watch.within(seconds):
        await asyncio.sleep(0.1)
        now = watch.seconds
        for each in tuple(left):
            if is_over(each) or not _sends(each, drop):
                left.remove(each)
                ends.append(now)
    return ends


def _sends(connection: socket.socket, data: bytes) -> bool:
    try:
        connection.send(data)
    except BlockingIOError:
        pass
    except ConnectionError:
        return False
    return True
