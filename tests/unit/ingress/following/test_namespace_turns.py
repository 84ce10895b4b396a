"""Whose changes the next translation takes: those of a namespace that has just had much wait, and all others go on."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from ingress.following.namespace_turns import MOST_UNITS, NamespaceTurns
from ingress.objects.kinds import Kind, KubernetesObject
from ingress.sources.events import Event, Removed, Replaced, Upserted
from tests.unit.ingress.cluster import config_map, endpoint_slice, ingress, rule, service, tls_secret


def change(namespace: str, name: str = "web", *, hosts: int = 1, path: str = "/") -> Upserted:
    rules = (rule(f"{number}.{path[1:]}x.test") for number in range(hosts))
    return Upserted(ingress(name, *rules, namespace=namespace))


def told(turns: NamespaceTurns, event: Event, now: float, *, is_newer: bool = True) -> bool:
    """Whether `event` goes on at once."""
    if turns.keep(event, now, is_newer=is_newer):
        return False
    turns.brought(event)
    return True


def translated(turns: NamespaceTurns, now: float, seconds: float) -> None:
    turns.translated(turns.begin(), now, seconds)


def taken(turns: NamespaceTurns, now: float) -> Sequence[Event]:
    found = [event for event, _ in turns.take(now)]
    for event in found:
        turns.brought(event)
    return found


def test_a_namespace_rests_until_its_change_is_served_and_as_long_again() -> None:
    turns = NamespaceTurns()
    assert told(turns, change("greedy", hosts=500), 0.0)
    translated(turns, 1.0, 1.0)
    assert not told(turns, change("greedy", path="/2"), 1.1)
    turns.see(2.0, is_in_use=False)
    assert taken(turns, 2.0) == []
    turns.see(2.5, is_in_use=True)
    assert turns.due_at(2.5) == 5.0  # 1.0 s to translate, and 1.5 s until it was served
    assert taken(turns, 4.9) == []
    assert taken(turns, 5.0) == [change("greedy", path="/2")]
    assert turns.due_at(5.0) is None


def test_a_grant_that_goes_does_not_wait_even_if_its_namespace_rests() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy", hosts=500), 0.0)
    translated(turns, 1.0, 1.0)
    assert not told(turns, change("greedy", path="/2"), 1.1)
    assert told(turns, Removed(Kind.REFERENCE_GRANT, "greedy", "grant"), 1.2)


def test_another_namespace_does_not_wait_meanwhile() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy", hosts=500), 0.0)
    translated(turns, 1.0, 1.0)
    assert not told(turns, change("greedy", path="/2"), 1.1)
    assert told(turns, change("modest"), 1.2)
    translated(turns, 1.25, 0.01)
    turns.see(1.26, is_in_use=True)
    assert told(turns, change("modest", path="/2"), 1.3)
    assert taken(turns, 1.3) == []


def test_who_changed_little_in_a_long_translation_rests_for_its_part() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy", hosts=1000), 0.0)
    told(turns, change("modest"), 0.0)
    translated(turns, 1.0, 1.0)
    turns.see(1.0, is_in_use=True)
    assert told(turns, change("modest", path="/2"), 1.01)
    assert not told(turns, change("greedy", path="/2"), 1.9)


def test_a_worker_that_hangs_is_waited_for_four_translations_at_most() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy"), 0.0)
    translated(turns, 1.0, 0.5)
    turns.see(2.9, is_in_use=False)
    assert not told(turns, change("greedy", path="/2"), 2.9)
    turns.see(3.0, is_in_use=False)
    assert turns.due_at(3.0) == 5.5


def test_who_shares_the_time_with_others_that_wait_rests_longer() -> None:
    turns = NamespaceTurns()
    for namespace in ("one", "two"):
        assert told(turns, change(namespace), 0.0)
    translated(turns, 1.0, 1.0)
    assert not told(turns, change("two", path="/2"), 1.0)
    turns.see(1.0, is_in_use=True)
    assert not told(turns, change("one", path="/2"), 1.0)
    assert taken(turns, 1.5) == [change("two", path="/2")]
    assert taken(turns, 1.9) == []
    assert taken(turns, 2.0) == [change("one", path="/2")]


def test_a_translation_takes_a_bounded_part_of_what_a_namespace_changes_at_once() -> None:
    turns = NamespaceTurns()
    changes = [change("greedy", f"web-{number}", hosts=MOST_UNITS // 4) for number in range(6)]
    assert [told(turns, each, 0.0) for each in changes] == [True] * 4 + [False] * 2
    assert told(turns, change("modest"), 0.0)
    assert turns.due_at(0.0) is None
    translated(turns, 0.2, 0.1)
    turns.see(0.2, is_in_use=True)
    assert not told(turns, changes[0], 0.2)
    assert taken(turns, 0.3) == [*changes[4:], changes[0]]


def test_one_object_is_taken_whole_however_large() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy"), 0.0)
    translated(turns, 1.0, 1.0)
    large = change("greedy", hosts=3 * MOST_UNITS)
    told(turns, large, 1.0)
    told(turns, change("greedy", "other"), 1.0)
    turns.see(1.0, is_in_use=True)
    assert taken(turns, 2.0) == [large]
    assert taken(turns, 2.0) == []
    translated(turns, 3.0, 0.0)
    turns.see(3.0, is_in_use=True)
    assert taken(turns, 3.0) == [change("greedy", "other")]


def test_of_one_object_the_newest_version_goes_on_in_its_place() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy"), 0.0)
    translated(turns, 1.0, 1.0)
    gone = Removed(Kind.INGRESS, "greedy", "web")
    for event in (change("greedy", path="/2"), change("greedy", "blog"), gone):
        assert not told(turns, event, 1.0)
    assert turns.take_all() == [gone, change("greedy", "blog")]
    assert turns.take_all() == []


def test_a_list_of_a_kind_makes_obsolete_what_waits_of_it() -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy"), 0.0)
    translated(turns, 1.0, 1.0)
    for event in (change("greedy", path="/2"), Upserted(service(namespace="greedy"))):
        assert not told(turns, event, 1.0)
    assert told(turns, Replaced(Kind.INGRESS, ()), 1.0)
    assert turns.take_all() == [Upserted(service(namespace="greedy"))]


@pytest.mark.parametrize(
    "item",
    [endpoint_slice("one", namespace="greedy"), config_map(), tls_secret("t", b"", b"", namespace="greedy")],
)
def test_endpoints_never_wait_nor_does_the_first_version_of_what_a_model_wants(item: KubernetesObject) -> None:
    turns = NamespaceTurns()
    told(turns, change("greedy"), 0.0)
    told(turns, change(item.metadata.namespace), 0.0)
    translated(turns, 1.0, 1.0)
    assert told(turns, Upserted(item), 1.0, is_newer=False)
    assert told(turns, Upserted(item), 1.0) is (item.kind is Kind.ENDPOINT_SLICE)


def test_what_belongs_to_no_namespace_rests_only_by_itself() -> None:
    turns = NamespaceTurns()
    told(turns, Replaced(Kind.NODE, ()), 0.0)
    assert turns.rest_of_everybody(0.0) == 0.0
    translated(turns, 1.0, 1.0)
    turns.see(1.0, is_in_use=True)
    told(turns, Replaced(Kind.NODE, ()), 1.1)
    assert turns.rest_of_everybody(1.1) == 2.0
    told(turns, change("modest"), 1.1)
    assert turns.rest_of_everybody(1.1) == 1.1
