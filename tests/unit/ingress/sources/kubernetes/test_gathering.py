"""Gathering: whole kinds out of scopes, no more Secrets than needed, and findings for what cannot be followed."""

from __future__ import annotations

import pytest

from ingress.findings import Severity
from ingress.objects.kinds import Kind, KubernetesObject, Metadata, Node, Secret, Service
from ingress.sources.events import Event, Removed, Replaced, Upserted
from ingress.sources.kubernetes.decoding import Identity, Unreadable
from ingress.sources.kubernetes.gathering import Gathering, secret_scopes
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    Condition,
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeState,
    ScopeUnreadable,
    ScopeUpserted,
)

ONE, TWO = Scope(Kind.SERVICE, namespace="one"), Scope(Kind.SERVICE, namespace="two")
CONFIG = Scope(Kind.CONFIG_MAP, namespace="zonal", name="zonal")
SECRETS = Scope(Kind.SECRET, namespace="one")
OWN_NODE = Scope(Kind.NODE, name="node-1")


def service(namespace: str, name: str) -> Service:
    return Service(metadata=Metadata(name=name, namespace=namespace))


def secret(name: str, value: str = "") -> Secret:
    return Secret(metadata=Metadata(name=name, namespace="one"), data={"key": value})


def replaced(scope: Scope, *objects: KubernetesObject, unreadable: tuple[Unreadable, ...] = ()) -> ScopeReplaced:
    return ScopeReplaced(scope, objects, unreadable, "1")


def after(gathering: Gathering, *events: ScopeEvent) -> list[Event]:
    return [event for item in events for event in gathering.apply(item)]


def test_a_kind_is_delivered_once_with_the_objects_of_all_its_scopes() -> None:
    gathering = Gathering([ONE, TWO])
    assert after(gathering, replaced(ONE, service("one", "a")), ScopeUpserted(ONE, service("one", "b"))) == []
    assert not gathering.settled
    [event] = after(gathering, ScopeRemoved(ONE, "one", "a"), replaced(TWO, service("two", "c")))
    assert event == Replaced(Kind.SERVICE, (service("one", "b"), service("two", "c")))
    assert gathering.settled


def test_a_list_of_a_scope_removes_what_only_that_scope_had() -> None:
    gathering = Gathering([ONE, TWO])
    after(gathering, replaced(ONE, service("one", "a"), service("one", "b")), replaced(TWO, service("two", "c")))
    assert after(gathering, replaced(ONE, service("one", "b"))) == [
        Removed(Kind.SERVICE, "one", "a"),
        Upserted(service("one", "b")),
    ]


def test_what_cannot_be_read_any_more_keeps_its_last_state_and_is_a_finding() -> None:
    gathering = Gathering([ONE])
    broken = Unreadable("one", "a", "Service is malformed")
    after(gathering, replaced(ONE, service("one", "a"), service("one", "b")))
    assert after(gathering, replaced(ONE, service("one", "b"), unreadable=(broken,))) == [Upserted(service("one", "b"))]
    [finding] = gathering.findings().findings
    assert (finding.namespace, finding.name, finding.reason) == ("one", "a", "Unreadable")
    assert after(gathering, ScopeRemoved(ONE, "one", "a")) == [Removed(Kind.SERVICE, "one", "a")]
    assert gathering.findings().findings == ()


def test_what_can_be_read_again_is_no_finding_any_more() -> None:
    gathering = Gathering([ONE])
    after(gathering, replaced(ONE), ScopeUnreadable(ONE, Unreadable("one", "a", "malformed")))
    assert gathering.findings().findings
    after(gathering, ScopeUpserted(ONE, service("one", "a")))
    assert gathering.findings().findings == ()


@pytest.mark.parametrize("condition", [Condition.FORBIDDEN, Condition.MISSING])
def test_a_kind_that_may_be_missing_is_delivered_empty_when_it_is_refused(condition: Condition) -> None:
    gathering = Gathering([CONFIG])
    assert after(gathering, ScopeState(CONFIG, condition, "may not")) == [Replaced(Kind.CONFIG_MAP, ())]
    assert gathering.settled
    [finding] = gathering.findings().findings
    assert (finding.kind, finding.namespace, finding.name) == ("ConfigMap", "zonal", "zonal")


@pytest.mark.parametrize("condition", [Condition.FORBIDDEN, Condition.UNREACHABLE])
def test_a_required_kind_that_is_refused_is_not_delivered(condition: Condition) -> None:
    gathering = Gathering([ONE])
    assert after(gathering, ScopeState(ONE, condition, "may not")) == []
    assert not gathering.settled
    assert gathering.findings().findings[0].reason == f"Api{condition.value}"


def test_a_scope_that_is_refused_later_keeps_its_content() -> None:
    gathering = Gathering([ONE])
    after(gathering, replaced(ONE, service("one", "a")))
    assert after(gathering, ScopeState(ONE, Condition.FORBIDDEN, "may not")) == []
    assert after(gathering, ScopeState(ONE, Condition.SYNCED)) == []
    assert gathering.findings().findings == ()


