"""Bounds what relays of a worker keep for peers that do not read, divided among the tenants. No I/O, no clock."""

from __future__ import annotations

from typing import Final

from balancer.runtime.shares import FairShares

PIECE_BYTES: Final = 128 * 1024
"""The most bytes that wait in one direction of a connection (`runtime.reading`)."""

UNREAD_BYTES: Final = 64 * 1024 * 1024
"""The most bytes that wait in whole pieces. Beyond it each connection keeps a few kilobytes in each direction."""


class UnreadRoom:
    """The bytes that wait to be read by their peers. A tenant is the namespace of a Service."""

    __slots__ = ("_shares",)

    def __init__(self, most: int = UNREAD_BYTES) -> None:
        self._shares = FairShares(most)

    def hold(self, tenant: str, size: int) -> int:
        """Notes that `size` bytes wait. Returns how many of them are to be freed later; few bytes count for nothing."""
        return size if self._shares.take(tenant, size) else 0

    def free(self, tenant: str, size: int) -> None:
        """Bytes that `hold` has noted were read."""
        if size:
            self._shares.give_back(tenant, size)

    def is_crowded(self, tenant: str) -> bool:
        """Whether another whole piece would be above the share of `tenant`."""
        return not self._shares.has_room(tenant, PIECE_BYTES)
