"""From the matches of routes to places in the model: a path and its kind, and what a request must show beside it.

An expression must match all of a path, value or name. The API leaves that open, and what is searched for would take
more than its author sees in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote_to_bytes

import msgspec

from balancer.matching.regexes import pattern_problem
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.routes import PathKind
from ingress.objects.gateway_routes import GrpcMatch, GrpcMethodMatch, HttpMatch, ValueMatch
from ingress.translation.gateway.path_costs import PathCost, cost_of

_KINDS = {"Exact": PathKind.EXACT, "PathPrefix": PathKind.PREFIX, "RegularExpression": PathKind.REGEX}
_VALUES = frozenset(("Exact", "RegularExpression"))
# Units of a bound: to search a value takes some microseconds, to compare some values about one.
_EXPRESSION_COSTS, _VALUES_COST = 4, 1
# The content type of calls (gRPC over HTTP/2, "Requests").
_CALL = ValueCondition("content-type", r"\Aapplication/grpc(?:[+;]|\z)", is_expression=True)


class MatchPlace(msgspec.Struct, frozen=True):
    """Where a match stands in the table of a host. `rank` is what of it counts before the age of its route.

    `cost` is that of the expression. `compared` is what it costs to compare a request with it that no value led there
    (`ExpressionCosts.take_compared`).
    """

    path: str
    kind: PathKind
    conditions: Conditions = Conditions()
    expression: str = ""
    rank: tuple[int, ...] = ()
    cost: PathCost | None = None
    compared: int = 0

    @property
    def is_costly(self) -> bool:
        """Whether it costs requests more than a look-up."""
        return bool(self.compared) or self.cost is not None


def http_place(match: HttpMatch) -> MatchPlace | None:
    """The place of a match of an HTTPRoute; None if it cannot be read, so that it has none.

    Of equal names the first one counts (HTTPRouteMatch).
    """
    kind, path = _KINDS.get(match.path.type), match.path.value
    if kind is None or not _readable((*match.headers, *match.query_params)):
        return None
    fields, query = _values(match.headers, lower=True), _values(match.query_params, lower=False)
    conditions, compared = Conditions(match.method, fields, query), _compared((*fields, *query))
    rank = (0, -bool(match.method), -len(fields), -len(query))
    if kind is PathKind.REGEX:
        if expression_problem(path) is not None:
            return None
        cost, rank = cost_of(path, _whole(path)), (-len(path), *rank[1:])
        return MatchPlace(path, kind, conditions, _path(path), rank, cost, compared)
    decoded = decoded_path(path)
    return None if decoded is None else MatchPlace(decoded, kind, conditions, "", rank, None, compared)


def decoded_path(value: str) -> str | None:
    """The value of a path as requests are matched against it, percent-decoded; None for one that is no path."""
    try:
        path = unquote_to_bytes(value).decode()
    except UnicodeError:
        return None
    return path if path.startswith("/") else None


def grpc_place(match: GrpcMatch) -> MatchPlace | None:
    """The place of a match of a GRPCRoute. A method is a path, and only calls have the content type of calls.

    The longer service counts first, then the longer method (GRPCRouteRule).
    """
    if not _readable(match.headers):
        return None
    fields = _values(match.headers, lower=True)
    conditions = Conditions(fields=tuple(sorted((*fields, _CALL), key=lambda each: each.name)))
    method, compared = match.method, _compared(fields)
    if method is None or not (method.service or method.method):
        return MatchPlace("/", PathKind.PREFIX, conditions, "", (0, 0, -len(fields), 0), None, compared)
    service, name = method.service, method.method
    rank = (-len(service), -len(name), -len(fields), 0)
    if method.type == "Exact" and service:
        if name:
            return MatchPlace(f"/{service}/{name}", PathKind.EXACT, conditions, "", rank, None, compared)
        # Where calls are searched for expressions, it becomes one (`service_expression`).
        return MatchPlace(f"/{service}", PathKind.PREFIX, conditions, "", rank, None, compared or _VALUES_COST)
    if method.type not in _VALUES or method_problem(method) is not None:
        return None
    text = _method_text(method)
    return MatchPlace(_path(text), PathKind.REGEX, conditions, _path(text), rank, cost_of(text, _whole(text)), compared)


def service_expression(path: str) -> str:
    """The expression of all methods of a service, whose place is the prefix `path`."""
    return _path(f"{_literal(path)}/[^/]+")


def expression_problem(text: str) -> str | None:
    """Why an expression cannot be used, in RE2's words; None if it can.

    It is searched for as `_whole` of it, which may be too large where it is not, or end in the midst of a quotation.
    """
    return pattern_problem(text) or pattern_problem(_whole(text))


def method_problem(method: GrpcMethodMatch) -> str | None:
    """Why the expressions of a method cannot be used, each of them or both together; None if they can."""
    own = (method.service, method.method) if method.type == "RegularExpression" else ()
    problems = (pattern_problem(each) for each in (*own, _whole(_method_text(method))))
    return next((each for each in problems if each is not None), None)


def _method_text(method: GrpcMethodMatch) -> str:
    """The expression of the paths of a method that is more than one path."""
    service, name = method.service, method.method
    if method.type == "Exact":
        service, name = _literal(service), _literal(name)
    return rf"/(?:{service or '[^/]+'})/(?:{name or '[^/]+'})"


def _compared(values: Sequence[ValueCondition]) -> int:
    """What it costs to compare a request with conditions although it lacks what they want (`RouteChoice`): no value
    leads to an expression, and of several values one that others want as well may be all that leads there.
    """
    if any(each.is_expression for each in values):
        return _EXPRESSION_COSTS
    return _VALUES_COST if len(values) > 1 else 0


def _readable(values: Iterable[ValueMatch]) -> bool:
    return all(
        each.type in _VALUES and (each.type == "Exact" or expression_problem(each.value) is None) for each in values
    )


def _literal(text: str) -> str:
    """The expression of the bytes of a text."""
    return "".join(
        re.escape(each) if each.isascii() else "".join(rf"\x{byte:02X}" for byte in each.encode()) for each in text
    )


def _values(values: Iterable[ValueMatch], *, lower: bool) -> tuple[ValueCondition, ...]:
    found: dict[str, ValueCondition] = {}
    for each in values:
        name = each.name.lower() if lower else each.name
        is_expression = each.type == "RegularExpression"
        value = _whole(each.value) if is_expression else each.value
        found.setdefault(name, ValueCondition(name, value, is_expression))
    return tuple(found[name] for name in sorted(found))


def _path(expression: str) -> str:
    """The expression of a path, whose case counts. Those of the model are searched for without regard to case."""
    return f"(?-i){_whole(expression)}"


def _whole(expression: str) -> str:
    """The expression that matches all of a text. No part of one that compiles by itself ends the group."""
    return rf"\A(?:{expression})\z"
