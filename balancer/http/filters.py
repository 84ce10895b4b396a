"""Filters that code the body of one response, piece by piece: gzip and brotli. No I/O.

A filter holds no more than the window and the tables of its library: 256 KiB for gzip, and 1.7 MiB for brotli at its
highest level. So a response of any length costs the same memory.
"""

from __future__ import annotations

import zlib

import brotli

_GZIP_WINDOW = 16 + zlib.MAX_WBITS  # zlib: a gzip header and trailer around the deflated data
_MEMORY_LEVEL = 8
# 64 KiB. With the default window of 4 MiB the tables of the higher levels take 30 MiB for each response.
_BROTLI_WINDOW = 16
BROTLI_LEVEL_MOST = 9
"""The highest level that is used. Levels 10 and 11 hold up all other requests of a worker for far longer."""


class BodyFilter:
    """Codes one body.

    With `flushes` each piece can be read at once by the client: so it is where the endpoint does not say how long the
    body is, because such a body may be a stream of events.
    """

    __slots__ = ()

    def feed(self, data: bytes) -> bytes:
        """The coded bytes for a piece of the body; they may be empty."""
        raise NotImplementedError

    def end(self) -> bytes:
        """The coded bytes at the end of the body."""
        raise NotImplementedError


class GzipFilter(BodyFilter):
    """Codes a body with gzip (RFC 1952)."""

    __slots__ = ("_deflater", "_flushes")

    def __init__(self, level: int, *, flushes: bool) -> None:
        self._deflater = zlib.compressobj(level, zlib.DEFLATED, _GZIP_WINDOW, _MEMORY_LEVEL)
        self._flushes = flushes

    def feed(self, data: bytes) -> bytes:
        coded = self._deflater.compress(data)
        return coded + self._deflater.flush(zlib.Z_SYNC_FLUSH) if self._flushes and data else coded

    def end(self) -> bytes:
        return self._deflater.flush()


class BrotliFilter(BodyFilter):
    """Codes a body with brotli (RFC 7932)."""

    __slots__ = ("_compressor", "_flushes")

    def __init__(self, level: int, *, flushes: bool) -> None:
        self._compressor = brotli.Compressor(quality=min(level, BROTLI_LEVEL_MOST), lgwin=_BROTLI_WINDOW)
        self._flushes = flushes

    def feed(self, data: bytes) -> bytes:
        coded: bytes = self._compressor.process(data)
        return coded + self._compressor.flush() if self._flushes and data else coded

    def end(self) -> bytes:
        coded: bytes = self._compressor.finish()
        return coded
