"""A network in memory for one event loop: connections whose two ends are transports, and reads that come as written.

What real sockets would join or split in the kernel stays as the test cut it. It must not know HTTP.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from typing import Any, cast

from balancer.runtime.reading import ReadsPieces

Receiving = asyncio.Protocol | ReadsPieces
"""A protocol that is given bytes by `data_received`."""

_QUIET_TURNS = 25  # of the loop: what is on its way needs at most a few until it moves bytes again
_EOF, _RESET = b"", None


class MemoryTransport(asyncio.Transport):
    """One end of a connection. Bytes reach the other end's protocol in a later turn of the loop, write by write."""

    def __init__(self, network: MemoryLoop, protocol: Receiving) -> None:
        super().__init__()
        self._network = network
        self._protocol = protocol
        self._coming: deque[bytes | None] = deque()
        self._closing = self._eof_written = self._paused = False
        self.peer: MemoryTransport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        if self._eof_written:
            raise RuntimeError("Cannot call write() after write_eof()")
        if data and not self._closing:
            self.peer._come(bytes(data))

    def write_eof(self) -> None:
        if not self._eof_written:
            self._eof_written = True
            self.peer._come(_EOF)

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        if not self._closing:
            self.write_eof()
            self._end()

    def abort(self) -> None:
        if not self._closing:
            self.peer._come(_RESET)
            self._end()

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        self._paused = True

    def resume_reading(self) -> None:
        self._paused = False
        self._network.call_soon(self._pump)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        pass  # nothing is ever held back here

    def get_write_buffer_size(self) -> int:
        return 0

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return {"peername": ("192.0.2.1", 1), "socket": self._network.any_socket}.get(name, default)

    def _come(self, data: bytes | None) -> None:
        self._coming.append(data)
        self._network.call_soon(self._pump)

    def _pump(self) -> None:
        while self._coming and not self._paused and not self._closing:
            self._network.moved += 1
            data = self._coming.popleft()
            if data is _RESET:
                self._end()
            elif data != _EOF:
                self._protocol.data_received(data)
            elif not self._protocol.eof_received():
                self.close()

    def _end(self) -> None:
        self._closing = True
        self._network.moved += 1
        self._network.call_soon(self._protocol.connection_lost, None)


class MemoryLoop(asyncio.SelectorEventLoop):
    """An event loop whose connections go to protocols made by `endpoint`, wherever they were meant to go."""

    def __init__(self, endpoint: Callable[[], Receiving]) -> None:
        super().__init__()
        self._endpoint = endpoint
        self.any_socket = socket.socket()  # takes the options that a protocol sets
        self.moved = 0

    def connect(self, protocol: Receiving, other: Receiving) -> MemoryTransport:
        """Join two protocols; the transport of the first."""
        one, two = MemoryTransport(self, protocol), MemoryTransport(self, other)
        one.peer, two.peer = two, one
        other.connection_made(two)
        protocol.connection_made(one)
        return one

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *_: object, **__: object
    ) -> tuple[asyncio.Transport, asyncio.BaseProtocol]:
        protocol = cast("Receiving", protocol_factory())
        return self.connect(protocol, self._endpoint()), protocol

    async def quiet(self) -> None:
        """Wait until nothing moves any more."""
        seen, turns = self.moved, 0
        while turns < _QUIET_TURNS:
            await asyncio.sleep(0)
            turns = turns + 1 if self.moved == seen else 0
            seen = self.moved

    def close(self) -> None:
        self.any_socket.close()
        super().close()
