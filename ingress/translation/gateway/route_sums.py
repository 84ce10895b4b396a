"""What all routes together say: how many a listener has, which Services they look for, and which of them need a look.

Thousands of routes are the same from one translation to the next, so nothing is added up again for a few that changed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from operator import attrgetter

import msgspec

from ingress.translation.gateway.remembered_hosts import changed_pairs
from ingress.translation.gateway.route_reading import ReadRoute

_LOOKED_FOR = attrgetter("looked_for")


class RouteSums(msgspec.Struct, frozen=True):
    """The sums of routes, which come by age.

    `attached` is how many accepted routes each listener has, by its key. `looked_for` are the Services that any route
    looks for. `noted` are the accepted routes about which there may be findings beside statuses, `annotated` those with
    annotations.
    """

    attached: Counter[str] = msgspec.field(default_factory=Counter)
    looked_for: frozenset[tuple[str, str]] = frozenset()
    noted: tuple[ReadRoute, ...] = ()
    annotated: tuple[ReadRoute, ...] = ()


def sums_of(routes: Sequence[ReadRoute]) -> RouteSums:
    """The sums, from scratch."""
    accepted = [each for each in routes if each.refused is None]
    counts = Counter(chain.from_iterable(each.facts.names for each in accepted))
    shared = {name for name, count in counts.items() if count > 1}  # most routes have names of their own
    return RouteSums(
        Counter(chain.from_iterable(each.facts.listeners for each in accepted)),
        frozenset().union(*map(_LOOKED_FOR, routes)),
        tuple(each for each in accepted if each.facts.names and _is_noted(each, shared)),
        tuple(each for each in routes if each.route.metadata.annotations),
    )


def _is_noted(read: ReadRoute, shared: set[tuple[str, str]]) -> bool:
    """Whether a route may hide another one or itself, or leads in circles. `shared` are names of several routes."""
    facts = read.facts
    return facts.has_matches or facts.redirects or not shared.isdisjoint(facts.names)


class RememberedSums:
    """The sums of the last translation, and of which routes they are."""

    __slots__ = ("_last", "_now")

    def __init__(self) -> None:
        self._last: tuple[Sequence[ReadRoute], RouteSums] = (), RouteSums()
        self._now: tuple[Sequence[ReadRoute], RouteSums] = (), RouteSums()

    def begin(self) -> None:
        """Begins a translation."""
        self._last = self._now
        self._now = (), RouteSums()

    def of(self, routes: Sequence[ReadRoute]) -> RouteSums:
        """The sums of `routes`, which come by age."""
        before, sums = self._last
        pairs = changed_pairs(before, routes)
        if pairs is None or any(_addend(was) != _addend(each) for was, each in pairs):
            sums = sums_of(routes)
        else:
            newer = {id(was): each for was, each in pairs}
            sums = msgspec.structs.replace(
                sums,
                noted=tuple([newer.get(id(each), each) for each in sums.noted]),
                annotated=tuple([newer.get(id(each), each) for each in sums.annotated]),
            )
        self._now = routes, sums
        return sums


def _addend(read: ReadRoute) -> tuple[object, ...]:
    """What a route adds to the sums."""
    facts = read.facts
    return (
        facts.names,
        facts.listeners,
        facts.has_matches,
        facts.redirects,
        read.refused is None,
        read.looked_for,
        bool(read.route.metadata.annotations),
    )
