"""Remembers by content what was read from the certificates and keys of Secrets, so that nothing is judged twice.

Holds only what the last translation used, so that a key leaves memory with its last reference. Does not know Secrets.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from typing import TypeVar, cast

from ingress.settings.table.tls_keys import KeyBounds
from ingress.translation.secrets.authorities import read_authority, read_revocation_lists
from ingress.translation.secrets.key_pairs import Pair, read_pair
from ingress.translation.secrets.material.bounds import UnusableMaterial

_Read = TypeVar("_Read", Pair, bytes)


class Materials:
    """What was read from texts by their content. Between two calls of `begin` the same is read only once."""

    __slots__ = ("_before", "_read", "bounds")

    def __init__(self, bounds: KeyBounds | None = None) -> None:
        self.bounds = bounds or KeyBounds()
        self._before: dict[bytes, Pair | bytes | UnusableMaterial] = {}
        self._read: dict[bytes, Pair | bytes | UnusableMaterial] = {}

    def begin(self, bounds: KeyBounds) -> None:
        """Begins a translation under `bounds`. What the last one did not use is forgotten."""
        if bounds != self.bounds:
            self.bounds = bounds
            self._read = {}
        self._before = self._read
        self._read = {}

    def pair(self, chain_pem: bytes | None, private_key_pem: bytes | None) -> Pair:
        """As `read_pair`."""
        place = _place(b"pair", chain_pem or b"", private_key_pem or b"")
        return self._find(place, lambda: read_pair(chain_pem, private_key_pem, self.bounds))

    def authority(self, ca_pem: bytes, *, is_announced: bool = False) -> bytes:
        """As `read_authority`."""
        place = _place(b"announced" if is_announced else b"trusted", ca_pem)
        return self._find(place, lambda: read_authority(ca_pem, self.bounds, is_announced=is_announced))

    def revocation_lists(self, crl_pem: bytes) -> bytes:
        """As `read_revocation_lists`."""
        return self._find(_place(b"lists", crl_pem), lambda: read_revocation_lists(crl_pem))

    def _find(self, place: bytes, read: Callable[[], _Read]) -> _Read:
        found = self._read.get(place, self._before.get(place))
        if found is None:
            try:
                found = read()
            except UnusableMaterial as problem:
                found = UnusableMaterial(str(problem))  # without a traceback, which would hold the texts
        self._read[place] = found
        if isinstance(found, UnusableMaterial):
            raise UnusableMaterial(str(found))
        return cast("_Read", found)


def _place(kind: bytes, *texts: bytes) -> bytes:
    digest = sha256(kind)
    for text in texts:
        digest.update(b"%d:" % len(text))
        digest.update(text)
    return digest.digest()
