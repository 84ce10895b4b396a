"""Chooses between routes with the same path by what else a request shows: method, header fields, query parameters.

Compiled at the swap. What no candidate asks for is never read, and the query is decoded once for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from balancer.http.messages import RequestHead
from balancer.matching.regexes import Pattern, Searches, compile_pattern
from balancer.matching.served import Match
from balancer.model.conditions import ANY, Conditions, ValueCondition

_VALUE_BYTES_MOST = 1024
"""A longer value has no expression in it: tenants write expressions, and clients write values."""


class RequestFacts:
    """A request as conditions read it. `searches` counts what their expressions cost."""

    __slots__ = ("_query", "request", "searches")

    def __init__(self, request: RequestHead) -> None:
        self.request = request
        self.searches: Searches | None = None
        self._query: dict[bytes, bytes] | None = None

    @property
    def query(self) -> dict[bytes, bytes]:
        """The first value of each query parameter. Names and values are decoded once, and `+` is a space.

        What is no percent-encoding stays as it is. `&` alone separates parameters (WHATWG URL, urlencoded parsing).
        """
        if self._query is None:
            found: dict[bytes, bytes] = {}
            for part in self.request.target.partition(b"?")[2].split(b"&"):
                name, _, value = part.partition(b"=")
                if name:
                    found.setdefault(_decoded(name), _decoded(value))
            self._query = found
        return self._query

    def fields(self, names: frozenset[bytes]) -> dict[bytes, bytes]:
        """The values of the fields with these names, by name. Values of a repeated field are joined by ", "."""
        found: dict[bytes, bytes] = {}
        for name, value in self.request.fields:
            if name in names:
                found[name] = b"%b, %b" % (found[name], value) if name in found else value
        if b"host" in names:
            found[b"host"] = self.request.authority
        return found


class _ValueRule(NamedTuple):
    """A condition on one value. `pattern` None: the value must be equal.

    A value that may not be searched does not fit.
    """

    name: bytes
    value: bytes
    pattern: Pattern | None

    def holds(self, values: dict[bytes, bytes], facts: RequestFacts) -> bool:
        value = values.get(self.name)
        if value is None or self.pattern is None:
            return value == self.value
        if facts.searches is None:
            facts.searches = Searches()
        is_searched = len(value) <= _VALUE_BYTES_MOST and facts.searches.afford(self.pattern, len(value))
        return is_searched and self.pattern.search(value)


class Candidate:
    """A match with the conditions under which it serves."""

    __slots__ = ("_fields", "_method", "_query", "is_plain", "match", "names")

    def __init__(self, conditions: Conditions, match: Match) -> None:
        self.match = match
        self.is_plain = conditions == ANY
        self._method = conditions.method.encode()
        self._fields = tuple(map(_value, conditions.fields))
        self._query = tuple(map(_value, conditions.query))
        self.names = frozenset(each.name for each in self._fields)
        """The fields that the conditions are about."""

    def holds(self, facts: RequestFacts, fields: dict[bytes, bytes]) -> bool:
        """Whether all conditions hold. `fields` are those of `names`."""
        if self._method and self._method != facts.request.method:
            return False
        for condition in self._fields:
            if not condition.holds(fields, facts):
                return False
        if not self._query:
            return True
        return self._holds_in(facts)

    def _holds_in(self, facts: RequestFacts) -> bool:
        """Apart, because a typed method has no generator inside."""
        return all(condition.holds(facts.query, facts) for condition in self._query)


class RouteChoice:
    """The matches of one place, the first one whose conditions hold serves.

    `only` is the match that always serves, if the first candidate has no conditions, else None.
    """

    __slots__ = ("_candidates", "_names", "only")

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = tuple(candidates)
        first = self._candidates[0]
        self.only = first.match if first.is_plain else None
        self._names = frozenset[bytes]().union(*(each.names for each in self._candidates))

    def match(self, facts: RequestFacts | None) -> Match | None:
        """The match that serves a request, or None. `facts` None shows nothing, so no condition holds."""
        if self.only is not None:
            return self.only
        fields: dict[bytes, bytes] = {}
        if facts is not None and self._names:
            fields = facts.fields(self._names)
        for candidate in self._candidates:
            if candidate.is_plain or (facts is not None and candidate.holds(facts, fields)):
                return candidate.match
        return None


def _value(condition: ValueCondition) -> _ValueRule:
    """Raises `PatternError` for an expression that cannot be compiled."""
    pattern = compile_pattern(condition.value) if condition.is_expression else None
    return _ValueRule(condition.name.encode(), condition.value.encode(), pattern)


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" ")) if b"%" in text or b"+" in text else text
