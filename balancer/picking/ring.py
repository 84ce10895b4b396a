"""Hashes consistently: a key leads to the same name wherever the same names are known.

Implements only the ring (Karger 1997, as in libketama): when one of n names leaves or joins, about 1/n of the keys move
and no others. Has no state and no randomness, so every replica computes the same. Does not know what the names stand
for.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from functools import lru_cache
from hashlib import blake2b
from itertools import islice

# With 128 points a name's share of the keys differs from the others' by about 10 % (1/sqrt(128)).
_POINTS = 128
_POINT_BYTES = 8
_DIGEST_BYTES = 64
# The most endpoints that are tried for one key, as in ingress-nginx's chash.
WALK_MAX = 20


class Ring:
    """Names on a circle, each at many points."""

    __slots__ = ("_count", "_names", "_points")

    def __init__(self, names: tuple[str, ...]) -> None:
        points = sorted((point, name) for name in names for point in _points_of(name))
        self._points = [point for point, _ in points]
        self._names = [name for _, name in points]
        self._count = len(set(names))

    def at(self, key: bytes) -> str | None:
        """The name to which `key` leads; None without names."""
        return self._names[self._place(key)] if self._names else None

    def walk(self, key: bytes) -> Iterator[str]:
        """The name to which `key` leads, then the names that would replace it, in order; at most `WALK_MAX`."""
        return islice(self._distinct(key), WALK_MAX)

    def _distinct(self, key: bytes) -> Iterator[str]:
        seen = set[str]()
        place = self._place(key)
        while len(seen) < self._count:
            name = self._names[place]
            if name not in seen:
                seen.add(name)
                yield name
            place = (place + 1) % len(self._names)

    def _place(self, key: bytes) -> int:
        point = int.from_bytes(blake2b(key, digest_size=_POINT_BYTES).digest())
        return bisect_right(self._points, point) % max(len(self._points), 1)


@lru_cache(maxsize=64)  # routes that share a backend share its ring
def ring_of(names: tuple[str, ...]) -> Ring:
    """The ring of sorted names."""
    return Ring(names)


@lru_cache(maxsize=8192)  # a rolling update changes a few names at a time
def _points_of(name: str) -> tuple[int, ...]:
    digests = b"".join(
        blake2b(name.encode(), digest_size=_DIGEST_BYTES, salt=bytes((number,))).digest()
        for number in range(_POINTS * _POINT_BYTES // _DIGEST_BYTES)
    )
    return tuple(int.from_bytes(digests[at : at + _POINT_BYTES]) for at in range(0, len(digests), _POINT_BYTES))
