"""Reads a connection in pieces of bounded size, whatever the event loop would read at once.

A peer that does not read holds one piece in memory, so the size of a piece is the memory that a stalled connection
costs (uvloop reads 256 KiB at once). Does not know what the bytes mean.
"""

from __future__ import annotations

import asyncio
from typing import Protocol

from balancer.runtime import calls

PIECE_BYTES = 128 * 1024
"""The most bytes that are handed on at once."""

# One buffer for all connections: a transport fills it and hands it over in the same turn. Bytes that are kept are
# copied.
MEMORY = bytearray(PIECE_BYTES)
PIECE = memoryview(MEMORY)
"""The usual buffer."""

SMALL_PIECE = PIECE[: 32 * 1024]
"""A buffer in place of the usual one, where many bytes wait for a peer already: a part of that one."""


class ReadsPieces(asyncio.BufferedProtocol):
    """A protocol whose `data_received` gets at most `PIECE_BYTES` at once."""

    __slots__ = ()

    def get_buffer(self, sizehint: int) -> memoryview:
        """The buffer for the next read of the transport (asyncio.BufferedProtocol)."""
        return PIECE

    def buffer_updated(self, nbytes: int) -> None:
        """The transport has read `nbytes` into the buffer."""
        self.data_received(calls.taken(MEMORY, nbytes))

    def data_received(self, data: bytes) -> None:
        """Takes the bytes that came. Subclasses implement it."""
        raise NotImplementedError


class Peeks(Protocol):
    """The protocol of a connection of which nothing is taken yet."""

    def connection_made(self, transport: asyncio.BaseTransport, /) -> None:
        """The connection is watched."""

    def peeked(self, ahead: bytes, is_at_end: bool, /) -> None:
        """All that has come, which stays in the socket. `is_at_end`: no more will come."""

    def connection_lost(self, exc: Exception | None, /) -> None:
        """The connection has ended, and nobody else has become its protocol."""
