"""Hands on what came in portions, one in a turn of the loop.

Frames may be tiny, so what came at once may be much work, and other connections wait meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

_BYTES_A_TURN = 32 * 1024


class Portions:
    """What came on one connection and is not handed on yet. Reading pauses until it is."""

    __slots__ = ("_hand_on", "_transport", "_waiting")

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._hand_on: Callable[[bytes], None] | None = None
        self._waiting = b""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, data: bytes, transport: asyncio.Transport, hand_on: Callable[[bytes], None]) -> None:
        """Calls `hand_on` with `data`, which came on `transport`, behind what came before."""
        if self._transport is not None:
            self._waiting += data
        elif len(data) > _BYTES_A_TURN:
            self._waiting = data
            self._transport = transport
            self._hand_on = hand_on
            self._take_one()
        else:
            hand_on(data)

    def clear(self) -> None:
        """Drops what waits."""
        self._waiting = b""

    def _take_one(self) -> None:
        transport, hand_on = self._transport, self._hand_on
        assert transport is not None
        assert hand_on is not None
        data = self._waiting[:_BYTES_A_TURN]
        self._waiting = self._waiting[_BYTES_A_TURN:]
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._take_one)
        else:
            self._transport = None
            self._hand_on = None
        if not transport.is_closing():
            if self._waiting:
                transport.pause_reading()
            else:
                transport.resume_reading()
        if data:
            hand_on(data)
