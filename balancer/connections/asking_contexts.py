"""Keeps the contexts of handshakes that ask clients for certificates, and what they trust.

An authority is read once, in a thread, while the handshakes that need it wait. Tenants share the room for contexts: at
the bound, whoever holds most of it makes contexts anew. Only workers with such hosts import OpenSSL's other binding.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Literal, TypeAlias

from balancer.model.certificates import Authority, Certificate
from balancer.model.settings import ListenerTls
from balancer.runtime.fair_cache import FairCache, FairPart

if TYPE_CHECKING:
    from balancer.connections.asking_tls import SharedContext
    from balancer.connections.trust import Trust

Terms = tuple[str, str, int, bool, str]
"""What a host asks of handshakes: its ciphers, the digest of what is trusted, how many intermediate certificates are
allowed, whether handshakes fail without one that verifies, and the oldest version of TLS, empty for that of the
settings.
"""
ContextKey = tuple[Certificate, Terms]
"""What makes a context."""

_LOG = logging.getLogger(__name__)
# By measurement: a context takes 16 KiB, its chain at most four times its size as PEM, and names of authorities ten
# times theirs. So 64 MiB are about 3,000 ordinary contexts. One that had to go is made again in 0.4 to 4 ms.
_CONTEXTS_BYTES, _OWN_BYTES, _CHAIN_COPIES, _NAME_COPIES = 64 * 1024 * 1024, 16 * 1024, 4, 10


AskingRoom: TypeAlias = "FairCache[SharedContext | Literal[False]]"
"""The room of all contexts of a worker that ask for a certificate."""


def asking_room(most_bytes: int = _CONTEXTS_BYTES) -> AskingRoom:
    """Room for contexts of `most_bytes`, by an estimate of their size."""
    return FairCache(most_bytes)


class AskingContexts:
    """Contexts by what makes them, and authorities by the digest in demands."""

    __slots__ = ("_authorities", "_contexts", "_known", "_reading", "_thread", "_trusts")

    def __init__(self, room: AskingRoom) -> None:
        self._contexts = FairPart(room)
        self._known: set[ContextKey] = set()
        self._authorities: dict[str, Authority] = {}
        self._trusts: dict[str, Trust | None] = {}  # None: cannot be read
        self._reading: dict[str, asyncio.Future[Trust | None]] = {}
        self._thread: ThreadPoolExecutor | None = None

    def clear(self) -> None:
        """Forgets every context, but not what they trust."""
        self._contexts.clear()
        self._known.clear()

    def keep(
        self, certificates: Collection[Certificate], terms: Collection[Terms], authorities: dict[str, Authority]
    ) -> None:
        """Only these certificates, terms and authorities (by digest) are in use from now on."""
        self._authorities = authorities
        for digest in self._trusts.keys() - authorities.keys():
            trust = self._trusts.pop(digest)
            if trust is not None:
                trust.retire(self._apart().submit)
        for key in [key for key in self._known if key[0] not in certificates or key[1] not in terms]:
            self._known.remove(key)
            self._contexts.drop(key)

    def is_ready(self, digest: str) -> bool:
        """Whether the authority with this digest need not be read: it was, or the model does not hold it."""
        return digest in self._trusts or digest not in self._authorities

    async def read(self, digest: str) -> None:
        """Reads the authority with this digest in a thread, unless somebody does already."""
        under_way = self._reading.get(digest)
        if under_way is None:
            loop = asyncio.get_running_loop()
            under_way = loop.run_in_executor(self._apart(), _read, self._authorities[digest])
            self._reading[digest] = under_way
            under_way.add_done_callback(partial(self._has_read, digest))
        await asyncio.wait((under_way,))  # which does not cancel what others wait for, too

    def _has_read(self, digest: str, under_way: asyncio.Future[Trust | None]) -> None:
        del self._reading[digest]
        if digest in self._authorities:
            self._trusts[digest] = None if under_way.cancelled() else under_way.result()

    def _apart(self) -> ThreadPoolExecutor:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="authorities")
        return self._thread

    def context(
        self, key: ContextKey, fallback: Certificate, tls: ListenerTls, protocols: list[str]
    ) -> SharedContext | None:
        """The context of `key`, with the certificate `fallback` if that of the key cannot be used; None: there is none.

        If the authority is not read yet, this reads it.
        """
        found = self._contexts.get(_tenant(key), key)
        if found is None:
            digest = key[1][1]
            if digest not in self._trusts and digest in self._authorities:
                self._trusts[digest] = _read(self._authorities[digest])
            trust = self._trusts.get(digest)
            if trust is None:
                return None
            found = _made(key, trust, fallback, tls, protocols)
            self._known.add(key)
            self._contexts.put(_tenant(key), key, found, _size(key, trust))
        return found or None


def _read(authority: Authority) -> Trust | None:
    from balancer.connections.trust import Trust

    try:
        return Trust.read(authority)
    except ssl.SSLError as error:
        _LOG.warning("no handshake can ask for a certificate: %s", error.args[0])
        return None


def _made(
    key: ContextKey, trust: Trust, fallback: Certificate, tls: ListenerTls, protocols: list[str]
) -> SharedContext | Literal[False]:
    from balancer.connections.asking_tls import SharedContext

    certificate, (ciphers, _, depth, refuses, oldest) = key
    for each in (certificate, fallback):
        try:
            return SharedContext(each, trust, depth, tls.at_least(oldest), ciphers, protocols, refuses=refuses)
        except ssl.SSLError as error:
            _LOG.warning("no handshake with certificate %s can ask for another: %s", each.key, error.args[0])
    return False


def _size(key: ContextKey, trust: Trust) -> int:
    return _OWN_BYTES + _CHAIN_COPIES * len(key[0].chain_pem) + _NAME_COPIES * trust.names_bytes


def _tenant(key: ContextKey) -> str:
    """The namespace of the Secret with the certificate; empty for that of the worker itself."""
    return key[0].key.partition("/")[0]
