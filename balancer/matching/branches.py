"""Decides which backend serves a request: the main one of its route, or a canary. Runs before endpoints and zones.

Evaluates the rules of canaries (ingress-nginx's annotations `canary-*`), compiled with the routes. Randomness and the
question which backends have endpoints are arguments. Does not know how an endpoint is chosen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import msgspec

from balancer.http.messages import RequestHead
from balancer.matching.affinity import Stickiness
from balancer.matching.regexes import Pattern, PatternError, compile_pattern
from balancer.matching.variables import TextOf, compile_text, cookies_of, header_of, variable_name
from balancer.model.routes import Canary, Route

# A longer value matches no pattern, nor does one whose search could take too long. Tokens and user agents are shorter.
PATTERN_VALUE_BYTES = 1024

HasEndpoints = Callable[[Route], bool]
"""Whether the backend of a route has an endpoint that could serve."""


class Branch(msgspec.Struct, frozen=True, eq=False):
    """A backend that requests of a route may go to, with the route under which they count, and its affinity.

    `route` is the route of the model; for a canary, the same route with the canary's backend and names. `subset` is to
    how many endpoints the hash leads.
    """

    route: Route
    stickiness: Stickiness | None = None
    hash_text: TextOf | None = None

    @property
    def subset(self) -> int:
        return self.route.hash_subset


class _Header(NamedTuple):
    """The rule by a header. `pattern` None with `has_pattern`: the pattern does not compile, so its requests stay with
    main.
    """

    name: bytes
    value: bytes = b""
    pattern: Pattern | None = None
    has_pattern: bool = False

    def verdict(self, request: RequestHead) -> bool | None:
        """True for canary, False for main, None if the next rule decides."""
        value = header_of(request, self.name)
        if value is None:
            return None
        if self.value:
            return True if value == self.value else None
        if not self.has_pattern:
            return _said(value)
        if self.pattern is None:
            return False
        is_searched = len(value) <= PATTERN_VALUE_BYTES and self.pattern.affords(len(value))
        return True if is_searched and self.pattern.search(value) else None


class _Way(NamedTuple):
    """A canary with its rules. `pinned` is the affinity shared with the main backend, with a mark of its own."""

    branch: Branch
    header: _Header | None
    cookie: bytes
    pinned: Stickiness | None
    begin: int
    end: int

    def verdict(self, request: RequestHead) -> bool | None:
        verdict = self.header.verdict(request) if self.header is not None else None
        if verdict is None and self.cookie:
            return next(
                (said for value in cookies_of(request, self.cookie) if (said := _said(value)) is not None), None
            )
        return verdict


class Verdicts(NamedTuple):
    """The branch to which a cookie pins a request, and what header and cookie of each canary decide, in their order.

    True: this canary; False: not this one; None: undecided.
    """

    pinned: Branch | None
    by_rule: tuple[bool | None, ...]


class Junction:
    """The branches of one route."""

    __slots__ = ("_of", "_pins", "_ways", "main")

    def __init__(self, route: Route) -> None:
        self.main = Branch(route, _stickiness(route), _hash_text(route))
        totals = [_total(canary) for canary in route.canaries]
        self._of = math.lcm(*totals)
        ways: list[_Way] = []
        begin = 0
        for canary, total in zip(route.canaries, totals, strict=True):
            end = begin + canary.weight * (self._of // total)
            ways.append(_way(route, canary, begin=begin, end=end))
            begin = end
        self._ways = tuple(ways)
        self._pins = self.main.stickiness is not None and any(way.pinned for way in ways)

    def choose(
        self, request: RequestHead, *, has_endpoints: HasEndpoints, random_below: Callable[[int], int]
    ) -> Branch:
        """The branch that serves `request`.

        First the branch to which a cookie has pinned the request, then headers and cookies of every canary in order,
        then the weights, as shares of all requests side by side. If a canary has no endpoints, its requests go to the
        main backend. If the main backend has none, the answer is 503.
        """
        if not self._ways or not has_endpoints(self.main.route):
            return self.main
        branch = self._chosen(request, random_below=random_below)
        return branch if branch is self.main or has_endpoints(branch.route) else self.main

    def chances(self, request: RequestHead, *, has_endpoints: HasEndpoints) -> list[tuple[float, Branch]]:
        """The branches that `choose` may return for `request`, each once with its probability."""
        edges = {edge for way in self._ways for edge in (way.begin, way.end) if edge < self._of}
        found: dict[Branch, float] = {}
        for begin, end in pairwise(sorted({0, self._of, *edges})):
            branch = self.choose(request, has_endpoints=has_endpoints, random_below=partial(_always, begin))
            found[branch] = found.get(branch, 0.0) + (end - begin) / self._of
        return [(probability, branch) for branch, probability in found.items()]

    def verdicts(self, request: RequestHead) -> Verdicts:
        """What each rule says about `request`, separately."""
        pinned = self._pinned(request) if self._pins else None
        return Verdicts(pinned, tuple(way.verdict(request) for way in self._ways))

    def _chosen(self, request: RequestHead, *, random_below: Callable[[int], int]) -> Branch:
        if self._pins and (pinned := self._pinned(request)) is not None:
            return pinned
        never: list[_Way] = []
        for way in self._ways:
            verdict = way.verdict(request)
            if verdict:
                return way.branch
            if verdict is False:
                never.append(way)
        lot = random_below(self._of) if self._ways[-1].end else 0
        for way in self._ways:
            if way.begin <= lot < way.end:
                return self.main if way in never else way.branch
        return self.main

    def _pinned(self, request: RequestHead) -> Branch | None:
        assert self.main.stickiness is not None
        if self.main.stickiness.key_in(request) is not None:
            return self.main
        for way in self._ways:
            if way.pinned is not None and way.pinned.key_in(request) is not None:
                return way.branch
        return None


def junction_of(route: Route) -> Junction | None:
    """The branches of a route; None if the route has one backend and no affinity or hash."""
    if route.backend is None or not (route.canaries or route.affinity or route.hash_by):
        return None
    return Junction(route)


def _always(lot: int, _below: int) -> int:
    return lot


def _way(route: Route, canary: Canary, *, begin: int, end: int) -> _Way:
    served = msgspec.structs.replace(
        route,
        backend=canary.backend,
        owner=canary.owner,
        service=canary.service,
        zone_policy=canary.zone_policy,
        canaries=(),
        affinity=route.affinity if canary.follows_affinity else canary.affinity,
        hash_by=canary.hash_by,
        hash_subset=canary.hash_subset,
    )
    branch = Branch(served, _stickiness(served), _hash_text(served))
    return _Way(
        branch=branch,
        header=_header(canary),
        cookie=canary.cookie.encode(),
        pinned=branch.stickiness if canary.follows_affinity else None,
        begin=begin,
        end=end,
    )


def _header(canary: Canary) -> _Header | None:
    if not canary.header:
        return None
    name = variable_name(canary.header)
    if canary.header_value or not canary.header_pattern:
        return _Header(name, canary.header_value.encode())
    try:
        return _Header(name, pattern=compile_pattern(canary.header_pattern), has_pattern=True)
    except PatternError:
        return _Header(name, has_pattern=True)


def _total(canary: Canary) -> int:
    return max(canary.weight_total, 100)  # ingress-nginx: a total below 100 counts as 100


def _stickiness(route: Route) -> Stickiness | None:
    if route.affinity is None or route.backend is None:
        return None
    return Stickiness(route.affinity, route.backend)


def _hash_text(route: Route) -> TextOf | None:
    return compile_text(route.hash_by) if route.hash_by else None


def _said(value: bytes) -> bool | None:
    """True for `always`, False for `never`; None for any other value, so the next rule decides."""
    return {b"always": True, b"never": False}.get(value)
