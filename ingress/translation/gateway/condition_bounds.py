"""Bounds what all routes together may compile, and divides that among namespaces.

Beyond the share of their namespace the youngest routes are not accepted. 16 rules with 64 matches for 32 hostnames on
64 listeners are legal, so a few routes could take all memory of every worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from operator import attrgetter
from typing import Final

import msgspec

from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.standings import Problem
from ingress.translation.sharing import fair_shares

CONDITIONS_MOST: Final = 1_000_000
"""The most conditions of all routes: paths, methods, fields and query parameters, for each name of a listener."""

_CONDITIONS = attrgetter("facts.conditions")


def bounded(routes: Iterable[ReadRoute], most: int = CONDITIONS_MOST) -> tuple[ReadRoute, ...]:
    """The routes, which come by age. Those for which their namespace has no room are refused; a smaller and younger one
    may fit. A namespace that wants no more than an equal part gets all of it.
    """
    known = tuple(routes)
    if sum(map(_CONDITIONS, known)) <= most:
        return known
    wanted: Counter[str] = Counter()
    for each in known:
        wanted[each.route.metadata.namespace] += each.facts.conditions
    left, found = fair_shares(wanted, most), []
    for each in known:
        namespace, count = each.route.metadata.namespace, each.facts.conditions
        if count <= left[namespace]:
            left[namespace] -= count
            found.append(each)
            continue
        said = (
            f"The route has {count} conditions, and older routes of {namespace} leave {left[namespace]} of its share of"
            f" {most}: give it fewer matches or hostnames."
        )
        found.append(msgspec.structs.replace(each, oversized=Problem("UnsupportedValue", said)))
    return tuple(found)
