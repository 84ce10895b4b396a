"""Bounds how many hostnames all routes together have on listeners, and divides that among namespaces.

Counts before a name is kept: each takes memory of the control process for each listener, also of a route that would be
refused later. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

from ingress.objects.gateway_routes import GatewayRoute
from ingress.translation.claims import created_epoch_seconds
from ingress.translation.sharing import fair_shares

NAMES_TOGETHER_MOST: Final = 500_000
"""The most hostnames that all routes have on all listeners together: about 100 MiB of the control process."""


def crowded_out(routes: Sequence[GatewayRoute], wanted: Sequence[int], most: int) -> frozenset[int]:
    """The places in `routes` of those for whose hostnames their namespace has no room. `wanted` are their counts.

    The older routes of a namespace come first; a smaller and younger one may fit. A namespace that wants no more than
    an equal part of `most` gets all of it.
    """
    by_namespace: Counter[str] = Counter()
    for route, count in zip(routes, wanted, strict=True):
        by_namespace[route.metadata.namespace] += count
    left, found = fair_shares(by_namespace, most), set[int]()
    for place in sorted(range(len(routes)), key=lambda each: seniority_of(routes[each])):
        namespace, count = routes[place].metadata.namespace, wanted[place]
        if count <= left[namespace]:
            left[namespace] -= count
        else:
            found.add(place)
    return frozenset(found)


def seniority_of(route: GatewayRoute) -> tuple[float, str, str]:
    """What sorts routes by age, as `RouteFacts.seniority`."""
    metadata = route.metadata
    return created_epoch_seconds(metadata), f"{metadata.namespace}/{metadata.name}", route.kind.value
