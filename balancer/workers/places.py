"""Keeps the places that workers take one after the other, each with listening sockets of its own.

Does not know processes, nor when a place has been empty for so long that its sockets should be closed.
"""

from __future__ import annotations

import asyncio
from socket import socket

from balancer.connections.listeners import join, place_of
from balancer.workers.lifecycle import Slot


class Place:
    """A place that workers take one after the other."""

    __slots__ = ("_at", "http", "https", "number", "slot", "tried")

    def __init__(self, number: int, *, http: socket, https: socket, slot: Slot) -> None:
        self.number = number
        self.http = http
        self.https = https
        self.slot = slot
        self.tried = asyncio.Event()  # a first start has succeeded or failed
        self._at = place_of(http), place_of(https)

    @property
    def is_open(self) -> bool:
        """Whether its sockets are open."""
        return self.http.fileno() >= 0

    def was_tried(self, _: object) -> None:
        """Lets whoever waits for the first start go on, also if the task that keeps the place has failed."""
        self.tried.set()

    def close(self) -> None:
        """Stops accepting connections and resets waiting ones."""
        self.http.close()
        self.https.close()

    def reopen(self) -> None:
        """Opens sockets again. They get connections when a worker accepts. Raises OSError."""
        if not self.is_open:
            http, https = self._at
            self.http = join(http)
            try:
                self.https = join(https)
            except OSError:
                self.http.close()
                raise
