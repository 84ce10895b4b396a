"""Remembers the answers of auth services for a time. No I/O; time is an argument.

Source: nginx proxy_cache as ingress-nginx v1.15.1 uses it for `auth-cache-key`. The service may shorten or forbid the
time by Cache-Control, and an answer that sets a cookie is never kept. Bytes are bounded and divided among tenants. Keys
are digests, and so are the fields by which an answer varies, so no credentials stay in memory.
"""

from __future__ import annotations

import re
from hashlib import blake2b
from typing import NamedTuple

from balancer.http.messages import RequestHead
from balancer.matching.gates.external_auth.answers import AuthAnswer
from balancer.runtime.fair_cache import FairCache

_BYTES_MOST = 8 * 1024 * 1024
_ENTRY_BYTES = 1024  # what an entry needs beside the texts of its answer
_VARIED_BYTES = 192  # what a field needs by which it varies
_MAX_AGE = re.compile(rb"(s-maxage|max-age)=\"?([0-9]{1,9})\"?")
_FORBIDDING = frozenset((b"no-store", b"no-cache", b"private"))


class _Remembered(NamedTuple):
    answer: AuthAnswer
    until: float
    varied: tuple[tuple[bytes, bytes], ...]


class AuthCache:
    """The remembered answers of one worker, for each tenant the least recently used first."""

    __slots__ = ("_entries",)

    def __init__(self, *, bytes_most: int = _BYTES_MOST) -> None:
        self._entries: FairCache[_Remembered] = FairCache(bytes_most)

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, tenant: str, key: bytes, request: RequestHead, now: float) -> AuthAnswer | None:
        """The answer of `tenant` under `key` that still holds at `now`, unless it varies by a field that `request`
        states otherwise.
        """
        entry = self._entries.get(tenant, key)
        if entry is None:
            return None
        if now >= entry.until:
            self._entries.drop(tenant, key)
            return None
        if any(_digest(request, name) != digest for name, digest in entry.varied):
            return None
        return entry.answer

    def put(self, tenant: str, key: bytes, answer: AuthAnswer, request: RequestHead, *, until: float) -> None:
        """Keeps the answer about `request` until then, in place of another under `key`."""
        varied = tuple((name, _digest(request, name)) for name in _varies_by(answer))
        size = _ENTRY_BYTES + len(answer.body) + sum(len(name) + len(value) for name, value in answer.fields)
        size += _VARIED_BYTES * len(varied)
        self._entries.put(tenant, key, _Remembered(answer, until, varied), size)


def cache_key(*parts: bytes) -> bytes:
    """One key for texts, which no other texts have."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()


def lifetime(answer: AuthAnswer, seconds: tuple[tuple[int, float], ...]) -> float:
    """For how many seconds an answer is kept, 0 for not at all; `seconds` as in `ExternalAuth.cache_seconds`."""
    configured = next((each for status, each in seconds if status == answer.status), 0.0)
    if not configured or any(name == b"set-cookie" for name, _ in answer.fields) or b"*" in _varies_by(answer):
        return 0.0
    stated: dict[bytes, float] = {}
    for directive in _members(answer, b"cache-control"):
        if directive.partition(b"=")[0] in _FORBIDDING:
            return 0.0
        if match := _MAX_AGE.fullmatch(directive):
            stated.setdefault(match[1], float(match[2]))
    return stated.get(b"s-maxage", stated.get(b"max-age", configured))


def _varies_by(answer: AuthAnswer) -> list[bytes]:
    return _members(answer, b"vary")


def _members(answer: AuthAnswer, name: bytes) -> list[bytes]:
    """The members of a list field, in lower case (RFC 9110 5.6.1)."""
    values = b",".join(value for each, value in answer.fields if each == name)
    return [member.strip() for member in values.lower().split(b",") if member.strip()]


def _digest(request: RequestHead, name: bytes) -> bytes:
    """What stands for the values of a field: as a key, and without them."""
    return cache_key(*(value for each, value in request.fields if each == name))
