"""Adds up what the calls of one TLS handshake cost the event loop, and tells if that is too much. No I/O.

It must not know certificates, nor which host a client means.
"""

from __future__ import annotations

from collections.abc import Callable

DEAR_SECONDS = 0.02
"""CPU time of a handshake that is told. RSA 4096 takes 7 ms and is the largest that the control plane lets pass unless
the operator asks for more; to make a context and to verify a client's chain takes less. A loop that is held for 20 ms
delays every other request by as much, which is the least that people who look at percentiles notice."""

OnDear = Callable[[str | None], None]
"""Is called with the server name of a client whose handshake was dear."""


class HandshakeCost:
    """What one handshake has cost so far."""

    __slots__ = ("_on_dear", "_seconds")

    def __init__(self, on_dear: OnDear) -> None:
        self._on_dear = on_dear
        self._seconds = 0.0

    def add(self, seconds: float, server_name: str | None) -> None:
        """Adds the CPU time of one call. Tells once."""
        before = self._seconds
        self._seconds = before + seconds
        if before <= DEAR_SECONDS < self._seconds:
            self._on_dear(server_name)
