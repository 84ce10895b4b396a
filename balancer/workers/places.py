"""The places that workers take, one after the other, each with listening sockets of its own.

It must not know processes, nor when one has none for so long that its sockets should rather be closed.
"""

from __future__ import annotations

import asyncio
from socket import socket

from balancer.workers.lifecycle import Slot
from balancer.workers.listeners import join, place_of


class Place:
    """One of the places that workers take, one after the other."""

    __slots__ = ("_at", "http", "https", "number", "slot", "tried")

    def __init__(self, number: int, *, http: socket, https: socket, slot: Slot) -> None:
        self.number = number
        self.http = http
        self.https = https
        self.slot = slot
        self.tried = asyncio.Event()  # a first start has come to its end, good or bad
        self._at = place_of(http), place_of(https)

    def close(self) -> None:
        """Take no more connections, and reset those that wait."""
        self.http.close()
        self.https.close()

    def reopen(self) -> None:
        """Have sockets again, which get connections when a worker accepts. Raises OSError."""
        if self.http.fileno() < 0:
            http, https = self._at
            self.http = join(http)
            try:
                self.https = join(https)
            except OSError:
                self.http.close()
                raise
