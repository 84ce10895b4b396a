"""Decides who may stay connected to a port of the control process, and who leaves for somebody new.

A newcomer always gets in. The one who leaves belongs to the address with the most connections, so a crowd of one
address displaces only itself. No I/O, no clock.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

Member = TypeVar("Member", bound=Hashable)


class Crowd(Generic[Member]):
    """The connections of one port, by the address of the peer.

    All addresses together have at most `most` connections, and one address has at most half of them.
    """

    __slots__ = ("_address_of", "_by_address", "_most")

    def __init__(self, most: int) -> None:
        """`most` is at least 2."""
        self._most = most
        self._address_of: dict[Member, str] = {}  # the one that has been silent for longest comes first
        self._by_address: dict[str, dict[Member, None]] = {}  # likewise, for each address

    def __len__(self) -> int:
        return len(self._address_of)

    def held(self, address: str) -> int:
        """How many connections `address` has."""
        return len(self._by_address.get(address, ()))

    def enter(self, member: Member, address: str) -> Member | None:
        """Takes a connection in. Returns the one that has to leave for it, which has left the crowd already."""
        self._address_of[member] = address
        members = self._by_address.setdefault(address, {})
        members[member] = None
        if len(members) > self._most // 2:
            return self._expelled(address)
        return self.expel() if len(self._address_of) > self._most else None

    def active(self, member: Member) -> None:
        """A whole request of a connection has come. Whoever has not asked for longest leaves first."""
        address = self._address_of.pop(member, None)
        if address is not None:
            self._address_of[member] = address
            members = self._by_address[address]
            del members[member]
            members[member] = None

    def leave(self, member: Member) -> None:
        """A connection has ended. May be called for one that has left already."""
        address = self._address_of.pop(member, None)
        if address is None:
            return
        members = self._by_address[address]
        del members[member]
        if not members:
            del self._by_address[address]

    def expel(self) -> Member | None:
        """The connection that leaves first, which has left the crowd already. None: nobody is there."""
        if not self._address_of:
            return None
        most = max(map(len, self._by_address.values()))
        oldest = next(address for address in self._address_of.values() if self.held(address) == most)
        return self._expelled(oldest)

    def _expelled(self, address: str) -> Member:
        member = next(iter(self._by_address[address]))
        self.leave(member)
        return member
