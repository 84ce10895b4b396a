"""What becomes an Event, when it is said, and how it looks on the wire."""

from __future__ import annotations

import json
from collections import Counter

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from ingress.findings import Finding, Severity
from ingress.objects.kinds import KubernetesObject
from ingress.objects.names import SUBDOMAIN
from ingress.writing.notices import Notice, NoticeLimits, Notices, encode_event, event_name, is_present, notices_of
from tests.properties import examples
from tests.unit.ingress.cluster import ingress, inventory, service

LIMITS = NoticeLimits()


def notice(note: str = "a", name: str = "web", uid: str = "u", namespace: str = "shop") -> Notice:
    return Notice(kind="Ingress", namespace=namespace, name=name, uid=uid, reason="Conflict", note=note)


def finding(kind: str = "Ingress", name: str = "web", namespace: str = "shop") -> Finding:
    return Finding(kind, namespace, name, "Conflict", "It is taken.", "The older one is served.", Severity.MISROUTED)


def with_uid(item: KubernetesObject, uid: str) -> KubernetesObject:
    return msgspec.structs.replace(item, metadata=msgspec.structs.replace(item.metadata, uid=uid))


def said(notices: Notices, now: float) -> list[str]:
    """Everything that may be said at one moment."""
    found = []
    while (taken := notices.take(now)) is not None:
        found.append(taken.note)
    return found


def test_what_is_new_is_said_once() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice("a"), notice("b")], 0.0)
    assert said(notices, 0.0) == ["a", "b"]
    notices.follow([notice("a"), notice("b"), notice("c")], 1.0)
    assert said(notices, 1.0) == ["c"]
    assert notices.wait_seconds(1.0) is None


def test_what_is_no_longer_true_is_not_said() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice("a"), notice("b")], 0.0)
    notices.follow([notice("b")], 1.0)
    assert said(notices, 1.0) == ["b"]


def test_what_comes_back_soon_is_not_said_again_and_later_it_is() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice()], 0.0)
    assert said(notices, 0.0) == ["a"]
    notices.follow([], 1.0)
    notices.follow([notice()], 599.0)
    assert said(notices, 599.0) == []
    notices.follow([], 600.0)
    notices.follow([notice()], 1300.0)
    assert said(notices, 1300.0) == ["a"]


def test_what_stays_true_is_said_once_however_long_it_stays() -> None:
    notices = Notices(LIMITS)
    for now in range(0, 7200, 1800):
        notices.follow([notice()], float(now))
        assert said(notices, float(now)) == (["a"] if now == 0 else [])


def test_the_same_words_about_a_new_object_of_that_name_are_news() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice(uid="1")], 0.0)
    assert said(notices, 0.0) == ["a"]
    notices.follow([notice(uid="2")], 1.0)
    assert said(notices, 1.0) == ["a"]


def test_one_object_gets_its_burst_and_the_rest_is_dropped_and_counted() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice(f"{number:02}") for number in range(30)], 0.0)
    assert len(said(notices, 0.0)) == 25
    assert notices.dropped == 5
    notices.follow([notice("later"), notice("last")], 300.0)
    assert said(notices, 300.0) == ["last"]


def test_the_most_harmful_is_said_first_even_if_it_came_last() -> None:
    notices = Notices(NoticeLimits(burst=1))
    notices.follow([notice("cosmetic")], 0.0)
    harmful = msgspec.structs.replace(notice("closed"), harm=0)
    notices.follow([notice("cosmetic"), notice("also cosmetic"), harmful], 0.0)
    assert said(notices, 0.0) == ["closed"]


def test_harmless_notices_about_an_object_do_not_use_up_the_burst_of_harmful_ones() -> None:
    notices = Notices(NoticeLimits(object_burst=2))
    notices.follow([notice(str(number)) for number in range(5)], 0.0)
    assert len(said(notices, 0.0)) == 2
    harmful = msgspec.structs.replace(notice("closed"), harm=0)
    notices.follow([harmful], 1.0)
    assert said(notices, 1.0) == ["closed"]


def test_everything_together_is_paced() -> None:
    notices = Notices(LIMITS)
    notices.follow([notice(name=f"web-{number}") for number in range(60)], 0.0)
    assert len(said(notices, 0.0)) == 50
    assert notices.wait_seconds(0.0) == 1.0
    assert len(said(notices, 3.0)) == 3