def test_an_outage_after_everything_was_read_is_one_finding_that_says_since_when() -> None:
    gathering = Gathering([ONE, CONFIG])
    after(gathering, replaced(ONE, service("one", "a")), replaced(CONFIG))
    list(gathering.apply(ScopeState(ONE, Condition.UNREACHABLE, "connection refused"), now_epoch_seconds=86400.0))
    first = gathering.findings()
    (finding,) = first.findings
    assert (finding.kind, finding.reason, finding.severity) == ("ApiServer", "ApiUnreachable", Severity.DEGRADED)
    assert "since 1970-01-02 00:00:00 UTC: connection refused." in finding.message
    assert finding.effect == "zonal uses what it read last, and learns of no change."
    for scope in (CONFIG, ONE):
        list(gathering.apply(ScopeState(scope, Condition.UNREACHABLE, "another text"), now_epoch_seconds=86401.0))
    assert gathering.findings() == first, "what is told stays as it is until the outage is over"
    after(gathering, ScopeState(ONE, Condition.SYNCED))
    assert gathering.findings() == first
    after(gathering, ScopeState(CONFIG, Condition.SYNCED))
    assert gathering.findings().findings == ()


def test_settings_that_were_never_read_are_a_missing_protection() -> None:
    gathering = Gathering([ONE, CONFIG])
    after(gathering, replaced(ONE), ScopeState(CONFIG, Condition.UNREACHABLE, "no answer"))
    (finding,) = gathering.findings().findings
    assert (finding.kind, finding.severity) == ("ConfigMap", Severity.UNPROTECTED)


def test_a_refusal_of_what_was_read_says_that_it_is_in_use() -> None:
    gathering = Gathering([ONE, CONFIG])
    after(gathering, replaced(ONE), replaced(CONFIG), ScopeState(CONFIG, Condition.FORBIDDEN, "may not"))
    (finding,) = gathering.findings().findings
    assert (finding.kind, finding.severity) == ("ConfigMap", Severity.DEGRADED)
    assert "uses what it read last" in finding.effect


def test_only_wanted_secrets_are_let_through_and_others_leave() -> None:
    gathering = Gathering([])
    list(gathering.keep_secrets(frozenset({("one", "a")})))
    gathering.follow(SECRETS)
    assert after(gathering, replaced(SECRETS, secret("a"), secret("b"))) == [Upserted(secret("a"))]
    assert after(gathering, ScopeUpserted(SECRETS, secret("b"))) == []
    assert list(gathering.keep_secrets(frozenset({("one", "b")}))) == [Removed(Kind.SECRET, "one", "a")]


def test_a_secret_that_passed_by_before_it_was_wanted_is_awaited() -> None:
    gathering = Gathering([SECRETS])
    after(gathering, replaced(SECRETS, secret("a")))
    list(gathering.keep_secrets(frozenset({("one", "a"), ("one", "b")})))
    assert gathering.awaited_secrets == {("one", "a"), ("one", "b")}
    assert list(gathering.found(("one", "a"), secret("a"))) == [Upserted(secret("a"))]
    assert list(gathering.found(("one", "b"), None)) == []
    assert gathering.settled
    assert after(gathering, replaced(SECRETS)) == [Removed(Kind.SECRET, "one", "a")]


@pytest.mark.parametrize("scope", [SECRETS, Scope(Kind.SECRET)])
def test_what_is_missing_is_owed_by_the_scope_that_should_have_it(scope: Scope) -> None:
    gathering = Gathering([CONFIG, scope, OWN_NODE])
    assert gathering.owing == {(Kind.CONFIG_MAP, "zonal"), (Kind.SECRET, scope.namespace), (Kind.NODE, "")}
    after(gathering, replaced(CONFIG), replaced(scope), replaced(OWN_NODE))
    assert gathering.owing == frozenset()
    list(gathering.keep_secrets(frozenset({("one", "a")})))
    assert gathering.owing == {(Kind.SECRET, scope.namespace)}
    list(gathering.found(("one", "a"), None))
    assert gathering.owing == frozenset()


def test_what_the_watch_said_meanwhile_is_newer_than_what_was_found() -> None:
    gathering = Gathering([SECRETS])
    after(gathering, replaced(SECRETS))
    list(gathering.keep_secrets(frozenset({("one", "a"), ("one", "b")})))
    after(gathering, ScopeUpserted(SECRETS, secret("a", "new")), ScopeRemoved(SECRETS, "one", "b"))
    assert list(gathering.found(("one", "a"), secret("a", "old"))) == []
    assert list(gathering.found(("one", "b"), secret("b", "old"))) == []


def test_a_secret_that_is_wanted_after_a_list_has_passed_it_is_awaited_at_its_end() -> None:
    gathering = Gathering([SECRETS])
    list(gathering.keep_secrets(frozenset({("one", "a")})))
    assert [gathering.keeps(Identity("one", name)) for name in ("a", "b")] == [True, False]
    list(gathering.keep_secrets(frozenset({("one", "a"), ("one", "b")})))
    said = ScopeReplaced(SECRETS, (secret("a"),), (), "1", passed_by=(("one", "b"), ("one", "c")))
    assert after(gathering, said) == [Upserted(secret("a"))]
    assert gathering.awaited_secrets == {("one", "b")}
    assert list(gathering.found(("one", "b"), secret("b"))) == [Upserted(secret("b"))]


