"""Nothing old is said as news, whatever comes twice, late or out of order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ingress.objects.kinds import Kind, Metadata, Service
from ingress.sources.kubernetes.decoding import Bookmark, Changed, Deleted, Identity, Item, Passed, Unreadable
from ingress.sources.kubernetes.replica import Replica
from ingress.sources.kubernetes.resources import Scope
from ingress.sources.kubernetes.scope_events import (
    ScopeEvent,
    ScopeRemoved,
    ScopeReplaced,
    ScopeUnreadable,
    ScopeUpserted,
)
from tests.properties import examples

SCOPE = Scope(Kind.SERVICE)


def item(name: str, version: object, uid: str = "u") -> Item:
    identity = Identity("shop", name, uid, str(version))
    return Item(identity, Service(Metadata(name, "shop", uid, str(version))))


def changed(name: str, version: object, uid: str = "u") -> Changed:
    return Changed(item(name, version, uid))


def deleted(name: str, version: object, uid: str = "u") -> Deleted:
    return Deleted(Identity("shop", name, uid, str(version)))


def replica(*items: Item, version: str = "10") -> Replica:
    made = Replica(SCOPE)
    made.replace(items, version)
    return made


def test_a_list_is_said_whole_with_what_cannot_be_read() -> None:
    bad = Unreadable("shop", "bad", "is malformed")
    nameless = Unreadable("", "", "is malformed")
    items = [item("web", 3), Item(Identity("shop", "bad", "b", "4"), bad), Item(Identity(), nameless)]
    made = Replica(SCOPE)
    assert made.replace(items, "10") == ScopeReplaced(SCOPE, (items[0].content,), (bad, nameless), "10")  # type: ignore[arg-type]
    assert len(made) == 2
    assert made.latest == "10"


def test_an_object_that_is_listed_twice_is_one() -> None:
    replaced = Replica(SCOPE).replace([item("web", 3), item("web", 5)], "10")
    assert [found.metadata.resource_version for found in replaced.objects] == ["5"]


def test_a_change_is_news_once() -> None:
    made = replica(item("web", 3))
    assert made.apply(changed("web", 11)) == ScopeUpserted(SCOPE, item("web", 11).content)  # type: ignore[arg-type]
    assert made.apply(changed("web", 11)) is None
    assert made.latest == "11"


def test_what_is_older_than_what_was_said_is_no_news() -> None:
    made = replica(item("web", 3), version="99")
    assert made.apply(changed("web", 98)) is None
    assert made.apply(changed("other", 7)) is None
    assert made.apply(deleted("web", 99)) is None
    # Compared as numbers, not as texts.
    assert made.apply(changed("web", 100)) is not None


def test_another_uid_replaces_the_object_of_the_same_name() -> None:
    made = replica(item("web", 3))
    assert isinstance(made.apply(changed("web", 11, uid="v")), ScopeUpserted)
    # The end of the first one comes late, and is not that of the second.
    assert made.apply(deleted("web", 12, uid="u")) is None
    assert isinstance(made.apply(deleted("web", 13, uid="v")), ScopeRemoved)


def test_a_deletion_is_news_where_something_was_known() -> None:
    made = replica(item("web", 3))
    assert made.apply(deleted("web", 11)) == ScopeRemoved(SCOPE, "shop", "web")
    assert made.apply(deleted("web", 11)) is None
    assert made.apply(deleted("never", 12)) is None
    assert made.latest == "12"
    assert len(made) == 0


def test_a_bookmark_only_advances() -> None:
    made = replica(version="10")
    assert made.apply(Bookmark("20")) is None
    assert made.latest == "20"
    assert made.apply(Bookmark("15")) is None
    assert made.apply(Bookmark("")) is None
    assert made.latest == "20"
    assert made.apply(changed("web", 18)) is None


def test_what_cannot_be_read_is_said_and_can_be_removed() -> None:
    made = replica(item("web", 3))
    bad = Unreadable("shop", "web", "is malformed")
    broken = Changed(Item(Identity("shop", "web", "u", "11"), bad))
    assert made.apply(broken) == ScopeUnreadable(SCOPE, bad)
    assert made.apply(broken) is None
    assert isinstance(made.apply(deleted("web", 12)), ScopeRemoved)


def test_what_has_no_name_is_said_and_not_remembered() -> None:
    made = replica()
    nameless = Changed(Item(Identity(version="11"), Unreadable("", "", "is malformed")))
    assert isinstance(made.apply(nameless), ScopeUnreadable)
    assert len(made) == 0


def test_versions_that_are_no_numbers_are_compared_for_equality_only() -> None:
    made = replica(item("web", "x1"), version="x9")
    assert made.apply(changed("web", "x1")) is None
    assert isinstance(made.apply(changed("web", "x0")), ScopeUpserted)
    assert isinstance(made.apply(changed("web", "")), ScopeUpserted)


def test_a_list_of_the_past_is_the_new_state_and_can_be_overtaken() -> None:
    made = replica(item("web", 9), version="10")
    made.replace([item("web", 3)], "5")
    assert isinstance(made.apply(changed("web", 9)), ScopeUpserted)


_HISTORY = st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), max_size=12)


@examples(80)
@given(_HISTORY, st.data())
def test_replays_lead_to_the_state_of_a_fresh_list(history: list[tuple[str, bool]], data: st.DataObject) -> None:
    events: list[Changed | Deleted] = []
    present: dict[str, int] = {}
    uid = dict.fromkeys("abc", 0)
    for version, (name, lives) in enumerate(history, 11):
        if lives:
            present[name] = version
            events.append(changed(name, version, f"{name}{uid[name]}"))
        elif present.pop(name, None):
            events.append(deleted(name, version, f"{name}{uid[name]}"))
            uid[name] += 1
    made, position = replica(), 0
    held: dict[str, int] = {}
    while position < len(events):
        begin = data.draw(st.integers(0, position))
        for event in events[begin : position + 1]:
            keep(held, made.apply(event))
        position += 1
    assert held == present
    assert len(made) == len(present)


def keep(held: dict[str, int], event: ScopeEvent | None) -> None:
    match event:
        case ScopeUpserted(object=found):
            # Never backwards.
            version = int(found.metadata.resource_version)
            assert version > held.get(found.metadata.name, 0)
            held[found.metadata.name] = version
        case ScopeRemoved(name=name):
            del held[name]


def test_what_is_not_wanted_is_remembered_and_said_by_name_only() -> None:
    made = Replica(SCOPE)
    replaced = made.replace([item("web", 3), Passed(Identity("shop", "other", "o", "4"))], "10")
    assert [found.metadata.name for found in replaced.objects] == ["web"]
    assert replaced.passed_by == (("shop", "other"),)
    assert len(made) == 2
    assert made.apply(Changed(Passed(Identity("shop", "other", "o", "11")))) is None
    assert made.latest == "11"
    assert made.apply(changed("other", 11, uid="o")) is None
    assert made.apply(deleted("other", 12, uid="o")) == ScopeRemoved(SCOPE, "shop", "other")
