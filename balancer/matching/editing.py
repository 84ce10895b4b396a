"""Makes the editors of a route's responses from what the model says of them. No I/O."""

from __future__ import annotations

from collections.abc import Iterable

from balancer.http.edits import FieldSetter, ResponseEditor, SecureFieldSetter
from balancer.http.messages import Fields
from balancer.matching.cors import CorsEditor
from balancer.matching.cors_policy import CorsPolicyEditor
from balancer.matching.ordered_edits import EditPlan, OrderedEditor
from balancer.matching.relocating import CookieEditor, LocationEditor
from balancer.model.cors import CorsPolicy
from balancer.model.edits import CorsFields, EditFields, ResponseRule, SetFields
from balancer.model.relocation import RewriteCookies, RewriteLocation
from balancer.model.scripts import OrderedEdits


def make_editor(rule: ResponseRule) -> ResponseEditor:
    """The editor of `rule`."""
    match rule:
        case SetFields():
            fields = _encoded(rule.fields)
            return SecureFieldSetter(fields) if rule.secure_only else FieldSetter(fields)
        case EditFields():
            gone = frozenset(name.lower().encode("ascii") for name in (*rule.remove, *(name for name, _ in rule.set)))
            return FieldSetter(_encoded((*rule.set, *rule.add)), replaces=False, removed=gone)
        case OrderedEdits():
            plan = EditPlan(rule)
            return OrderedEditor(plan, [text.encode("latin-1") for text in plan.texts])
        case CorsFields() | CorsPolicy():
            return CorsEditor(rule) if isinstance(rule, CorsFields) else CorsPolicyEditor(rule)
        case RewriteLocation():
            return LocationEditor(rule)
        case RewriteCookies():
            return CookieEditor(rule)


def editors_of(rules: Iterable[ResponseRule]) -> tuple[ResponseEditor, ...]:
    """The editors of the responses of a route or branch, in the order in which they are asked: that of `rules`."""
    return tuple(make_editor(rule) for rule in rules)


def _encoded(fields: Iterable[tuple[str, str]]) -> Fields:
    return tuple((name.encode("ascii"), value.encode("latin-1")) for name, value in fields)
