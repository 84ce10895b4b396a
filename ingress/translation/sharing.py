"""Divides bounds of the control plane among namespaces, so that no namespace takes what is for the others.

Pure: what was held before is an argument. Does not know what is divided.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TypeVar

_Item = TypeVar("_Item")

Key = tuple[str, str]
"""Namespace and name of an object."""


def fair_shares(wanted: Mapping[str, int], total: int) -> dict[str, int]:
    """Divides `total` fairly: each name gets what it wants, but at most an equal part of what is left for it and the
    others.
    """
    shares, left = {}, total
    for number, name in enumerate(sorted(wanted, key=lambda name: (wanted[name], name))):
        shares[name] = min(wanted[name], left // (len(wanted) - number))
        left -= shares[name]
    return shares


def fairly_first(items: Iterable[_Item], most: int, namespace: Callable[[_Item], str]) -> list[_Item]:
    """At most `most` of the items, in their order: the first of each namespace, as many as its fair share."""
    known = tuple(items)
    room = fair_shares(Counter(map(namespace, known)), most)
    found = []
    for item in known:
        whose = namespace(item)
        if room[whose]:
            room[whose] -= 1
            found.append(item)
    return found


def fairly_held(asked: Iterable[tuple[str, Key]], *, before: Collection[Key], most: int) -> frozenset[Key]:
    """The objects that may be held. `asked` has pairs of a namespace and an object that it asks for, most senior first.

    Each namespace keeps what was held `before`, and gets the rest of its fair share of `most` by seniority; one object
    in any case. A share becomes smaller when others ask, but nothing is taken away for that. So all namespaces together
    may hold more than `most`: the k-th largest of them at most `most` / k, because the one of the k largest that grew
    last got no more than an equal part.
    """
    wishes: dict[str, dict[Key, None]] = {}
    for namespace, key in asked:
        wishes.setdefault(namespace, {})[key] = None
    shares = fair_shares({namespace: len(keys) for namespace, keys in wishes.items()}, most)
    held: set[Key] = set()
    for namespace, keys in wishes.items():
        kept = [key for key in keys if key in before]
        new = [key for key in keys if key not in before]
        held.update(kept, new[: max(0, max(1, shares[namespace]) - len(kept))])
    return frozenset(held)
