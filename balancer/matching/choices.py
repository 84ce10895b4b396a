"""Chooses between routes with the same path by what else a request shows: method, header fields, query parameters.

Compiled at the swap. What no candidate asks for is never read, and the query is decoded once for all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from operator import itemgetter
from typing import Final, NamedTuple
from urllib.parse import unquote_to_bytes

from balancer.http.messages import RequestHead
from balancer.matching.regexes import Pattern, Searches, compile_pattern
from balancer.matching.served import Match
from balancer.model.conditions import ANY, Conditions, ValueCondition

_VALUE_BYTES_MOST = 1024
"""A longer value has no expression in it: tenants write expressions, and clients write values."""

_PERCENT, _PLUS = b"%+"  # integers, because `in` costs ten times as much with bytes

_Pair = tuple[bytes, bytes]


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
            self._query = _read_query(self.request.target.partition(b"?")[2])
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


class SharedFacts:
    """The facts of the one request about which several tables are asked in turn: they read and search it together."""

    __slots__ = ("facts",)

    def __init__(self) -> None:
        self.facts: RequestFacts | None = None


SHARED: Final = SharedFacts()


def facts_of(request: RequestHead) -> RequestFacts:
    """The facts of a request: those that are shared, or new ones."""
    facts = SHARED.facts
    return facts if facts is not None and facts.request is request else RequestFacts(request)


class _Search(NamedTuple):
    """An expression that must be found in one value. A value that may not be searched does not fit."""

    name: bytes
    pattern: Pattern

    def holds(self, values: dict[bytes, bytes], facts: RequestFacts) -> bool:
        value = values.get(self.name)
        if value is None:
            return False
        if facts.searches is None:
            facts.searches = Searches()
        is_searched = len(value) <= _VALUE_BYTES_MOST and facts.searches.afford(self.pattern, len(value))
        return is_searched and self.pattern.search(value)


class Candidate:
    """A match with the conditions under which it serves."""

    __slots__ = ("_fields", "_method", "_query", "_searched", "is_plain", "match", "names", "pairs", "wanted")

    def __init__(self, conditions: Conditions, match: Match) -> None:
        """Raises `PatternError` for an expression that cannot be compiled."""
        self.match = match
        self.is_plain = conditions == ANY
        self._method = conditions.method.encode()
        self._fields = _equal(conditions.fields)
        self._query = _equal(conditions.query)
        searches = (_searches(conditions.fields), _searches(conditions.query))
        self._searched = searches if any(searches) else None
        self.names = frozenset(each.name.encode() for each in conditions.fields)
        """The fields that the conditions are about."""
        self.pairs: tuple[tuple[_Pair, ...], tuple[_Pair, ...]] = (
            tuple(self._fields.items()),
            tuple(self._query.items()),
        )
        """The names and values that a request must have: of fields, and of query parameters."""
        self.wanted: tuple[bytes, ...] | None = None
        """The names of which it wants values, behind what they are names of, if it wants nothing else."""
        if not self._method and self._searched is None and bool(self._fields) != bool(self._query):
            self.wanted = (b"fields" if self._fields else b"query", *sorted(self._fields or self._query))

    def holds(self, facts: RequestFacts, fields: dict[bytes, bytes]) -> bool:
        """Whether all conditions hold. `fields` are those of `names`. What has to be searched comes last."""
        if self._method and self._method != facts.request.method:
            return False
        if self._fields and not self._fields.items() <= fields.items():
            return False
        if self._query and not self._query.items() <= facts.query.items():
            return False
        return self._searched is None or self._is_found(facts, fields)

    def _is_found(self, facts: RequestFacts, fields: dict[bytes, bytes]) -> bool:
        """Apart, because a typed method has no generator inside."""
        in_fields, in_query = self._searched or ((), ())
        return all(each.holds(fields, facts) for each in in_fields) and all(
            each.holds(facts.query, facts) for each in in_query
        )


class ValueTable:
    """The matches of one place by the values that they want of the same names. Who finds none gets `otherwise`."""

    __slots__ = ("_matches", "_otherwise", "_read")

    def __init__(self, names: Sequence[bytes], otherwise: Match | None) -> None:
        self._read = itemgetter(*names)
        self._otherwise = otherwise
        self._matches: dict[object, Match] = {}

    def add(self, values: dict[bytes, bytes], match: Match) -> None:
        """Adds what serves these values, if nothing does yet."""
        self._matches.setdefault(self._read(values), match)

    def match(self, values: dict[bytes, bytes]) -> Match | None:
        """The match that serves a request which shows these values."""
        try:
            return self._matches.get(self._read(values), self._otherwise)
        except KeyError:  # a name that the request lacks
            return self._otherwise


class RouteChoice:
    """The matches of one place, the first one whose conditions hold serves.

    `only` is the match that always serves, if the first candidate has no conditions, else None. A candidate that wants
    a value is asked only if a request has that value, so that thousands of candidates cost no more than a few. Where
    all candidates want values of the same fields, or of the same parameters, one look-up answers.
    """

    __slots__ = ("_asked", "_by_field", "_by_query", "_candidates", "_names", "_values", "only")

    def __init__(self, candidates: Iterable[Candidate]) -> None:
        self._candidates = _that_may_serve(tuple(candidates))
        first = self._candidates[0]
        self.only = first.match if first.is_plain else None
        self._names = frozenset[bytes]().union(*(each.names for each in self._candidates))
        self._values = _values_of(self._candidates)
        self._by_field: dict[_Pair, list[int]] = {}
        self._by_query: dict[_Pair, list[int]] = {}
        self._asked = tuple(self._index())
        """The places of the candidates that are asked about every request."""

    def match(self, facts: RequestFacts | None) -> Match | None:
        """The match that serves a request, or None. `facts` None shows nothing, so no condition holds."""
        if self.only is not None:
            return self.only
        if self._values is not None and facts is not None:
            values = self._values
            return values.match(facts.fields(self._names) if self._names else facts.query)
        fields: dict[bytes, bytes] = {}
        if facts is not None and self._names:
            fields = facts.fields(self._names)
        for place in self._asked if facts is None else self._places(facts, fields):
            candidate = self._candidates[place]
            if candidate.is_plain or (facts is not None and candidate.holds(facts, fields)):
                return candidate.match
        return None

    def _index(self) -> Iterator[int]:
        """Notes each candidate under the rarest value that it wants. Yields the places of those that want none."""
        fields = Counter(pair for each in self._candidates for pair in each.pairs[0])
        query = Counter(pair for each in self._candidates for pair in each.pairs[1])
        for place, each in enumerate(self._candidates):
            field = min(each.pairs[0], key=fields.__getitem__, default=None)
            parameter = min(each.pairs[1], key=query.__getitem__, default=None)
            if field is not None and (parameter is None or fields[field] <= query[parameter]):
                self._by_field.setdefault(field, []).append(place)
            elif parameter is not None:
                self._by_query.setdefault(parameter, []).append(place)
            else:
                yield place

    def _places(self, facts: RequestFacts, fields: dict[bytes, bytes]) -> Sequence[int]:
        """The places of the candidates that may hold, in their order."""
        found: list[int] = []
        if self._by_field:
            for pair in fields.items():
                found += self._by_field.get(pair, ())
        if self._by_query:
            for pair in facts.query.items():
                found += self._by_query.get(pair, ())
        if not found:
            return self._asked
        found += self._asked
        found.sort()
        return found


def _that_may_serve(candidates: tuple[Candidate, ...]) -> tuple[Candidate, ...]:
    """The candidates up to the first one without conditions. Those behind it never serve."""
    plain = next((place for place, each in enumerate(candidates) if each.is_plain), len(candidates))
    return candidates[: plain + 1]


def _values_of(candidates: Sequence[Candidate]) -> ValueTable | None:
    """The table of candidates that all want values of the same fields and of nothing else, or of the same parameters;
    the last one may want nothing. None if there is no such table.
    """
    last = candidates[-1]
    asking = candidates[:-1] if last.is_plain else candidates
    kinds = {each.wanted for each in asking}
    if len(kinds) != 1 or None in kinds:
        return None
    table = ValueTable((asking[0].wanted or ())[1:], last.match if last.is_plain else None)
    for each in asking:
        table.add(dict(each.pairs[0] or each.pairs[1]), each.match)
    return table


def _equal(conditions: Iterable[ValueCondition]) -> dict[bytes, bytes]:
    """The values that must be equal, by name."""
    return {each.name.encode(): each.value.encode() for each in conditions if not each.is_expression}


def _searches(conditions: Iterable[ValueCondition]) -> tuple[_Search, ...]:
    """What must be found by expressions. Raises `PatternError`."""
    return tuple(_Search(each.name.encode(), compile_pattern(each.value)) for each in conditions if each.is_expression)


@lru_cache(maxsize=8)  # several tables may ask, each for several readings of a path
def _read_query(query: bytes) -> dict[bytes, bytes]:
    is_encoded = _PERCENT in query or _PLUS in query
    found: dict[bytes, bytes] = {}
    for part in query.split(b"&"):
        name, _, value = part.partition(b"=")
        if is_encoded:
            name, value = _decoded(name), _decoded(value)
        if name and name not in found:
            found[name] = value
    return found


def _decoded(text: bytes) -> bytes:
    return unquote_to_bytes(text.replace(b"+", b" ")) if _PERCENT in text or _PLUS in text else text
