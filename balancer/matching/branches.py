"""Decides which branch of its route serves a request. Runs before endpoints and zones.

Evaluates the rules of canaries (ingress-nginx's annotations `canary-*`), then the shares of the other branches, all
compiled with the routes. Randomness and the question which backends have endpoints are arguments. Does not know how an
endpoint is chosen.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate, pairwise
from typing import NamedTuple

import msgspec

from balancer.http.messages import RequestHead
from balancer.matching.affinity import Stickiness
from balancer.matching.destinations import Destination, PathCount
from balancer.matching.regexes import Pattern, PatternError, Searches, compile_pattern
from balancer.matching.variables import Cookies, header_of, variable_name
from balancer.model.endpoints import BackendKey
from balancer.model.routes import Branch, Canary, Route

# A longer value matches no pattern, nor does one whose search could take too long. Tokens and user agents are shorter.
PATTERN_VALUE_BYTES = 1024

HasEndpoints = Callable[[BackendKey | None], bool]
"""Whether a backend has an endpoint that could serve. None has none."""


class _Judged:
    """A request as the rules of all canaries of one route read it: what is read or searched is counted together."""

    __slots__ = ("cookies", "request", "searches")

    def __init__(self, request: RequestHead) -> None:
        self.request = request
        self.cookies = Cookies(request)
        self.searches = Searches()


class _Header(NamedTuple):
    """The rule by a header. `pattern` None with `has_pattern`: the pattern does not compile, so its requests stay with
    main.
    """

    name: bytes
    value: bytes = b""
    pattern: Pattern | None = None
    has_pattern: bool = False

    def verdict(self, asked: _Judged) -> bool | None:
        """True for canary, False for main, None if the next rule decides."""
        value = header_of(asked.request, self.name)
        if value is None:
            return None
        if self.value:
            return True if value == self.value else None
        if not self.has_pattern:
            return _said(value)
        if self.pattern is None:
            return False
        is_searched = len(value) <= PATTERN_VALUE_BYTES and asked.searches.afford(self.pattern, len(value))
        return True if is_searched and self.pattern.search(value) else None


class _Way(NamedTuple):
    """A canary with its rules. `pinned` is the affinity shared with the main branch, with a mark of its own."""

    destination: Destination
    header: _Header | None
    cookie: bytes
    pinned: Stickiness | None
    begin: int
    end: int

    def verdict(self, asked: _Judged) -> bool | None:
        verdict = self.header.verdict(asked) if self.header is not None else None
        if verdict is None and self.cookie:
            return next(
                (said for value in asked.cookies.named(self.cookie) if (said := _said(value)) is not None), None
            )
        return verdict


class Verdicts(NamedTuple):
    """Where a cookie pins a request, and what header and cookie of each canary decide, in their order.

    True: this canary; False: not this one; None: undecided.
    """

    pinned: Destination | None
    by_rule: tuple[bool | None, ...]


class Junction:
    """The destinations of one route. `main` is that of its first branch."""

    __slots__ = ("_ends", "_of", "_pins", "_shares", "_total", "_ways", "main")

    def __init__(self, route: Route, count: PathCount | None = None) -> None:
        shares = [branch for branch in route.branches if branch.canary is None]
        self._shares = tuple(Destination(route, branch, count) for branch in shares)
        self._ends = tuple(accumulate(branch.weight for branch in shares))
        self._total = self._ends[-1] if len(shares) > 1 else 0
        self.main = self._shares[0]
        rules = [(branch, branch.canary) for branch in route.branches if branch.canary is not None]
        totals = [_total(canary) for _, canary in rules]
        self._of = math.lcm(*totals)
        ways: list[_Way] = []
        begin = 0
        for (branch, canary), total in zip(rules, totals, strict=True):
            end = begin + canary.weight * (self._of // total)
            ways.append(_way(route, branch, canary, count, begin=begin, end=end))
            begin = end
        self._ways = tuple(ways)
        pinned = [each.stickiness for each in self._shares] + [way.pinned for way in ways]
        self._pins = len(pinned) > 1 and pinned[0] is not None and any(pinned[1:])

    def choose(
        self, request: RequestHead, *, has_endpoints: HasEndpoints, random_below: Callable[[int], int]
    ) -> Destination:
        """Where `request` goes.

        First the branch to which a cookie has pinned the request, then headers and cookies of every canary in order,
        then the weights of canaries, as shares of all requests side by side, then those of the other branches. If a
        canary has no endpoints, its requests go where they would go without canaries. If there are none there, no
        canary is asked. Nothing else takes over the share of a branch.
        """
        if self._pins and (pinned := self._pinned(request)) is not None:
            if pinned in self._shares:
                return pinned
            return pinned if has_endpoints(self.main.backend) and has_endpoints(pinned.backend) else self.main
        rest = self._share(random_below) if self._total else self.main
        if not self._ways or not has_endpoints(rest.backend):
            return rest
        canary = self._canary(request, random_below=random_below)
        return canary if canary is not None and has_endpoints(canary.backend) else rest

    def named(self, canary: bool | str) -> Destination | None:
        """The main branch (False), the first canary (True), or the canary whose Service has this name; None without."""
        if canary is False:
            return self.main
        ways = (way.destination for way in self._ways)
        return next((to for to in ways if canary is True or to.names.service == canary), None)

    def chances(self, request: RequestHead, *, has_endpoints: HasEndpoints) -> list[tuple[float, Destination]]:
        """What `choose` may return for `request`, each destination once with its probability."""
        edges = {edge for way in self._ways for edge in (way.begin, way.end) if edge < self._of}
        found: dict[Destination, float] = {}
        for chance, share in self._lots():
            for begin, end in pairwise(sorted({0, self._of, *edges})):
                lots = iter((share, begin) if self._total else (begin,))
                to = self.choose(request, has_endpoints=has_endpoints, random_below=partial(_next_of, lots))
                found[to] = found.get(to, 0.0) + chance * (end - begin) / self._of
        return [(probability, to) for to, probability in found.items()]

    def verdicts(self, request: RequestHead) -> Verdicts:
        """What each rule says about `request`, separately."""
        pinned = self._pinned(request) if self._pins else None
        asked = _Judged(request)
        return Verdicts(pinned, tuple(way.verdict(asked) for way in self._ways))

    def _lots(self) -> list[tuple[float, int]]:
        """A lot for each branch with a share, and its probability."""
        if not self._total:
            return [(1.0, 0)]
        return [((end - begin) / self._total, begin) for begin, end in pairwise(sorted({0, *self._ends}))]

    def _share(self, random_below: Callable[[int], int]) -> Destination:
        """One of the branches that are no canaries, by weight."""
        return self._shares[bisect_right(self._ends, random_below(self._total))]

    def _canary(self, request: RequestHead, *, random_below: Callable[[int], int]) -> Destination | None:
        never: list[_Way] = []
        asked = _Judged(request)
        for way in self._ways:
            verdict = way.verdict(asked)
            if verdict:
                return way.destination
            if verdict is False:
                never.append(way)
        lot = random_below(self._of) if self._ways[-1].end else 0
        for way in self._ways:
            if way.begin <= lot < way.end:
                return None if way in never else way.destination
        return None

    def _pinned(self, request: RequestHead) -> Destination | None:
        for share in self._shares:
            if share.stickiness is not None and share.stickiness.key_in(request) is not None:
                return share
        for way in self._ways:
            if way.pinned is not None and way.pinned.key_in(request) is not None:
                return way.destination
        return None


def junction_of(route: Route, count: PathCount | None = None) -> Junction | None:
    """The choice between the branches of a route, which have one `count`; None if there is none."""
    if len(route.branches) == 1 or (route.main.backend is None and not _has_shares(route)):
        return None
    return Junction(route, count)


def _has_shares(route: Route) -> bool:
    return sum(branch.canary is None for branch in route.branches) > 1


def _next_of(lots: Iterator[int], _below: int) -> int:
    return next(lots)


def _way(route: Route, branch: Branch, canary: Canary, count: PathCount | None, *, begin: int, end: int) -> _Way:
    if canary.follows_affinity:
        branch = msgspec.structs.replace(branch, affinity=route.main.affinity)
    destination = Destination(route, branch, count)
    return _Way(
        destination=destination,
        header=_header(canary),
        cookie=canary.cookie.encode(),
        pinned=destination.stickiness if canary.follows_affinity else None,
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


def _said(value: bytes) -> bool | None:
    """True for `always`, False for `never`; None for any other value, so the next rule decides."""
    return {b"always": True, b"never": False}.get(value)
