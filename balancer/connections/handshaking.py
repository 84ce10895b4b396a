"""Bounds the memory of TLS handshakes that clients have begun and not finished, for one worker. No I/O, no clock.

The answer to a ClientHello of 500 bytes holds a chain of certificates, which may have 64 KiB, several times. At the
bound a new client still gets its handshake: another one ends, the oldest of the client that holds most. So honest
clients who share an address with a hostile one have as long as that one needs to fill the bound.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

_HANDSHAKES_BYTES = 64 * 1024 * 1024
# By measurement on a worker: 58 KiB with a chain of 800 bytes, 216 KiB with one of 77 KiB as PEM whose flight the
# kernel took. What the kernel does not take is held once more.
_OWN_BYTES, _COPIES = 64 * 1024, 3


class UnfinishedHandshakes:
    """The handshakes under way, by client, and about how many bytes they hold. Any hashable object stands for one.

    `free` is what may still be held, and never negative between two calls.
    """

    __slots__ = ("_bytes", "_clients", "_held", "free")

    def __init__(self, most_bytes: int = _HANDSHAKES_BYTES) -> None:
        self.free = most_bytes
        self._held: dict[bytes, dict[Hashable, int]] = {}
        self._bytes: dict[bytes, int] = {}
        self._clients: dict[Hashable, bytes] = {}

    def begin(self, handshake: Hashable, client: bytes, chain_bytes: int) -> list[Any]:
        """Notes a handshake of a client (`peer_key`) that shows a chain of this size as PEM.

        Returns those that have to end for it. They count no more. The new one is among them only if no other client
        holds as much as its client.
        """
        size = _OWN_BYTES + _COPIES * chain_bytes
        held = self._held.get(client)
        if held is None:
            held = self._held[client] = {}
        held[handshake] = size
        self._clients[handshake] = client
        self._bytes[client] = self._bytes.get(client, 0) + size
        self.free -= size
        ended: list[Any] = []
        while self.free < 0:
            oldest = next(iter(self._held[max(self._bytes, key=self._bytes.__getitem__)]))
            self.over(oldest)
            ended.append(oldest)
        return ended

    def over(self, handshake: Hashable) -> None:
        """Forgets a handshake that has come to its end, if it still counts."""
        client = self._clients.pop(handshake, None)
        if client is None:
            return
        held = self._held[client]
        size = held.pop(handshake)
        self.free += size
        self._bytes[client] -= size
        if not held:
            del self._held[client], self._bytes[client]
