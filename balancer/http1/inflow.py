"""Decides when a client's connection is read: not while a consumer holds the client back, nor while bytes wait here."""

from __future__ import annotations

import asyncio

from balancer.http1.request_stream import Carrier


class Inflow(Carrier):
    """The transport of a connection, None before and after it has one, and whether it is read."""

    __slots__ = ("_held", "_put_off", "_reading_paused", "_transport")

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._held = False
        self._put_off = False
        self._reading_paused = False

    def put_off(self, is_put_off: bool) -> None:
        self._put_off = is_put_off
        self._read_or_not()

    def pause_reading(self) -> None:
        self._held = True
        self._read_or_not()

    def resume_reading(self) -> None:
        self._held = False
        self._read_or_not()

    def _read_or_not(self) -> None:
        """Tells the transport what has changed."""
        paused = self._held or self._put_off
        if paused == self._reading_paused or self._transport is None or self._transport.is_closing():
            return
        self._reading_paused = paused
        if paused:
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()
