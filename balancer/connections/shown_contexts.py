"""Keeps the contexts of handshakes that show a certificate, in bounded room that namespaces share. No I/O.

A tenant may have thousands of Secrets with the longest chains that are allowed, and a client may ask for all of them.
"""

from __future__ import annotations

import ssl
from collections.abc import Collection
from typing import Final

from balancer.model.certificates import Certificate
from balancer.runtime.fair_cache import FairCache, FairPart

ContextOf = tuple[Certificate, str]
"""What makes a context: the certificate, and the OpenSSL list of ciphers."""

# A context takes 16 KiB, and its chain at most four times its size as PEM (`asking_contexts.py`). So 256 MiB are about
# 8,000 ordinary contexts. One that had to go is made again in half a millisecond.
_BYTES_MOST: Final = 256 * 1024 * 1024
_OWN_BYTES, _CHAIN_COPIES = 16 * 1024, 4


ShownRoom = FairCache[ssl.SSLContext]
"""The room of all contexts of a worker that show a certificate."""


def shown_room(most_bytes: int = _BYTES_MOST) -> ShownRoom:
    """Room for contexts of `most_bytes`, by an estimate of their size."""
    return FairCache(most_bytes)


class ShownContexts:
    """Contexts of one set of listeners. The namespace whose Secrets hold most of the whole room gives way."""

    __slots__ = ("_contexts", "_known")

    def __init__(self, room: ShownRoom) -> None:
        self._contexts = FairPart(room)
        self._known: set[ContextOf] = set()

    def clear(self) -> None:
        """Forgets every context."""
        self._contexts.clear()
        self._known.clear()

    def get(self, key: ContextOf) -> ssl.SSLContext | None:
        """The context of `key`, if it is kept."""
        return self._contexts.get(_tenant(key), key)

    def put(self, key: ContextOf, context: ssl.SSLContext) -> None:
        """Keeps a context for as long as there is room."""
        self._known.add(key)
        self._contexts.put(_tenant(key), key, context, _OWN_BYTES + _CHAIN_COPIES * len(key[0].chain_pem))

    def keep(self, certificates: Collection[Certificate], lists: Collection[str]) -> None:
        """Only these certificates and lists of ciphers are in use from now on."""
        for key in [key for key in self._known if key[0] not in certificates or key[1] not in lists]:
            self._known.remove(key)
            self._contexts.drop(key)


def _tenant(key: ContextOf) -> str:
    """The namespace of the Secret with the certificate; empty for that of the worker itself."""
    return key[0].key.partition("/")[0]
