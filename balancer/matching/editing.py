"""Makes the editors of a route's responses from what the model says of them. No I/O."""

from __future__ import annotations

from balancer.http.edits import FieldSetter, ResponseEditor, SecureFieldSetter
from balancer.matching.cors import CorsEditor
from balancer.model.edits import CorsFields, ResponseRule
from balancer.model.routes import Route


def make_editor(rule: ResponseRule) -> ResponseEditor:
    """The editor of `rule`."""
    if isinstance(rule, CorsFields):
        return CorsEditor(rule)
    fields = tuple((name.encode("ascii"), value.encode("latin-1")) for name, value in rule.fields)
    return SecureFieldSetter(fields) if rule.secure_only else FieldSetter(fields)


def editors_of(route: Route) -> tuple[ResponseEditor, ...]:
    """The editors of a route's responses in the order in which they are asked: that of `Route.response_rules`."""
    return tuple(make_editor(rule) for rule in route.response_rules)
