"""Whether the rules of an HTTPRoute or GRPCRoute can be carried out.

A rule that cannot be is dropped as a whole, and keeps its place: its requests get an error and not the next rule.
"""

from __future__ import annotations

import re
from typing import Final

from ingress.objects.gateway_routes import GrpcMatch, GrpcRule, HttpMatch, HttpRule, SessionPersistence, ValueMatch
from ingress.translation.gateway.conditions import decoded_path, expression_problem, method_problem
from ingress.translation.gateway.durations import duration_seconds
from ingress.translation.gateway.filters import filters_problem, is_free_name

METHODS: Final = frozenset(["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"])
_HTTP_FILTERS: Final = frozenset(("RequestRedirect", "URLRewrite", "CORS", "ExternalAuth"))
_TYPES: Final = frozenset(("Exact", "RegularExpression"))
_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_GRPC_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:\.[A-Za-z_][A-Za-z_0-9]*)*")


def http_rule_problem(rule: HttpRule) -> str | None:
    """Why a rule of an HTTPRoute cannot be carried out, as a sentence with its repair; None if it can."""
    matches = rule.matches or (HttpMatch(),)
    for each in matches:
        if (problem := _http_match_problem(each)) is not None:
            return problem
    prefix_only = all(each.path.type == "PathPrefix" for each in matches)
    if (problem := filters_problem(rule.filters, prefix_only=prefix_only)) is not None:
        return problem
    return _backends_problem(rule, prefix_only=prefix_only) or _times_problem(rule)


def grpc_rule_problem(rule: GrpcRule) -> str | None:
    """Why a rule of a GRPCRoute cannot be carried out, as a sentence with its repair; None if it can."""
    for each in rule.matches:
        if (problem := _grpc_match_problem(each)) is not None:
            return problem
    filters = (*rule.filters, *(each for backend in rule.backend_refs for each in backend.filters))
    if any(each.type in _HTTP_FILTERS for each in filters):
        return "A filter of a GRPCRoute is for HTTPRoutes only: remove it."
    return (
        filters_problem(rule.filters, prefix_only=False)
        or _shares_problem(rule, prefix_only=False)
        or _session_problem(rule.session_persistence)
    )


def _backends_problem(rule: HttpRule, *, prefix_only: bool) -> str | None:
    if rule.backend_refs and any(each.type == "RequestRedirect" for each in rule.filters):
        return "A rule with RequestRedirect has backendRefs: remove one of the two."
    return _shares_problem(rule, prefix_only=prefix_only)


def _shares_problem(rule: HttpRule | GrpcRule, *, prefix_only: bool) -> str | None:
    if any(each.weight < 0 for each in rule.backend_refs):
        return "A weight is negative: use 0 or more."
    problems = (filters_problem(each.filters, prefix_only=prefix_only) for each in rule.backend_refs)
    return next((each for each in problems if each is not None), None)


def _times_problem(rule: HttpRule) -> str | None:
    backoff = rule.retry.backoff if rule.retry else ""
    return _durations_problem(rule.timeouts.request, rule.timeouts.backend_request, backoff) or _session_problem(
        rule.session_persistence
    )


def _session_problem(session: SessionPersistence | None) -> str | None:
    if session is None:
        return None
    if session.type not in {"Cookie", "Header"}:
        return f"A session by {session.type} is not known: use Cookie or Header."
    if session.cookie_config.lifetime_type not in {"Session", "Permanent"}:
        return (
            f"A cookie of the lifetime {session.cookie_config.lifetime_type!r} is not known: use Session or Permanent."
        )
    if session.session_name and not is_free_name(session.session_name):
        return f"{session.session_name!r} cannot name a session: use another name."
    return _durations_problem(session.absolute_timeout)


def _durations_problem(*texts: str) -> str | None:
    for text in texts:
        if text and duration_seconds(text) is None:
            return f"{text!r} is no duration: write it as 1h30m or 500ms."
    return None


def _http_match_problem(item: HttpMatch) -> str | None:
    if item.path.type not in {"Exact", "PathPrefix", "RegularExpression"}:
        return f"A path of the type {item.path.type!r} is not known: use Exact, PathPrefix or RegularExpression."
    if item.path.type == "RegularExpression" and (problem := _expression_problem(item.path.value)) is not None:
        return problem
    if item.path.type != "RegularExpression" and decoded_path(item.path.value) is None:
        return f"The path {item.path.value!r} does not begin with /, or is no UTF-8: correct it."
    if item.method and item.method not in METHODS:
        return f"The method {item.method!r} is not known: use one of {', '.join(sorted(METHODS))}."
    return _values_problem((*item.headers, *item.query_params))


def _grpc_match_problem(item: GrpcMatch) -> str | None:
    if item.method is not None:
        if item.method.type not in _TYPES:
            return f"A method of the type {item.method.type!r} is not known: use Exact."
        if not item.method.service and not item.method.method:
            return "A method match names neither a service nor a method: name one."
        for text in filter(None, (item.method.service, item.method.method)):
            if item.method.type == "Exact" and not _GRPC_NAME.fullmatch(text):
                return f"{text!r} is no name of a service or method: correct it."
            if item.method.type == "RegularExpression" and (problem := _expression_problem(text)) is not None:
                return problem
        if method_problem(item.method) is not None:
            return "The expressions of service and method cannot be used together: write shorter ones."
    return _values_problem(item.headers)


def _values_problem(values: tuple[ValueMatch, ...]) -> str | None:
    for each in values:
        if each.type not in _TYPES:
            return f"A match of the type {each.type!r} is not known: use Exact or RegularExpression."
        if each.type == "RegularExpression" and (problem := _expression_problem(each.value)) is not None:
            return problem
        if not _NAME.fullmatch(each.name):
            return f"{each.name!r} is no name of a header field or query parameter: correct it."
    return None


def _expression_problem(text: str) -> str | None:
    if (problem := expression_problem(text)) is not None:
        return f"The expression {text!r} cannot be used, because {problem}: write it in the syntax of RE2."
    return None
