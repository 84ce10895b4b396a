"""Bounds what answers that their clients do not read hold in the memory of a worker, fairly, in every version of HTTP.

No I/O, no clock.
"""

from __future__ import annotations

from balancer.http.current import CurrentSettings
from balancer.matching.clients import peer_key


class Unreading:
    """A connection whose client, at the address `peer`, leaves answers unread."""

    __slots__ = ()

    peer: str

    def drop_unread(self) -> None:
        """Gives up the answers that wait for its client. May be called while the connection writes."""
        raise NotImplementedError


class _Client:
    """What waits for one client: on each connection, and `total` in all. Who has read last stands last."""

    __slots__ = ("key", "sizes", "total")

    def __init__(self, key: bytes) -> None:
        self.key = key
        self.sizes: dict[Unreading, int] = {}
        self.total = 0


class Unread:
    """The bytes that wait on every connection of a worker; `total` is their sum.

    `is_much`: so many wait that little should be read of each answer at once.
    """

    __slots__ = ("_by_key", "_clients", "_settings", "is_much", "total")

    def __init__(self, settings: CurrentSettings) -> None:
        """How many may wait in all is read anew each time."""
        self._settings = settings
        self._clients: dict[Unreading, _Client] = {}
        self._by_key: dict[bytes, _Client] = {}
        self.total = 0
        self.is_much = False

    def note(self, connection: Unreading, size: int) -> None:
        """`size` bytes wait on `connection` now.

        Beyond the bound, the client for whom most waits loses what waits on its connection that has read nothing for
        longest. So nobody whose answers take less than a fair share loses one.
        """
        client = self._clients.get(connection)
        if client is None:
            if not size:
                return
            client = self._enter(connection)
        sizes = client.sizes
        before = sizes.get(connection, 0)
        if size < before:
            del sizes[connection]
        if size:
            sizes[connection] = size
        client.total += size - before
        self.total += size - before
        if not size:
            self._forget(connection, client)
        most = self._settings.proxy.http2.unread_bytes
        while self.total > most:
            self._drop_most()
        self.is_much = self.total >= most // 2

    def _enter(self, connection: Unreading) -> _Client:
        key = peer_key(connection.peer)
        client = self._by_key.get(key)
        if client is None:
            client = self._by_key[key] = _Client(key)
        self._clients[connection] = client
        return client

    def _forget(self, connection: Unreading, client: _Client) -> None:
        del self._clients[connection]
        if not client.sizes:
            del self._by_key[client.key]

    def _drop_most(self) -> None:
        client = max(self._by_key.values(), key=_total)
        connection = next(iter(client.sizes))
        size = client.sizes.pop(connection)
        client.total -= size
        self.total -= size
        self._forget(connection, client)
        connection.drop_unread()


def _total(client: _Client) -> int:
    return client.total
