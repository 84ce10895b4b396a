"""Reads a connection in pieces of bounded size, whatever the event loop would take at once.

A side that does not read holds back one piece in memory, so the size of a piece is the memory that a stalled
connection costs (uvloop takes 256 KiB at once). It must not know what the bytes mean.
"""

from __future__ import annotations

import asyncio

PIECE_BYTES = 128 * 1024
"""The most that is handed on at once."""

# One for all connections: a transport fills it and hands it over in the same turn, and what is kept is a copy.
_PIECE = memoryview(bytearray(PIECE_BYTES))


class ReadsPieces(asyncio.BufferedProtocol):
    """A protocol whose `data_received` gets at most `PIECE_BYTES` at once."""

    __slots__ = ()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport puts what it reads next (asyncio.BufferedProtocol)."""
        return _PIECE

    def buffer_updated(self, nbytes: int) -> None:
        """The transport has put `nbytes` there."""
        self.data_received(bytes(_PIECE[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Take what has come; for the protocol to say."""
        raise NotImplementedError
