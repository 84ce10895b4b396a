"""Makes the editors of a route's responses from what the model says of them. No I/O."""

from __future__ import annotations

from balancer.http.edits import FieldSetter, ResponseEditor, SecureFieldSetter
from balancer.matching.cors import CorsEditor
from balancer.matching.relocating import CookieEditor, LocationEditor
from balancer.model.edits import CorsFields, ResponseRule, SetFields
from balancer.model.relocation import RewriteCookies, RewriteLocation
from balancer.model.routes import Route


def make_editor(rule: ResponseRule) -> ResponseEditor:
    """The editor of `rule`."""
    match rule:
        case SetFields():
            fields = tuple((name.encode("ascii"), value.encode("latin-1")) for name, value in rule.fields)
            return SecureFieldSetter(fields) if rule.secure_only else FieldSetter(fields)
        case CorsFields():
            return CorsEditor(rule)
        case RewriteLocation():
            return LocationEditor(rule)
        case RewriteCookies():
            return CookieEditor(rule)


def editors_of(route: Route) -> tuple[ResponseEditor, ...]:
    """The editors of a route's responses in the order in which they are asked: that of `Route.response_rules`."""
    return tuple(make_editor(rule) for rule in route.response_rules)
