"""Bounds what answers that their clients do not read hold in the memory of a worker. No I/O, no clock."""

from __future__ import annotations

UNREAD_BYTES_MAX = 256 * 1024 * 1024
"""Room for the slow readers of five thousand answers."""


class Unreading:
    """A connection whose client leaves answers unread."""

    __slots__ = ()

    def drop_unread(self) -> None:
        """Resets the answers that wait for its client."""
        raise NotImplementedError


class Unread:
    """The bytes that wait on every connection of a worker; `total` is their sum."""

    __slots__ = ("_most", "_sizes", "total")

    def __init__(self, most: int = UNREAD_BYTES_MAX) -> None:
        """`most` may wait in all."""
        self._most = most
        self._sizes: dict[Unreading, int] = {}  # who has read last stands last
        self.total = 0

    @property
    def is_much(self) -> bool:
        """Whether so many bytes wait that little should be read of each answer at once."""
        return self.total >= self._most // 2

    def note(self, connection: Unreading, size: int) -> None:
        """`size` bytes wait on `connection` now.

        Beyond the bound, what waits on the connections whose clients have read nothing for longest is dropped.
        """
        sizes = self._sizes
        before = sizes.get(connection, 0)
        if size < before:
            del sizes[connection]
        if size:
            sizes[connection] = size
        self.total += size - before
        while self.total > self._most:
            connection = next(iter(sizes))
            self.total -= sizes.pop(connection)
            connection.drop_unread()