def test_what_waits_is_bounded() -> None:
    notices = Notices(NoticeLimits(waiting=10, burst=100))
    notices.follow([notice(name=f"web-{number:03}") for number in range(30)], 0.0)
    assert len(said(notices, 0.0)) == 10
    assert notices.dropped == 20


def crowd(namespace: str, count: int) -> list[Notice]:
    """Findings about so many objects of a namespace."""
    return [notice(f"{namespace} {number:04}", f"web-{number:04}", namespace=namespace) for number in range(count)]


def test_namespaces_take_turns_however_many_findings_one_of_them_has() -> None:
    notices = Notices(LIMITS)
    notices.follow([*crowd("aaa", 500), *crowd("shop", 3), *crowd("zzz", 1)], 0.0)
    first = said(notices, 0.0)
    assert first[:5] == ["aaa 0000", "shop 0000", "zzz 0000", "aaa 0001", "shop 0001"]
    assert len(first) == 50
    # Who comes later waits for one turn of each.
    notices.follow([*crowd("aaa", 500), *crowd("bbb", 1)], 1.0)
    assert said(notices, 2.0) == ["aaa 0046", "bbb 0000"]


def test_one_namespace_leaves_others_room_to_wait() -> None:
    notices = Notices(NoticeLimits(waiting=10, burst=100))
    notices.follow(crowd("aaa", 30), 0.0)
    assert notices.dropped == 20
    notices.follow([*crowd("aaa", 30), *crowd("bbb", 2), *crowd("ccc", 9)], 1.0)
    counts = Counter(note.partition(" ")[0] for note in said(notices, 1.0))
    assert counts == {"aaa": 4, "bbb": 2, "ccc": 4}


@examples(50)
@given(wanted=st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 20), max_size=6), waiting=st.integers(1, 30))
def test_what_waits_is_shared_so_that_nobody_is_left_out_for_who_has_more(wanted: dict[str, int], waiting: int) -> None:
    notices = Notices(NoticeLimits(waiting=waiting, burst=1000))
    notices.follow([each for namespace, count in wanted.items() for each in crowd(namespace, count)], 0.0)
    told = Counter(note.partition(" ")[0] for note in said(notices, 0.0))
    assert told.total() == min(waiting, sum(wanted.values()))
    assert notices.dropped == sum(wanted.values()) - told.total()
    most = max(told.values(), default=0)
    assert all(told[namespace] >= min(count, most - 1) for namespace, count in wanted.items())


def test_what_is_remembered_is_bounded() -> None:
    notices = Notices(NoticeLimits(remembered=2))
    for now, note in enumerate("abc"):
        notices.follow([notice(note)], float(now))
        assert said(notices, float(now)) == [note]
    notices.follow([notice("c")], 3.0)
    notices.follow([notice("a"), notice("c")], 4.0)
    assert said(notices, 4.0) == ["a"]


@given(
    rounds=st.lists(
        st.tuples(st.floats(0, 400), st.lists(st.tuples(st.sampled_from("abcdef"), st.sampled_from("xyz")))),
        max_size=12,
    )
)
def test_nothing_untrue_is_said_and_nothing_twice_within_the_time(
    rounds: list[tuple[float, list[tuple[str, str]]]],
) -> None:
    notices, now, last = Notices(NoticeLimits(burst=5, object_burst=3)), 0.0, dict[Notice, float]()
    for pause, true in rounds:
        now += pause
        standing = [notice(note, name) for note, name in true]
        notices.follow(standing, now)
        while (taken := notices.take(now)) is not None:
            assert taken in standing
            assert now - last.get(taken, -1e9) >= LIMITS.again_seconds
            last[taken] = now


def test_findings_about_what_exists_become_notices_with_its_uid() -> None:
    known = inventory(with_uid(ingress(), "u1"), with_uid(service("cart"), "u2"))
    found = [
        finding(),
        finding(name="gone"),
        finding("Service", "cart"),
        finding("Service", "gone"),
        finding("Secret", "cart"),
        finding("File", "a.yaml", ""),
    ]
    assert [(item.kind, item.name, item.uid) for item in notices_of(found, known)] == [
        ("Ingress", "web", "u1"),
        ("Service", "cart", "u2"),
    ]
    assert notices_of(found, known)[0].note == "It is taken. The older one is served."


