"""Keeps the contexts of handshakes with endpoints in room that tenants share, and makes long ones in a thread.

A tenant's Secret may hold hundreds of authorities. Each takes up to half a millisecond to read, and seven times its
size in memory. Whoever holds most of the room makes contexts anew.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from weakref import WeakValueDictionary

from balancer.model.handshakes import Handshake
from balancer.runtime.fair_cache import FairCache

Demands = Callable[[Handshake], Handshake]
"""What of a handshake concerns a context: handshakes for which this is equal share one."""

Make = Callable[[Handshake, bool], ssl.SSLContext]
"""Makes a context for HTTP/2 only, or for HTTP/1.1 only. Raises ssl.SSLError."""

CONTEXTS_BYTES: Final = 64 * 1024 * 1024
"""The room of all contexts for requests: those of 30 Secrets with as many authorities as a Secret may have."""

# By measurement: authorities take seven times their size as PEM, chains at most four times theirs, and those of the
# system some megabytes.
_OWN_BYTES, _AUTHORITY_COPIES, _CHAIN_COPIES, _SYSTEM_BYTES = 16 * 1024, 8, 4, 4 * 1024 * 1024
# What is shorter takes at most a millisecond or two: a few certificates.
_SHORT_BYTES: Final = 4 * 1024


class EndpointContexts:
    """Contexts by namespace and demands. One context of a namespace is made at a time, so namespaces take turns."""

    __slots__ = ("_contexts", "_demands", "_make", "_thread", "_turns")

    def __init__(self, demands: Demands, make: Make, most_bytes: int = CONTEXTS_BYTES) -> None:
        """All contexts together take about `most_bytes`. `make` is called in any thread."""
        self._demands = demands
        self._make = make
        self._contexts: FairCache[ssl.SSLContext] = FairCache(most_bytes)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._thread: ThreadPoolExecutor | None = None

    async def of(self, namespace: str, tls: Handshake, *, http2: bool = False) -> ssl.SSLContext:
        """The context for handshakes of `namespace` with these demands. Raises ssl.SSLError."""
        tls = self._demands(tls)
        key = tls, http2
        found = self._contexts.get(namespace, key)
        if found is not None:
            return found
        if _text_bytes(tls) <= _SHORT_BYTES:
            return self._kept(namespace, key, self._make(tls, http2))
        turn = self._turns.get(namespace)
        if turn is None:
            turn = asyncio.Lock()
            self._turns[namespace] = turn
        async with turn:
            found = self._contexts.get(namespace, key)  # somebody else may have made it
            if found is None:
                found = await asyncio.get_running_loop().run_in_executor(self._apart(), self._make, tls, http2)
                self._kept(namespace, key, found)
        return found

    def _kept(self, namespace: str, key: tuple[Handshake, bool], made: ssl.SSLContext) -> ssl.SSLContext:
        tls, _ = key
        self._contexts.put(namespace, key, made, _room(tls))
        return made

    def _apart(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="endpoints")
        return self._thread


def _text_bytes(tls: Handshake) -> int:
    """The size of what has to be read."""
    if tls.verify and tls.ca_pem is None:
        return _SYSTEM_BYTES
    return len(tls.ca_pem or b"") + len(tls.chain_pem or b"")


def _room(tls: Handshake) -> int:
    """The size of a context in memory, about."""
    if tls.verify and tls.ca_pem is None:
        return _SYSTEM_BYTES
    authority = len(tls.ca_pem or b"") if tls.verify else 0
    return _OWN_BYTES + _AUTHORITY_COPIES * authority + _CHAIN_COPIES * len(tls.chain_pem or b"")
