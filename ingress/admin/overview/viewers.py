"""Hands events to everybody who looks at the page, in bounded memory.

A viewer that does not take its events is cut off; its browser comes back for the whole state. Does not know what an
event says.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_VIEWERS_MOST = 32
_WAITING_MOST = 8  # seconds of events


class TooManyViewers(Exception):
    """As many pages are open as may be."""


class Viewer:
    """One open page. As a context manager it leaves at the end."""

    __slots__ = ("_cut_off", "_events", "_viewers")

    def __init__(self, viewers: Viewers, cut_off: Callable[[], None]) -> None:
        """`cut_off` ends its connection at once."""
        self._viewers = viewers
        self._events: asyncio.Queue[bytes | None] = asyncio.Queue(_WAITING_MOST)
        self._cut_off = cut_off

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self._viewers.leave(self)

    async def next(self) -> bytes | None:
        """The next event as it goes on the wire; None at the end."""
        return await self._events.get()

    def tell(self, event: bytes) -> bool:
        """Takes one more event. Returns False, and cuts the connection, if too many wait."""
        try:
            self._events.put_nowait(event)
        except asyncio.QueueFull:
            self._cut_off()
            return False
        return True

    def end(self) -> None:
        """Nothing more will come."""
        while not self._events.empty():
            self._events.get_nowait()
        self._events.put_nowait(None)


class Viewers:
    """Everybody who looks. `arrived` is set when somebody has come."""

    __slots__ = ("_all", "_ended", "arrived")

    def __init__(self) -> None:
        self._all: set[Viewer] = set()
        self._ended = False
        self.arrived = asyncio.Event()

    def __len__(self) -> int:
        return len(self._all)

    def join(self, cut_off: Callable[[], None]) -> Viewer:
        """A new viewer. Raises `TooManyViewers`."""
        if self._ended or len(self._all) >= _VIEWERS_MOST:
            raise TooManyViewers
        viewer = Viewer(self, cut_off)
        self._all.add(viewer)
        self.arrived.set()
        return viewer

    def leave(self, viewer: Viewer) -> None:
        """The viewer has gone. May be called twice."""
        self._all.discard(viewer)
        if not self._all:
            self.arrived.clear()

    def tell(self, event: bytes) -> None:
        """Gives one event to everybody."""
        for viewer in tuple(self._all):
            if not viewer.tell(event):
                self.leave(viewer)

    def end(self) -> None:
        """Ends all viewers; nobody may join any more."""
        self._ended = True
        for viewer in tuple(self._all):
            viewer.end()
