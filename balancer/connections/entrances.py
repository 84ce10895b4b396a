"""Bound sockets, and which entry point stands on each of them now.

A socket without an entry point is accepted from, too: a replica may learn of an entry point a little later than its
clients. Their connections wait for it, for a few seconds, and are then reset. Where an entry point has gone, they are
reset at once. Does not know what becomes of a connection that has an entry point.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final

from balancer.model.entry_points import EntryPoint, Protocol
from balancer.runtime import calls
from balancer.runtime.accepted import AcceptedSocket

_LOG = logging.getLogger(__name__)

WAIT_SECONDS: Final = 5.0
"""How long a connection waits for an entry point."""

PAUSE_SECONDS: Final = 0.5
"""Without descriptors: long enough for some to be freed, and half of what clients notice."""

# In one turn of the loop, so that a burst does not delay requests in flight. A handshake or a relay begins at once and
# costs some tenths of a millisecond, in some cases milliseconds; HTTP waits for the first bytes of a request.
_AT_ONCE: Final = 16
_DEAR_AT_ONCE: Final = 4
WAITING_MOST: Final = 256
"""Connections that wait in a worker, because each is a descriptor. Further ones wait in the backlogs of sockets."""

_HTTP: Final = Protocol.HTTP  # a member of an Enum is a slow look-up, for each connection
_EXHAUSTED = frozenset((errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM))
_RESET = struct.pack("ii", 1, 0)

Accepted = list[tuple[AcceptedSocket, str]]
"""Connections, each with the address of its peer."""

Take = Callable[[Accepted, EntryPoint], None]
"""Takes accepted connections of one entry point."""


class _Entrance:
    """One bound socket. `was_used`: an entry point stood on it, and has gone."""

    __slots__ = ("entry_point", "family", "listener", "was_used")

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.family = int(listener.family)
        self.entry_point: EntryPoint | None = None
        self.was_used = False


class _Waiting:
    """A connection that waits for an entry point until a time of the loop."""

    __slots__ = ("connection", "entrance", "peer", "until")

    def __init__(self, connection: AcceptedSocket, peer: str, entrance: _Entrance, until: float) -> None:
        self.connection = connection
        self.peer = peer
        self.entrance = entrance
        self.until = until


class Entrances:
    """The bound sockets of one worker."""

    __slots__ = (
        "_entrances",
        "_entry_points",
        "_loop",
        "_note",
        "_pause_seconds",
        "_room",
        "_take",
        "_timer",
        "_wait_seconds",
        "_waiting",
        "_waiting_most",
    )

    def __init__(
        self,
        *,
        take: Take,
        note: Callable[[str], None],
        pause_seconds: float = PAUSE_SECONDS,
        wait_seconds: float = WAIT_SECONDS,
        waiting_most: int = WAITING_MOST,
    ) -> None:
        """`take` gets connections. `note` counts, by kind, what went wrong.

        Without descriptors nothing is accepted for `pause_seconds`.
        """
        self._loop = asyncio.get_running_loop()
        self._take = take
        self._note = note
        self._pause_seconds = pause_seconds
        self._wait_seconds = wait_seconds
        self._waiting_most = waiting_most
        self._entrances: dict[str, _Entrance] = {}
        self._entry_points: dict[str, EntryPoint] = {}
        self._waiting: deque[_Waiting] = deque()
        self._room = calls.room_for_peer()
        self._timer: asyncio.TimerHandle | None = None

    @property
    def waiting(self) -> Collection[object]:
        """The connections that wait for an entry point."""
        return self._waiting

    def open(self, sockets: Mapping[str, socket.socket]) -> None:
        """Accepts from listening, non-blocking sockets, by name. `close` closes them."""
        for name, listener in sockets.items():
            entrance = self._entrances[name] = _Entrance(listener)
            entrance.entry_point = self._entry_points.get(name)
            self._resume(entrance)

    def use(self, entry_points: Iterable[EntryPoint]) -> tuple[EntryPoint, ...]:
        """Lets these entry points stand on their sockets, and no others. Returns those that are gone.

        Connections that wait for one of them are taken.
        """
        before = self._entry_points
        self._entry_points = {each.socket: each for each in entry_points}
        for name, entrance in self._entrances.items():
            entry_point = self._entry_points.get(name)
            entrance.was_used = entry_point is None and (entrance.was_used or entrance.entry_point is not None)
            entrance.entry_point = entry_point
        self._take_waiting()
        keys = {each.key for each in self._entry_points.values()}
        return tuple(each for each in before.values() if each.key not in keys)

    def close(self) -> None:
        """Stops accepting. Connections that wait are reset."""
        for entrance in self._entrances.values():
            self._loop.remove_reader(entrance.listener)
            entrance.listener.close()
        self._entrances.clear()
        while self._waiting:
            reset(self._waiting.popleft().connection)
        self._rearm()

    def _resume(self, entrance: _Entrance) -> None:
        if entrance in self._entrances.values():
            self._loop.add_reader(entrance.listener, self._accept, entrance)

    def _accept(self, entrance: _Entrance) -> None:
        entry_point = entrance.entry_point
        if entry_point is not None:
            self._take(self._accepted(entrance), entry_point)
        elif entrance.was_used:
            for connection, _ in self._accepted(entrance):
                reset(connection)
        elif len(self._waiting) < self._waiting_most:
            self._let_wait(entrance)
        else:
            self._loop.remove_reader(entrance.listener)  # until one that waits has gone

    def _accepted(self, entrance: _Entrance) -> Accepted:
        """Some of the connections that have come. To ask for one too many would cost as much as to accept it."""
        accepted: Accepted = []
        listener, room, family = entrance.listener, self._room, entrance.family
        for _ in range(min(_most_at_once(entrance.entry_point), calls.waiting(listener))):
            descriptor = calls.accept(listener, room)
            if descriptor < 0:  # nobody waits, or the waiting client has left
                if -descriptor in _EXHAUSTED:
                    self._pause(entrance, -descriptor)
                break
            accepted.append((AcceptedSocket(descriptor, family), calls.peer_of(room)))
        return accepted

    def _pause(self, entrance: _Entrance, number: int) -> None:
        """Stops watching the socket for a while. Otherwise the loop would be busy with connections that it cannot
        accept.
        """
        self._note("descriptors_exhausted")
        _LOG.warning("accepting pauses for %g s: %s", self._pause_seconds, os.strerror(number))
        self._loop.remove_reader(entrance.listener)
        self._loop.call_later(self._pause_seconds, self._resume, entrance)

    def _let_wait(self, entrance: _Entrance) -> None:
        until = self._loop.time() + self._wait_seconds
        for connection, peer in self._accepted(entrance):
            self._waiting.append(_Waiting(connection, peer, entrance, until))
        self._rearm()

    def _take_waiting(self) -> None:
        """Gives some of the connections that wait to the entry points that have come, and the others soon after."""
        left, taken, is_done = deque[_Waiting](), 0, True
        for each in self._waiting:
            entry_point = each.entrance.entry_point
            if entry_point is not None and taken < _most_at_once(entry_point):
                taken += 1
                self._take([(each.connection, each.peer)], entry_point)
            else:
                left.append(each)
                is_done = is_done and entry_point is None
        self._settle(left)
        if not is_done:
            self._loop.call_soon(self._take_waiting)

    def _expire(self) -> None:
        """Resets the connections that have waited for long enough."""
        self._timer = None
        now, left = self._loop.time(), deque[_Waiting]()
        for each in self._waiting:
            if each.until > now:
                left.append(each)
            else:
                reset(each.connection)
        self._settle(left)

    def _settle(self, left: deque[_Waiting]) -> None:
        was_full = len(self._waiting) >= self._waiting_most
        self._waiting = left
        if was_full and len(left) < self._waiting_most:
            for entrance in self._entrances.values():
                self._resume(entrance)
        self._rearm()

    def _rearm(self) -> None:
        if self._timer is not None and not self._waiting:
            self._timer.cancel()
            self._timer = None
        elif self._timer is None and self._waiting:
            self._timer = self._loop.call_at(self._waiting[0].until, self._expire)


def _most_at_once(entry_point: EntryPoint | None) -> int:
    """How many connections of an entry point are taken in one turn."""
    return _AT_ONCE if entry_point is None or entry_point.protocol is _HTTP else _DEAR_AT_ONCE


def reset(connection: AcceptedSocket) -> None:
    """Closes a connection with RST, so that its client does not take it for served."""
    connection.whole().setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    connection.close()
