"""From the matches of routes to places in the model: a path and its kind, and what a request must show beside it.

An expression must match all of a path, value or name. The API leaves that open, and what is searched for would take
more than its author sees in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

import msgspec

from balancer.matching.regexes import PatternError, compile_pattern
from balancer.model.conditions import Conditions, ValueCondition
from balancer.model.routes import PathKind
from ingress.objects.gateway_routes import GrpcMatch, HttpMatch, ValueMatch

_KINDS = {"Exact": PathKind.EXACT, "PathPrefix": PathKind.PREFIX, "RegularExpression": PathKind.REGEX}
_VALUES = frozenset(("Exact", "RegularExpression"))
# The content type of calls (gRPC over HTTP/2, "Requests").
_CALL = ValueCondition("content-type", r"\Aapplication/grpc(?:[+;]|\z)", is_expression=True)


class MatchPlace(msgspec.Struct, frozen=True):
    """Where a match stands in the table of a host. `rank` is what of it counts before the age of its route."""

    path: str
    kind: PathKind
    conditions: Conditions = Conditions()
    expression: str = ""
    rank: tuple[int, ...] = ()


def http_place(match: HttpMatch) -> MatchPlace | None:
    """The place of a match of an HTTPRoute; None if it cannot be read, so that it has none.

    Of equal names the first one counts (HTTPRouteMatch).
    """
    kind, path = _KINDS.get(match.path.type), match.path.value
    if kind is None or not _readable((*match.headers, *match.query_params)):
        return None
    if kind is PathKind.REGEX and not _compiles(path):
        return None
    if kind is not PathKind.REGEX:
        decoded = decoded_path(path)
        if decoded is None:
            return None
        path = decoded
    fields, query = _values(match.headers, lower=True), _values(match.query_params, lower=False)
    rank = (-len(path) if kind is PathKind.REGEX else 0, -bool(match.method), -len(fields), -len(query))
    conditions = Conditions(match.method, fields, query)
    return MatchPlace(path, kind, conditions, _path(path) if kind is PathKind.REGEX else "", rank)


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
    method = match.method
    if method is None or not (method.service or method.method):
        return MatchPlace("/", PathKind.PREFIX, conditions, rank=(0, 0, -len(fields), 0))
    service, name = method.service, method.method
    if method.type == "Exact" and service:
        path, kind = (f"/{service}/{name}", PathKind.EXACT) if name else (f"/{service}", PathKind.PREFIX)
        return MatchPlace(path, kind, conditions, rank=(-len(service), -len(name), -len(fields), 0))
    rank = (-len(service), -len(name), -len(fields), 0)
    if method.type == "Exact":
        service, name = "", re.escape(name)
    elif method.type != "RegularExpression":
        return None
    if not (_compiles(service) and _compiles(name)):
        return None
    expression = _path(rf"/(?:{service or '[^/]+'})/(?:{name or '[^/]+'})")
    return MatchPlace(expression, PathKind.REGEX, conditions, expression, rank)


def service_expression(path: str) -> str:
    """The expression of all methods of a service, whose place is the prefix `path`."""
    return _path(f"{re.escape(path)}/[^/]+")


def _readable(values: Iterable[ValueMatch]) -> bool:
    return all(each.type in _VALUES and (each.type == "Exact" or _compiles(each.value)) for each in values)


def _compiles(expression: str) -> bool:
    try:
        compile_pattern(expression)
    except PatternError:
        return False
    return True


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
    """The expression that matches all of a text. `expression` compiles by itself, so no part of it ends the group."""
    return rf"\A(?:{expression})\z"
