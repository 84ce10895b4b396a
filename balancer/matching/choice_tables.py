"""The table of a host where a path may lead to several routes, or where kinds of paths are mixed.

Exact paths come first, then expressions in their order, then prefixes, the longest first. Of the routes of one place
the first one serves whose conditions hold. If none does, the next place is tried. Only such hosts pay for that.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable

from balancer.errors import ErrorKind, Refusal
from balancer.http.messages import RequestHead
from balancer.matching.choices import Candidate, RequestFacts, RouteChoice, facts_of
from balancer.matching.gates.making import GateMaker
from balancer.matching.host_tables import HostTable, capturing, is_searchable, too_long
from balancer.matching.regexes import PatternSet, Searches, compile_caseless
from balancer.matching.served import Match, Served
from balancer.model.conditions import ANY
from balancer.model.routes import SEARCHED_BYTES_WIDE, Host, PathKind, Route, TrailingSlash


def needs_choices(host: Host) -> bool:
    """Whether no simpler table serves `host`: conditions, routes with one path, or expressions beside other kinds or in
    Gateway API, where another host may have what no expression matches.
    """
    same = host.trailing_slash is TrailingSlash.SAME
    places = {(route.kind, route.path.removesuffix("/") if same else route.path) for route in host.routes}
    kinds = {route.kind is PathKind.REGEX for route in host.routes}
    if len(places) < len(host.routes) or len(kinds) > 1 or (same and True in kinds):
        return True
    return any(route.conditions != ANY for route in host.routes)


class ChoiceTable(HostTable):
    """The routes of one host, in the order of the model."""

    __slots__ = ("_below", "_default", "_depth", "_exact", "_expressions", "_whole")

    def __init__(self, host: Host, default: Match | None, matches: Iterable[tuple[Route, Match]]) -> None:
        """`matches` are those of the host's routes, in their order. Expressions are added later."""
        self.host = host
        self._default = default
        self._expressions: _ExpressionChoices | None = None
        apart = host.trailing_slash is TrailingSlash.APART
        exact: dict[bytes, list[Candidate]] = {}
        # Of `/a` and `/a/` the first one comes first for the whole path `/a`, the second one for what lies below.
        plain: dict[bytes, list[Candidate]] = {}
        slashed: dict[bytes, list[Candidate]] = {}
        for route, match in _that_may_serve(matches, apart=apart):
            path, candidate = route.path.encode(), Candidate(route.conditions, match)
            if route.kind is PathKind.EXACT:
                exact.setdefault(path, []).append(candidate)
            elif route.kind is PathKind.PREFIX:
                is_slashed = apart and path.endswith(b"/")
                (slashed if is_slashed else plain).setdefault(path.removesuffix(b"/"), []).append(candidate)
        prefixes = dict.fromkeys((*plain, *slashed))
        self._exact = {path: RouteChoice(each) for path, each in exact.items()}
        self._whole = {path: RouteChoice((*plain.get(path, ()), *slashed.get(path, ()))) for path in prefixes}
        self._below = {path: RouteChoice((*slashed.get(path, ()), *plain.get(path, ()))) for path in prefixes}
        self._depth = max((elements.count(b"/") for elements in prefixes), default=0)

    @classmethod
    def compiling(cls, host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, ChoiceTable]:
        """The table, in steps of some milliseconds. Raises `PatternError` for an expression that cannot be compiled."""
        own = default if host.default is None else Match(Served(host.default, make, host.name))
        matches = []
        for route in host.routes:
            matches.append((route, Match(Served(route, make, host.name))))
            yield
        made = cls(host, own, matches)
        may_serve = _that_may_serve(matches, apart=host.trailing_slash is TrailingSlash.APART)
        searched = [(route, match) for route, match in may_serve if route.kind is PathKind.REGEX]
        if searched:
            made._expressions = yield from _ExpressionChoices.compiling(searched, make)
        return made

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        """The match of a normalised path. Tries at most as many prefixes as the deepest one has elements, and two.

        Raises `Refusal` for a path that cannot be searched for expressions: it would get round the one that is for it.
        """
        facts = None if request is None else facts_of(request)
        found = self._at(self._exact, path, facts) if path in self._exact else None
        if found is None and self._expressions is not None:
            found = self._search(path, facts)
        if found is None and path in self._whole:
            found = self._at(self._whole, path, facts)
        return self._shorter(path, facts) if found is None else found

    def _at(self, places: dict[bytes, RouteChoice], path: bytes, facts: RequestFacts | None) -> Match | None:
        choice = places.get(path)
        return None if choice is None else choice.match(facts)

    def _shorter(self, path: bytes, facts: RequestFacts | None) -> Match | None:
        elements = b"/".join(path.split(b"/", self._depth + 1)[:-1])
        while True:
            found = self._at(self._below, elements, facts)
            if found is not None:
                return found
            if not elements:
                return self._default
            elements = elements.rpartition(b"/")[0]

    def _search(self, path: bytes, facts: RequestFacts | None) -> Match | None:
        expressions = self._expressions
        return None if expressions is None else expressions.match(path, facts)


