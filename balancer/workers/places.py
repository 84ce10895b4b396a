"""Keeps the places that workers take one after the other, each with listening sockets of its own.

Does not know processes, nor when a place has been empty for so long that its sockets should be closed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from socket import socket

from balancer.connections.listeners import join, place_of
from balancer.workers.lifecycle import Slot


class Place:
    """A place that workers take one after the other."""

    __slots__ = ("_at", "number", "slot", "sockets", "tried")

    def __init__(self, number: int, sockets: Mapping[str, socket], slot: Slot) -> None:
        """`sockets` are by name."""
        self.number = number
        self.sockets = dict(sockets)
        self.slot = slot
        self.tried = asyncio.Event()  # a first start has succeeded or failed
        self._at = {name: place_of(listener) for name, listener in sockets.items()}

    @property
    def is_open(self) -> bool:
        """Whether its sockets are open."""
        return all(listener.fileno() >= 0 for listener in self.sockets.values())

    def was_tried(self, _: object) -> None:
        """Sets `tried`: a callback for a failure or the end of the task that keeps the place."""
        self.tried.set()

    def close(self) -> None:
        """Stops accepting connections and resets waiting ones."""
        for listener in self.sockets.values():
            listener.close()

    def reopen(self) -> None:
        """Opens sockets again. They get connections when a worker accepts. Raises OSError."""
        if self.is_open:
            return
        try:
            for name, at in self._at.items():
                self.sockets[name] = join(at)
        except OSError:
            self.close()
            raise
