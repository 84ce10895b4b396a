"""Finds the known name that a misspelled one may stand for.

Responsible for the suggestion in a finding about a name that is not known. It must not know what the names stand for.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection
from functools import lru_cache

# The longest name that is known has 40 characters; what is much longer is no slip, and comparing costs its square.
_LENGTH_MOST = 64
# One or two letters of a name of twelve may be wrong.
_LIKENESS = 0.82


def near(name: str, known: Collection[str]) -> str:
    """The one of `known` that is most like `name`, empty if none is much like it. Text of tenants may be given."""
    if not 3 <= len(name) <= _LENGTH_MOST:
        return ""
    return _near(name, known if isinstance(known, frozenset) else frozenset(known))


def suggestion(name: str, known: Collection[str]) -> str:
    """A question to append to a message, with the space before it; empty if no name is near."""
    found = near(name, known)
    return f' Did you mean "{found}"?' if found else ""


@lru_cache(maxsize=16_384)
def _near(name: str, known: frozenset[str]) -> str:
    # Sorted, so that the same one of two that are as near is taken in every process.
    return next(iter(difflib.get_close_matches(name.lower(), sorted(known), n=1, cutoff=_LIKENESS)), "")