def _that_may_serve(matches: Iterable[tuple[Route, Match]], *, apart: bool) -> list[tuple[Route, Match]]:
    """The routes without those whose place an earlier one has under the same conditions. `apart` is as in the table."""
    found: dict[tuple[object, ...], tuple[Route, Match]] = {}
    for route, match in matches:
        path = route.path if apart or route.kind is not PathKind.PREFIX else route.path.removesuffix("/")
        found.setdefault((route.kind, path, route.expression, route.conditions), (route, match))
    return list(found.values())


class _ExpressionChoices:
    """The routes of a host whose paths are expressions, in their order."""

    __slots__ = ("_candidates", "_long", "_long_candidates", "_patterns", "_set", "_wide")

    def __init__(self, searched: list[tuple[Route, Match]], patterns: PatternSet) -> None:
        self._candidates = tuple(RouteChoice([Candidate(route.conditions, match)]) for route, match in searched)
        self._long_candidates = self._candidates
        self._patterns = tuple(capturing(route) for route, _ in searched)
        self._set = patterns
        self._long = patterns
        self._wide = tuple(
            compile_caseless(route.expression) if route.long_expression else None for route, _ in searched
        )

    @classmethod
    def compiling(
        cls, searched: list[tuple[Route, Match]], make: GateMaker
    ) -> Generator[None, None, _ExpressionChoices]:
        made = cls(searched, (yield from PatternSet.compiling([route.expression for route, _ in searched])))
        if any(route.long_expression for route, _ in searched):
            made._long = yield from PatternSet.compiling(
                [route.long_expression or route.expression for route, _ in searched]
            )
            made._long_candidates = tuple(
                RouteChoice([Candidate(route.conditions, too_long(match, make))]) for route, match in searched
            )
        return made

    def match(self, path: bytes, facts: RequestFacts | None) -> Match | None:
        """The match of the first expression that is found in `path` and whose conditions hold.

        Long paths are searched for wide expressions one by one, as far as that may cost.
        """
        if not is_searchable(path):
            raise Refusal(ErrorKind.BAD_REQUEST, "a path with a line feed or a vertical tab")
        is_long, searches = len(path) > SEARCHED_BYTES_WIDE, Searches()
        for place in (self._long if is_long else self._set).all(path):
            choices, wide = self._candidates, self._wide[place]
            if is_long and wide is not None:
                if not searches.afford(wide, len(path)):
                    choices = self._long_candidates
                elif not wide.search(path):
                    continue
            match, pattern = choices[place].match(facts), self._patterns[place]
            if match is not None:
                if pattern is None or match.served.closed:
                    return match
                return Match(match.served, pattern.captures(path) or ())
        return None
