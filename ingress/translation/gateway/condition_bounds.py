"""Bounds what all routes together may compile, and divides that among namespaces.

Beyond the share of their namespace the youngest routes are not accepted. 16 rules with 64 matches for 32 hostnames on
64 listeners are legal, so a few routes could take all memory of every worker.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

import msgspec

from ingress.objects.gateway_routes import GrpcMatch, GrpcRoute, HttpMatch, HttpRoute
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.standings import Problem
from ingress.translation.sharing import fair_shares

CONDITIONS_MOST: Final = 1_000_000
"""The most conditions of all routes: paths, methods, fields and query parameters, for each name of a listener."""


def bounded(routes: Iterable[ReadRoute], most: int = CONDITIONS_MOST) -> tuple[ReadRoute, ...]:
    """The routes, which come by age. Those for which their namespace has no room are refused; a smaller and younger one
    may fit. A namespace that wants no more than an equal part gets all of it.
    """
    known = [(each, conditions_of(each)) for each in routes]
    wanted: Counter[str] = Counter()
    for each, count in known:
        wanted[each.route.metadata.namespace] += count
    left, found = fair_shares(wanted, most), []
    for each, count in known:
        namespace = each.route.metadata.namespace
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


def conditions_of(read: ReadRoute) -> int:
    """How many conditions a route adds to the model."""
    route = read.route
    if isinstance(route, HttpRoute):
        alone = sum(_http(match) for rule in route.spec.rules for match in rule.matches or (HttpMatch(),))
    elif isinstance(route, GrpcRoute):
        alone = sum(_grpc(match) for rule in route.spec.rules for match in rule.matches or (GrpcMatch(),))
    else:
        alone = len(route.spec.rules)
    return alone * sum(len(attached.hostnames) for parent in read.parents for attached in parent.attached)


def _http(match: HttpMatch) -> int:
    return 1 + bool(match.method) + len(match.headers) + len(match.query_params)


def _grpc(match: GrpcMatch) -> int:
    return 2 + len(match.headers)
