"""The backlog: one event an object, and the same end as without it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import Kind, Metadata, Node, Service
from ingress.sources.events import Event, Removed, Replaced, SourceFindings, Upserted
from ingress.sources.inventory import Inventory
from ingress.sources.kubernetes.backlog import Backlog
from tests.properties import examples


def node(name: str, zone: str) -> Node:
    return Node(metadata=Metadata(name=name, labels={"zone": zone}))


def service(name: str, version: str) -> Service:
    return Service(metadata=Metadata(name=name, namespace="shop", labels={"version": version}))


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2", "3"])
NODES = st.builds(node, NAMES, VALUES)
SERVICES = st.builds(service, NAMES, VALUES)
EVENTS = st.one_of(
    st.builds(Upserted, st.one_of(NODES, SERVICES)),
    st.builds(lambda name: Removed(Kind.NODE, "", name), NAMES),
    st.builds(lambda name: Removed(Kind.SERVICE, "shop", name), NAMES),
    st.lists(NODES, max_size=3).map(lambda items: Replaced(Kind.NODE, tuple(items))),
    st.lists(SERVICES, max_size=3).map(lambda items: Replaced(Kind.SERVICE, tuple(items))),
    st.just(SourceFindings("kubernetes", ())),
)


def drained(backlog: Backlog) -> list[Event]:
    events = []
    while (event := backlog.take()) is not None:
        events.append(event)
    return events


def content(events: list[Event]) -> tuple[object, ...]:
    inventory = Inventory()
    for event in events:
        inventory.apply(event)
    return tuple((inventory.node(name), inventory.service("shop", name)) for name in "abc")


@examples(300)
@given(st.lists(st.one_of(EVENTS, st.none()), max_size=40))
def test_taking_late_means_the_same_as_taking_at_once(steps: list[Event | None]) -> None:
    backlog, taken = Backlog(), list[Event]()
    for step in steps:
        if step is None:
            taken += drained(backlog)
        else:
            backlog.add(step)
            assert len(backlog) <= 9
    taken += drained(backlog)
    assert content(taken) == content([step for step in steps if step is not None])


@pytest.mark.large
def test_a_hundred_thousand_events_of_one_object_are_one() -> None:
    backlog = Backlog()
    for number in range(100_000):
        backlog.add(Upserted(service("a", str(number))))
    assert drained(backlog) == [Upserted(service("a", "99999"))]


def test_the_newest_findings_come_last() -> None:
    backlog = Backlog()
    backlog.add(SourceFindings("kubernetes", ()))
    backlog.add(Removed(Kind.NODE, "", "a"))
    assert drained(backlog) == [Removed(Kind.NODE, "", "a"), SourceFindings("kubernetes", ())]


def test_a_removed_grant_goes_before_everything_that_waits() -> None:
    backlog = Backlog()
    backlog.add(Upserted(service("a", "1")))
    backlog.add(Replaced(Kind.NODE, ()))
    removed = Removed(Kind.REFERENCE_GRANT, "data", "web")
    backlog.add(removed)
    assert backlog.holds({Kind.REFERENCE_GRANT})
    assert backlog.take() == removed
    assert drained(backlog) == [Replaced(Kind.NODE, ()), Upserted(service("a", "1"))]


def test_a_list_of_grants_makes_what_changed_before_obsolete() -> None:
    backlog = Backlog()
    backlog.add(Upserted(service("a", "1")))
    backlog.add(Removed(Kind.REFERENCE_GRANT, "data", "web"))
    backlog.add(Replaced(Kind.REFERENCE_GRANT, ()))
    after = Removed(Kind.REFERENCE_GRANT, "data", "api")
    backlog.add(after)
    assert drained(backlog) == [Replaced(Kind.REFERENCE_GRANT, ()), after, Upserted(service("a", "1"))]


def test_what_waits_is_known_by_kind() -> None:
    backlog = Backlog()
    backlog.add(Upserted(node("a", "1")))
    backlog.add(Replaced(Kind.SERVICE, ()))
    assert backlog.holds({Kind.NODE})
    assert backlog.holds({Kind.SECRET, Kind.SERVICE})
    assert not backlog.holds({Kind.SECRET, Kind.INGRESS})
    drained(backlog)
    assert not backlog.holds({Kind.NODE, Kind.SERVICE})
