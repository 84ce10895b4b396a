"""Bounds what answers that their clients do not read hold in the memory of a worker. No I/O, no clock."""

from __future__ import annotations

from balancer.http.current import CurrentSettings


class Unreading:
    """A connection whose client leaves answers unread."""

    __slots__ = ()

    def drop_unread(self) -> None:
        """Resets the answers that wait for its client."""
        raise NotImplementedError


class Unread:
    """The bytes that wait on every connection of a worker; `total` is their sum.

    `is_much`: so many wait that little should be read of each answer at once.
    """

    __slots__ = ("_settings", "_sizes", "is_much", "total")

    def __init__(self, settings: CurrentSettings) -> None:
        """How many may wait in all is read anew each time."""
        self._settings = settings
        self._sizes: dict[Unreading, int] = {}  # who has read last stands last
        self.total = 0
        self.is_much = False

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
        most = self._settings.proxy.http2.unread_bytes
        while self.total > most:
            connection = next(iter(sizes))
            self.total -= sizes.pop(connection)
            connection.drop_unread()
        self.is_much = self.total >= most // 2
