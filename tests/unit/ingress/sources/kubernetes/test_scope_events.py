"""What is said of a scope is comparable: equal content is an equal value."""

from __future__ import annotations

from ingress.objects.kinds import Kind, Metadata, Service
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import Condition, ScopeReplaced, ScopeState, ScopeUpserted

SCOPE = Scope(Kind.SERVICE, "shop")


def test_events_of_one_content_are_one_value() -> None:
    assert ScopeUpserted(SCOPE, Service(Metadata("web"))) == ScopeUpserted(SCOPE, Service(Metadata("web")))
    assert ScopeReplaced(SCOPE, (), (), "1") != ScopeReplaced(SCOPE, (), (), "2")
    assert {ScopeState(SCOPE, Condition.SYNCED), ScopeState(SCOPE, Condition.SYNCED, "")} == {
        ScopeState(SCOPE, Condition.SYNCED)
    }


def test_the_name_of_a_condition_is_a_reason() -> None:
    # Reasons of findings and label values of metrics are CamelCase.
    assert all(condition.value.isalpha() and condition.value[0].isupper() for condition in Condition)