def test_an_event_has_the_shape_that_a_real_api_server_took() -> None:
    event = json.loads(encode_event(notice(), instance="pod-1", epoch_seconds=1795240800.0))
    assert event.pop("metadata") == {"name": event_name(notice()), "namespace": "shop"}
    assert event == {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "eventTime": "2026-11-21T06:00:00.000000Z",
        "reportingController": "zonal-ingress.io/controller",
        "reportingInstance": "pod-1",
        "action": "Translate",
        "reason": "Conflict",
        "regarding": {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "Ingress",
            "namespace": "shop",
            "name": "web",
            "uid": "u",
        },
        "note": "a",
        "type": "Warning",
    }


def test_a_uid_that_is_not_known_is_left_out() -> None:
    event = json.loads(encode_event(notice(uid=""), instance="pod-1", epoch_seconds=0.0))
    assert "uid" not in event["regarding"]


def test_the_name_of_an_event_is_what_it_says() -> None:
    assert event_name(notice()) == event_name(notice())
    others = {event_name(other) for other in (notice(), notice("b"), notice(uid="v"), notice(name="web2"))}
    assert len(others) == 4


@examples(40)
@given(note=st.text(max_size=1500), name=st.sampled_from(["a", "a" * 253, "b." * 126 + "b", "c-" * 120 + "c"]))
def test_every_event_stays_within_the_limits_of_the_api(note: str, name: str) -> None:
    event = json.loads(encode_event(notice(note, name), instance="p" * 300, epoch_seconds=0.0))
    assert len(event["note"].encode()) <= 1024
    assert len(event["reportingInstance"]) <= 128
    assert SUBDOMAIN.fullmatch(event["metadata"]["name"])
    assert event["note"] == note or event["note"].endswith("…")


def lasting(note: str = "a") -> Notice:
    return msgspec.structs.replace(notice(note), lasts=True, harm=0)


def test_what_was_said_and_is_over_is_said_to_be_over_once() -> None:
    notices = Notices(LIMITS)
    notices.follow([lasting()], 0.0)
    (first,) = iter(lambda: notices.take(0.0), None)
    notices.follow([], 1.0)
    (end,) = iter(lambda: notices.take(1.0), None)
    assert (end.note, end.reason, end.is_over) == ("No longer so: a", first.reason, True)
    event = msgspec.json.decode(encode_event(end, instance="zonal-1", epoch_seconds=0.0))
    assert event["type"] == "Normal"
    notices.follow([], 2.0)
    assert notices.take(2.0) is None


def test_what_returns_after_its_end_is_said_again_under_another_name() -> None:
    notices, names = Notices(LIMITS), []
    for now in range(4):
        notices.follow([] if now % 2 else [lasting()], float(now))
        taken = notices.take(float(now))
        assert taken is not None
        names.append(event_name(taken))
    assert len(set(names)) == 4


def test_the_end_of_what_was_never_said_or_whose_object_is_gone_is_not_said() -> None:
    notices = Notices(LIMITS)
    notices.follow([lasting()], 0.0)
    notices.follow([], 1.0)
    assert notices.take(1.0) is None
    notices.follow([lasting()], 2.0)
    assert said(notices, 2.0) == ["a"]
    notices.follow([], 3.0, present=lambda _: False)
    assert notices.take(3.0) is None


def test_another_text_about_the_same_is_no_end() -> None:
    notices = Notices(LIMITS)
    notices.follow([lasting("one is wrong")], 0.0)
    assert said(notices, 0.0) == ["one is wrong"]
    notices.follow([lasting("two are wrong")], 1.0)
    assert said(notices, 1.0) == ["two are wrong"]


def test_an_object_is_present_while_it_is_the_same() -> None:
    known = inventory(with_uid(ingress("web"), "u"), with_uid(service("cart"), "s"))
    assert is_present(notice(), known)
    assert not is_present(notice(uid="other"), known)
    of_service = msgspec.structs.replace(notice(name="cart", uid="s"), kind="Service")
    assert is_present(of_service, known)
    assert not is_present(msgspec.structs.replace(of_service, name="gone"), known)
