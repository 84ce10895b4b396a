"""Keeps the part of a request body that went to an endpoint, so that another endpoint can get it. No I/O."""

from __future__ import annotations

from collections.abc import Iterator

from balancer.errors import Sent
from balancer.http.messages import Trailers
from balancer.http.streams import RequestStream
from balancer.proxy.body_room import BodyRoom, Held

KEPT_BODY_BYTES = 64 * 1024
"""A longer body is not kept, so its request is not repeated once a part of the body was sent.

A client's connection may hold as many bytes of pipelined requests anyway, so a client can make a worker hold at most
twice as much. Bodies of API calls are rarely longer. Uploads are, and would cost too much.
"""
UNCOUNTED_BYTES = 4 * 1024
"""A body of up to this size is not counted: the request itself takes more."""


class KeptBody:
    """The received part of a request's body, without chunk framing.

    `is_whole` says that nothing was dropped, so another endpoint can get all of it. `trailers` is None until the end of
    the body has come.
    """

    __slots__ = ("_data", "_memory", "_room", "_tenant", "is_whole", "trailers")

    def __init__(self, room: BodyRoom | None = None, tenant: str = "") -> None:
        """What is kept counts for `tenant` in `room`. Without a room it does not count."""
        self._room = room
        self._tenant = tenant
        self._memory: Held | None = None  # with the first byte that counts
        # Not a list of pieces, because a body may come byte by byte and each object costs memory.
        self._data: bytes | bytearray = b""  # bytes as long as there is one piece, which need not be copied
        self.is_whole = True
        self.trailers: Trailers | None = None

    def pieces(self) -> Iterator[bytes]:
        """The received bytes from their beginning, none after `drop`. One iteration at a time."""
        if self._data:
            yield bytes(self._data)

    def add(self, data: bytes) -> None:
        """Keeps the next piece. Drops everything if the body exceeds `KEPT_BODY_BYTES`, or the share of its tenant."""
        if not self.is_whole:
            return
        size = len(self._data) + len(data)
        if size > UNCOUNTED_BYTES and (size > KEPT_BODY_BYTES or not self._may_hold(size)):
            self.drop()
        elif not self._data:
            self._data = data
        else:
            if isinstance(self._data, bytes):
                self._data = bytearray(self._data)
            self._data += data

    def end(self, trailers: Trailers) -> None:
        """The body has ended."""
        self.trailers = trailers

    def close(self) -> None:
        """No endpoint gets any more of the body."""

    def drop(self) -> None:
        """Drops the body, because the request will not be repeated."""
        self.is_whole = False
        self._data = b""
        self._memory = None

    def count(self, room: BodyRoom, tenant: str) -> None:
        """What is kept from now on counts for `tenant` in `room`."""
        self._room = room
        self._tenant = tenant

    def _may_hold(self, size: int) -> bool:
        """Whether the tenant may hold so many bytes of this body in memory. If so, they count."""
        if self._room is None:
            return True
        memory = self._memory
        if memory is None:
            memory = Held(self._room.memory, self._tenant)
            self._memory = memory
        return memory.take(size - memory.units)


def sent_of(stream: RequestStream, kept: KeptBody | None) -> Sent:
    """How much of a request an endpoint may have that was sent what came. With BODY no other one can get all of it."""
    if not stream.body_begun:
        return Sent.HEAD
    return Sent.KEPT_BODY if kept is not None and kept.is_whole else Sent.BODY