def test_a_secret_that_was_found_while_a_list_came_stays() -> None:
    gathering = Gathering([SECRETS])
    after(gathering, replaced(SECRETS))
    list(gathering.keep_secrets(frozenset({("one", "a")})))
    list(gathering.found(("one", "a"), secret("a")))
    assert after(gathering, ScopeReplaced(SECRETS, (), (), "2", passed_by=(("one", "a"),))) == []
    assert gathering.awaited_secrets == frozenset()
    assert after(gathering, replaced(SECRETS)) == [Removed(Kind.SECRET, "one", "a")]


def test_a_secret_that_cannot_be_read_is_no_finding_once_nobody_wants_it() -> None:
    gathering = Gathering([SECRETS])
    list(gathering.keep_secrets(frozenset({("one", "a")})))
    after(gathering, replaced(SECRETS, unreadable=(Unreadable("one", "a", "malformed"),)))
    assert gathering.findings().findings
    list(gathering.keep_secrets(frozenset()))
    assert gathering.findings().findings == ()


@pytest.mark.parametrize("end", [ScopeState(ONE, Condition.SYNCED), replaced(ONE, service("one", "a"))])
def test_a_line_that_could_not_be_read_is_a_finding_until_reading_goes_on(end: ScopeEvent) -> None:
    gathering = Gathering([ONE])
    after(gathering, replaced(ONE, service("one", "a")), ScopeUnreadable(ONE, Unreadable("", "", "no event")))
    assert [finding.message for finding in gathering.findings().findings] == ["no event."]
    after(gathering, end)
    assert gathering.findings().findings == ()


def test_a_listed_object_without_a_name_is_a_finding_until_the_next_list() -> None:
    gathering = Gathering([ONE])
    after(gathering, replaced(ONE, unreadable=(Unreadable("", "", "malformed"),)), ScopeState(ONE, Condition.SYNCED))
    assert gathering.findings().findings
    after(gathering, replaced(ONE))
    assert gathering.findings().findings == ()


def test_the_own_node_is_kept_when_it_is_deleted() -> None:
    gathering = Gathering([OWN_NODE], own_node="node-1")
    node = Node(metadata=Metadata(name="node-1"))
    assert after(gathering, replaced(OWN_NODE, node)) == [Upserted(node)]
    assert after(gathering, ScopeRemoved(OWN_NODE, "", "node-1"), replaced(OWN_NODE)) == []


def test_a_scope_that_is_left_takes_along_what_no_other_has() -> None:
    every, gathering = Scope(Kind.NODE), Gathering([OWN_NODE], own_node="node-1")
    nodes = [Node(metadata=Metadata(name=f"node-{number}")) for number in (1, 2)]
    after(gathering, replaced(OWN_NODE, nodes[0]))
    gathering.follow(every)
    after(gathering, replaced(every, *nodes))
    assert list(gathering.leave(every)) == [Removed(Kind.NODE, "", "node-2")]
    assert after(gathering, ScopeUpserted(every, nodes[1])) == []


@pytest.mark.parametrize(
    ("breadth", "scopes"),
    [
        ("cluster", {Scope(Kind.SECRET)}),
        ("namespace", {Scope(Kind.SECRET, namespace="one"), Scope(Kind.SECRET, namespace="two")}),
        ("name", {Scope(Kind.SECRET, namespace="one", name="a"), Scope(Kind.SECRET, namespace="two", name="b")}),
    ],
)
def test_secrets_are_followed_as_widely_as_asked(breadth: str, scopes: set[Scope]) -> None:
    assert secret_scopes({("one", "a"), ("two", "b")}, breadth=breadth) == scopes
    assert secret_scopes(set(), breadth=breadth) == set()


def test_a_kind_whose_last_scope_is_left_counts_as_empty() -> None:
    routes = Scope(Kind.HTTP_ROUTE)
    gathering = Gathering([ONE, routes])
    assert list(gathering.leave(routes)) == [Replaced(Kind.HTTP_ROUTE, ())]
    gathering.follow(routes)
    assert after(gathering, ScopeState(routes, Condition.SYNCED)) == []
    assert list(gathering.leave(routes)) == []


def test_policies_that_may_not_be_read_are_a_missing_protection() -> None:
    policies, routes = Scope(Kind.BACKEND_TLS_POLICY), Scope(Kind.HTTP_ROUTE)
    gathering = Gathering([policies, routes])
    after(gathering, *(ScopeState(scope, Condition.FORBIDDEN, "may not") for scope in (policies, routes)))
    severities = {finding.kind: finding.severity for finding in gathering.findings().findings}
    assert severities == {"BackendTLSPolicy": Severity.UNPROTECTED, "HTTPRoute": Severity.CLOSED}
