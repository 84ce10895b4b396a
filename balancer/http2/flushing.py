"""Writes what connections have queued, once in a turn of the loop for all of them.

Many streams of one connection have news in the same turn, and one system call takes it all. Does not know frames.
"""

from __future__ import annotations

import asyncio
import logging

from balancer.connections.unread import Unread

_LOG = logging.getLogger(__name__)

BYTES_A_WRITE = 32 * 1024
"""Bytes per write. OpenSSL encrypts a whole write, and keeps a buffer for it, before the socket can push back.

An answer of 64 KiB costs an eighth less in two such writes than in one: a write makes four copies of its bytes, and
each copy is still in the caches of the processor when the next is made of it. Writes of 24 KiB cost more again.
"""


class Flushed:
    """A connection that queues what it writes. `is_dirty` belongs to the `Flusher`."""

    __slots__ = ("is_dirty",)

    is_dirty: bool

    def flush(self) -> None:
        """Writes what is queued."""
        raise NotImplementedError

    def abort(self) -> None:
        """Cuts the connection at once."""
        raise NotImplementedError


class Flusher:
    """Flushes the connections of one event loop, at the end of the turn in which they got news.

    `unread` is what waits on all of them for want of readers.
    """

    __slots__ = ("_dirty", "_loop", "unread")

    def __init__(self, loop: asyncio.AbstractEventLoop, unread: Unread) -> None:
        self._loop = loop
        self.unread = unread
        self._dirty: list[Flushed] = []

    def add(self, connection: Flushed) -> None:
        """Something is queued for `connection`, which is not dirty yet: ask `is_dirty` first."""
        connection.is_dirty = True
        if not self._dirty:
            self._loop.call_soon(self._flush)
        self._dirty.append(connection)

    def _flush(self) -> None:
        dirty = self._dirty
        self._dirty = []
        for connection in dirty:
            connection.is_dirty = False
            try:
                connection.flush()
            except Exception:  # a mistake of ours costs one connection
                _LOG.exception("a connection could not be flushed")
                connection.abort()
