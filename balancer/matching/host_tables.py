"""The routes of one host, compiled: from a path to what serves it.

Exact, then the longest Prefix by elements (networking.k8s.io/v1 HTTPIngressPath); or else the first regular expression
that is found (nginx `location ~*`). All paths are bytes, as on the wire.
"""

from __future__ import annotations

from collections.abc import Generator

from balancer.errors import ErrorKind
from balancer.http.messages import RequestHead
from balancer.matching.gates.making import GateMaker
from balancer.matching.regexes import Pattern, PatternSet, compile_caseless
from balancer.matching.served import Match, Served
from balancer.model.routes import SEARCHED_BYTES_WIDE, Host, PathKind, Route

_LINE_FEED, _VERTICAL_TAB = b"\n\v"  # integers, because `in` costs ten times as much with bytes


class _Prefix:
    """The two prefixes with the same elements: `/a` and `/a/` are different paths of an Ingress."""

    __slots__ = ("plain", "slashed")

    def __init__(self) -> None:
        self.plain: Match | None = None
        self.slashed: Match | None = None


class HostTable:
    """The routes of one `host`."""

    __slots__ = ("host",)

    host: Host

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        """The match of a normalised path, which was read from `target`. Raises `Refusal` for one that is not served.

        `request` is what conditions are about; without one, no condition holds.
        """
        raise NotImplementedError


class PathTable(HostTable):
    """The routes of one host."""

    __slots__ = ("_all", "_default", "_depth", "_exact", "_prefixes")

    def __init__(self, host: Host, default: Match | None, make: GateMaker) -> None:
        self.host = host
        self._default = default if host.default is None else Match(Served(host.default, make, host.name))
        self._exact: dict[bytes, Match] = {}
        self._prefixes: dict[bytes, _Prefix] = {}
        for route in host.routes:
            path, match = route.path.encode(), Match(Served(route, make, host.name))
            if route.kind is PathKind.EXACT:
                self._exact[path] = match
            elif path.endswith(b"/"):
                self._prefixes.setdefault(path[:-1], _Prefix()).slashed = match
            else:
                self._prefixes.setdefault(path, _Prefix()).plain = match
        self._depth = max((elements.count(b"/") for elements in self._prefixes), default=0)
        prefixes = () if self._exact else tuple(self._prefixes.items())
        is_root_alone = len(prefixes) == 1 and prefixes[0][0] == b""
        self._all = prefixes[0][1].slashed if is_root_alone else None  # every path matches it

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        """The match of a normalised path. Takes at most three look-ups plus the number of elements of the deepest
        prefix.

        The whole path comes first: `/a` matches the prefix `/a`, and matches `/a/` only if there is no prefix `/a`.
        Then come its leading elements, at most as many as the deepest prefix has. So a path of thousands of slashes
        costs no more look-ups than an honest path.
        """
        if self._all is not None:
            return self._all
        match = self._exact.get(path)
        if match is not None:
            return match
        if (prefix := self._prefixes.get(path)) is not None:
            return prefix.plain or prefix.slashed
        rest = path.split(b"/", self._depth + 1)[-1]
        elements = path[: -len(rest) - 1]
        while (prefix := self._prefixes.get(elements)) is None:
            if not elements:
                return self._default
            elements = elements.rpartition(b"/")[0]
        return prefix.slashed or prefix.plain


class ExpressionTable(HostTable):
    """The routes of one host whose paths are regular expressions."""

    __slots__ = ("_default", "_long", "_long_matches", "_matches", "_patterns", "_set")

    def __init__(self, host: Host, default: Match | None, matches: tuple[Match, ...], patterns: PatternSet) -> None:
        """`matches` are those of the host's routes, and `patterns` their expressions."""
        self.host = host
        self._default = default
        self._matches = matches
        self._long_matches = matches
        self._patterns = tuple(map(capturing, host.routes))
        self._set = patterns
        self._long: PatternSet | None = None

    @classmethod
    def compiling(cls, host: Host, default: Match | None, make: GateMaker) -> Generator[None, None, ExpressionTable]:
        """The table, in steps of ten milliseconds at most: tenants decide how many expressions there are."""
        matches = []
        for route in host.routes:
            capturing(route)
            matches.append(Match(Served(route, make, host.name)))
            yield
        patterns = yield from PatternSet.compiling([route.expression for route in host.routes])
        own = default if host.default is None else Match(Served(host.default, make, host.name))
        made = cls(host, own, tuple(matches), patterns)
        if any(route.long_expression for route in host.routes):
            texts = [route.long_expression or route.expression for route in host.routes]
            made._long = yield from PatternSet.compiling(texts)
            made._long_matches = tuple(too_long(each, make) for each in matches)
        return made

    def match(self, path: bytes, target: bytes, request: RequestHead | None = None) -> Match | None:
        """The match of a normalised path: the first expression that is found in it."""
        if not is_searchable(path):
            return None
        patterns, matches = self._set, self._matches
        if self._long is not None and len(path) > SEARCHED_BYTES_WIDE:
            patterns, matches = self._long, self._long_matches
        place = patterns.first(path)
        if place is None:
            return self._default
        match, pattern = matches[place], self._patterns[place]
        if match.served.closed:
            return match
        return match if pattern is None else Match(match.served, pattern.captures(path) or ())


def is_searchable(path: bytes) -> bool:
    """Whether expressions are tried for `path`: a path with a line feed or a vertical tab matches nothing.

    PCRE, the engine of ingress-nginx, takes these bytes for something else in `$` and `\\s` than RE2 does. And `.`
    stops at a line feed, so an expression that protects something could be passed by.
    """
    return _LINE_FEED not in path and _VERTICAL_TAB not in path


def too_long(match: Match, make: GateMaker) -> Match:
    """What becomes of a path that is too long for the expression of the route."""
    route, host_name = match.served.route, match.served.main.count.host_name
    if not route.long_expression:
        return match
    return Match(Served(route, make, host_name, closing=ErrorKind.TARGET_TOO_LONG))


def capturing(route: Route) -> Pattern | None:
    """The pattern of a route, if something may refer to its groups."""
    if route.rewriting is None and not route.gates:
        return None
    pattern = compile_caseless(route.expression)
    return pattern if pattern.groups else None
