"""Decides which expression of a host is tried first.

Within a namespace the order is that of ingress-nginx: the longest text, then the last in the order of bytes, then the
oldest. Between namespaces, what a younger one claims comes after all that an older one has and that begins like it, as
far as its own beginning goes. So nobody gets requests of an older claim by an expression that matches more than it
begins with.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from operator import itemgetter

from balancer.model.routes import PathKind
from ingress.translation.beginnings import beginning
from ingress.translation.ingress.hosts.settled import PlaceClaim


def in_order(claims: Iterable[PlaceClaim], authors: Collection[str]) -> tuple[PlaceClaim, ...]:
    """`claims`, which come by seniority, in the order in which they are tried.

    `authors` are the namespaces whose paths are expressions. The paths of others are literal: an exact one comes first,
    then the longest.
    """
    by_namespace: dict[str, list[PlaceClaim]] = {}
    for claim in claims:
        by_namespace.setdefault(claim.owner.namespace, []).append(claim)
    ordered: list[PlaceClaim] = []
    for namespace, own in by_namespace.items():
        own.sort(key=_rank if namespace in authors else _literal_rank, reverse=True)
        ordered = _merged(ordered, own, authors) if ordered else own
    return tuple(ordered)


def _merged(older: list[PlaceClaim], younger: list[PlaceClaim], authors: Collection[str]) -> list[PlaceClaim]:
    """Both in their own order as far as they can match the same path. Each younger one is as early as it may be."""
    last_below = _LastBelow([_beginning(each, authors) for each in older])
    own: dict[str, int] = {}  # the place of what came before and begins so
    placed: list[tuple[int, PlaceClaim]] = []
    for claim in younger:
        begins = _beginning(claim, authors)
        above = (own.get(begins[:length], 0) for length in range(len(begins) + 1))
        place = own[begins] = max(last_below.place(begins) + 1, *above)
        placed.append((place, claim))
    placed.sort(key=itemgetter(0))
    merged: list[PlaceClaim] = []
    taken = 0
    for place, claim in placed:
        merged += older[taken:place]
        merged.append(claim)
        taken = place
    return merged + older[taken:]


class _LastBelow:
    """Finds the last of some texts in their order that begins with a text."""

    __slots__ = ("_known", "_places", "_texts")

    def __init__(self, texts: Sequence[str]) -> None:
        ordered = sorted(zip(texts, range(len(texts)), strict=True))
        self._texts = [text for text, _ in ordered]
        self._places = [place for _, place in ordered]
        self._known: dict[str, int] = {}

    def place(self, begins: str) -> int:
        """Its place, -1 for none."""
        found = self._known.get(begins)
        if found is None:
            first = bisect_left(self._texts, begins)
            end = bisect_left(self._texts, begins + chr(sys.maxunicode), lo=first)
            found = self._known[begins] = max(self._places[first:end], default=-1)
        return found


def _beginning(claim: PlaceClaim, authors: Collection[str]) -> str:
    """The text with which every path begins that `claim` matches, in lower case and without a final slash."""
    begins = beginning(claim.path) if claim.owner.namespace in authors else claim.path.encode().lower().decode()
    return begins.rstrip("/")


def _rank(claim: PlaceClaim) -> tuple[int, bytes, bool]:
    """What is tried first has the highest rank. ingress-nginx has `/` of its own before any Ingress, as a Prefix."""
    text = claim.path.encode()
    return len(text), text, text == b"/" and claim.kind is PathKind.PREFIX


def _literal_rank(claim: PlaceClaim) -> tuple[int, bool, int]:
    is_exact = claim.kind is PathKind.EXACT
    return len(claim.path if is_exact else claim.path.rstrip("/")), is_exact, len(claim.path)
