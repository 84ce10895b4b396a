"""Bounds what expressions and other conditions of routes cost a request, and divides that among namespaces.

A route for which its namespace has no room is not accepted: its expressions are neither compiled nor searched for.
Older routes come first. Pure.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from balancer.model.routes import PathKind
from ingress.findings import quote
from ingress.objects.gateway_routes import GatewayRoute, GrpcRoute, HttpRoute, ValueMatch
from ingress.translation.expression_costs import ExpressionCosts
from ingress.translation.gateway.conditions import MatchPlace
from ingress.translation.gateway.hostname_room import seniority_of
from ingress.translation.gateway.route_facts import Name
from ingress.translation.gateway.route_reading import ReadRoute
from ingress.translation.gateway.standings import Problem

CHARACTERS_MOST: Final = 256 * 1024
"""The most characters of all expressions of a namespace; those of paths count for each name of a listener. To read so
many takes a translation less than a second, once.
"""

TOO_LONG: Final = Problem(
    "UnsupportedValue",
    f"All regular expressions of a namespace may have {CHARACTERS_MOST} characters, those of paths for each hostname,"
    " and older routes leave too few: write shorter ones, or fewer.",
)

_EXPRESSION = "RegularExpression"


def characters_of(route: GatewayRoute) -> int:
    """How many characters the expressions of a route have, each counted once."""
    count = 0
    if isinstance(route, HttpRoute):
        for rule in route.spec.rules:
            for match in rule.matches:
                count += _characters(match.path.value) if match.path.type == _EXPRESSION else 0
                count += _of_values((*match.headers, *match.query_params))
    elif isinstance(route, GrpcRoute):
        for calls in route.spec.rules:
            for asked in calls.matches:
                if asked.method is not None and asked.method.type == _EXPRESSION:
                    count += _characters(asked.method.service) + _characters(asked.method.method)
                count += _of_values(asked.headers)
    return count


def _characters(text: str) -> int:
    """The characters of an expression. RE2 takes as long for a class of Unicode as for a hundred others."""
    return len(text) + 100 * (text.count("\\p") + text.count("\\P"))


def _of_values(values: Sequence[ValueMatch]) -> int:
    return sum(_characters(each.value) for each in values if each.type == _EXPRESSION)


def too_long(routes: Sequence[GatewayRoute], characters: Sequence[int]) -> frozenset[int]:
    """The places in `routes` of those for whose expressions their namespace has no room. `characters` is how many they
    have.
    """
    if sum(characters) <= CHARACTERS_MOST:
        return frozenset()
    used, found = Counter[str](), set[int]()
    for place in sorted(range(len(routes)), key=lambda each: seniority_of(routes[each])):
        namespace, count = routes[place].metadata.namespace, characters[place]
        if not count:
            continue
        if used[namespace] + count > CHARACTERS_MOST:
            found.add(place)
        else:
            used[namespace] += count
    return frozenset(found)


def needs_room(read: ReadRoute) -> bool:
    """Whether a route costs requests more than a look-up: then `without_room` has to know it."""
    return read.is_costly and read.oversized is None and bool(read.facts.names)


def without_room(routes: Sequence[ReadRoute]) -> Mapping[tuple[float, str, str], Problem]:
    """What is wrong with those of `routes`, by seniority, for which there is no room. They come by age."""
    room, found = _Room(), dict[tuple[float, str, str], Problem]()
    for each in routes:
        if (problem := room.take(each)) is not None:
            found[each.facts.seniority] = problem
    return found


class _Room:
    """What the routes so far hold: characters by namespace, and costs by name of a listener."""

    __slots__ = ("_characters", "_costs")

    def __init__(self) -> None:
        self._characters = Counter[str]()
        self._costs: defaultdict[Name, ExpressionCosts] = defaultdict(ExpressionCosts)

    def take(self, read: ReadRoute) -> Problem | None:
        """Counts a route, or says why there is no room for it."""
        tenant, names = read.route.metadata.namespace, read.facts.names
        places = [each for own in read.places for each in own if each.is_costly]
        characters = sum(_characters(each.path) for each in places if each.kind is PathKind.REGEX) * len(names)
        if self._characters[tenant] + characters > CHARACTERS_MOST:
            return TOO_LONG
        for name in names:
            costs = self._costs[name]
            if not all(_takes(costs, tenant, each) for each in places):
                return _too_large(name[1])
        self._characters[tenant] += characters
        return None


def _takes(costs: ExpressionCosts, tenant: str, place: MatchPlace) -> bool:
    if place.compared and not costs.take_compared(tenant, place.compared):
        return False
    cost = place.cost
    if cost is None:
        return True
    if cost.instructions:
        return costs.take_wide(tenant, cost.beginning, cost.instructions)
    return costs.take_narrow(tenant, cost.beginning, cost.text)


def _too_large(hostname: str) -> Problem:
    return Problem(
        "UnsupportedValue",
        f"The regular expressions that begin alike, or the matches with several conditions, are too many for"
        f" {quote(hostname or '*')} together with those of older routes, so that they would slow other requests: give"
        " the route fewer, or expressions that begin differently.",
    )
