"""Says how often a request has passed through zonal, by a field that every endpoint gets (RFC 8586). No I/O.

A request that comes back again and again would open connections without end. Whoever writes the field has only its own
request refused.
"""

from __future__ import annotations

LOOP_FIELD = b"cdn-loop"
"""The name of the field in lower case."""

LOOP_FIELDS = frozenset((LOOP_FIELD, b"x-zonal-auth-depth", b"x-zonal-copy"))
"""All fields that end loops, those of auth services and mirrors too: no tenant removes one of them."""

MARK = b"zonal"
"""What each zonal adds to it."""

PASSES_MOST = 10
"""A request that has passed so often is refused. A chain of proxies on purpose is shorter."""


def passes_of(value: bytes) -> int:
    """How often a value of the field names zonal."""
    named = (element.partition(b";")[0].strip() for element in value.split(b","))
    return sum(name.lower() == MARK for name in named)
