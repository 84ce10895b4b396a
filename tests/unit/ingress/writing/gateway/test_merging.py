"""What others wrote stays, what is ours is right, and nothing is due where nothing differs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from ingress.objects.metadata import NO_STATUS
from ingress.translation.gateway.standings import (
    Address,
    AncestorStanding,
    Feature,
    GatewayClassStatus,
    GatewayStatus,
    ListenerSetStatus,
    ListenerStanding,
    ParentName,
    ParentStanding,
    PolicyStatus,
    RouteStatus,
    Status,
    StatusCondition,
    SupportedKind,
)
from ingress.writing.gateway.merging import due_patch, judged_generation, stale_patch

OURS, THEIRS = "zonal-ingress.io/controller", "example.net/other"
OLD, NOW = "2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"
GROUP = "gateway.networking.k8s.io"


def condition(kind: str = "Accepted", status: str = "True", *, generation: int = 1, said: str = "x") -> StatusCondition:
    return StatusCondition(kind, status, kind if status == "True" else "Bad", said, generation)


def written(item: StatusCondition, at: str = OLD) -> dict[str, Any]:
    return {**msgspec.to_builtins(item), "lastTransitionTime": at}


def raw(document: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(document))


def due(current: Any, wanted: Status, now: str = NOW, generation: int = 3) -> Any:
    """The patch as a document."""
    present = NO_STATUS if current is None else raw(current)
    found = due_patch(present, wanted, namespace="infra", controller=OURS, now=now, generation=generation)
    return found if found is None else msgspec.json.decode(msgspec.json.encode(found))


def parent(name: str = "gw", *conditions: StatusCondition, section: str = "") -> ParentStanding:
    return ParentStanding(
        ParentName(GROUP, "Gateway", "infra", name, section_name=section), OURS, conditions or (condition(),)
    )


def entry(name: str, *conditions: dict[str, Any], controller: str = OURS, **reference: Any) -> dict[str, Any]:
    return {
        "parentRef": {"group": GROUP, "kind": "Gateway", "namespace": "infra", "name": name, **reference},
        "controllerName": controller,
        "conditions": list(conditions),
    }


def listener(name: str = "http", *conditions: StatusCondition, attached: int = 0) -> ListenerStanding:
    return ListenerStanding(name, (SupportedKind("HTTPRoute"),), attached, conditions or (condition(),))


def listed(item: ListenerStanding, *more: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(item)
    return {**document, "conditions": [*(written(each) for each in item.conditions), *more]}


def test_an_object_without_a_status_gets_a_whole_one() -> None:
    status = GatewayStatus((condition(),), (listener(attached=2),), 0, (Address("IPAddress", "203.0.113.7"),))
    found = due(None, status)
    assert found["conditions"] == [written(condition(), NOW)]
    assert found["listeners"][0]["attachedRoutes"] == 2
    assert found["listeners"][0]["conditions"] == [written(condition(), NOW)]
    assert found["addresses"] == [{"type": "IPAddress", "value": "203.0.113.7"}]


@pytest.mark.parametrize("current", [None, {"conditions": None, "listeners": None, "addresses": None}])
def test_null_is_nothing(current: Any) -> None:
    assert "conditions" in due(current, GatewayStatus((condition(),), ()))


def test_nothing_is_due_where_only_times_and_the_order_of_words_differ() -> None:
    status = GatewayStatus((condition(said="a b"),), (listener(),))
    current = {"conditions": [written(condition(said="b a"))], "listeners": [listed(listener())]}
    assert due(current, status) is None
    assert due(current | {"attachedListenerSets": 0}, status) is None


def test_that_there_are_no_sets_is_told_beside_something_else() -> None:
    assert due(None, GatewayStatus((condition(),), ()))["attachedListenerSets"] == 0
    known = {"conditions": [written(condition())], "attachedListenerSets": 2}
    assert due(known, GatewayStatus((condition(),), ())) == {"attachedListenerSets": 0}


def test_no_more_addresses_are_written_than_the_api_stores() -> None:
    status = GatewayStatus((), (), 0, tuple(Address("IPAddress", f"203.0.113.{each}") for each in range(17)))
    found = due(None, status)
    assert [each["value"] for each in found["addresses"]] == [f"203.0.113.{each}" for each in range(16)]
    assert due(found, status) is None


def test_a_message_is_cut_to_what_the_api_stores() -> None:
    status = ListenerSetStatus((condition(said="é" * 32_768), condition("Programmed", said="é" * 32_769)))
    found = due(None, status)
    whole, cut = (each["message"] for each in found["conditions"])
    assert (whole, cut) == ("é" * 32_768, "é" * 32_767 + "…")
    assert due(found, status) is None


def test_foreign_conditions_stay_where_they_are_byte_for_byte() -> None:
    foreign = b'{"type": "example.net/Checked","status":"True", "x":1.50}'
    ours = msgspec.json.encode(written(condition()))
    current = msgspec.Raw(b'{"conditions":[' + foreign + b"," + ours + b"]}")
    wanted = GatewayClassStatus((condition("Accepted", "False"),), ())
    found = due_patch(current, wanted, namespace="", controller=OURS, now=NOW, generation=3)
    assert found is not None
    conditions = found["conditions"]
    assert isinstance(conditions, list)
    assert bytes(conditions[0]) == foreign
    assert msgspec.json.decode(conditions[1]) == written(condition("Accepted", "False"), NOW)


def test_the_time_moves_with_the_status_only() -> None:
    current = {"conditions": [written(condition(generation=1))]}
    (kept,) = due(current, GatewayClassStatus((condition(generation=2),), ()))["conditions"]
    assert (kept["lastTransitionTime"], kept["observedGeneration"]) == (OLD, 2)
    (moved,) = due(current, GatewayClassStatus((condition(status="False", generation=2),), ()))["conditions"]
    assert moved["lastTransitionTime"] == NOW


def test_a_condition_of_ours_that_holds_no_more_goes() -> None:
    current = {"conditions": [written(condition()), written(condition("ResolvedRefs"))]}
    found = due(current, GatewayStatus((condition(),), ()))
    assert found == {"conditions": [written(condition())], "attachedListenerSets": 0}


def test_a_status_of_a_newer_generation_is_left_alone() -> None:
    newer = written(condition("Accepted", "False", generation=3))
    assert due({"conditions": [newer]}, GatewayClassStatus((condition(generation=2),), ())) is None
    assert due({"listeners": [{"name": "a", "conditions": [newer]}]}, GatewayStatus((condition(),), ())) is None
    assert due({"parents": [entry("gw", newer)]}, RouteStatus((parent(),))) is None
    foreign = {**newer, "type": "example.net/Checked"}
    assert due({"conditions": [foreign]}, GatewayClassStatus((condition(),), ())) is not None


def test_what_judges_a_generation_that_there_is_not_is_replaced() -> None:
    bogus = written(condition("Accepted", "False", generation=3))
    assert due({"conditions": [bogus]}, GatewayClassStatus((condition(),), ()), generation=1) is not None
    found = due({"parents": [entry("gw", bogus)]}, RouteStatus((parent(),)), generation=1)
    assert found["parents"][0]["conditions"][0]["observedGeneration"] == 1


def test_listeners_come_in_the_order_of_the_spec_with_their_foreign_conditions() -> None:
    foreign = {"type": "example.net/Checked", "status": "True"}
    current = {"listeners": [listed(listener("b"), foreign), listed(listener("gone")), listed(listener("a"))]}
    found = due(current, ListenerSetStatus((), (listener("a"), listener("b"))))
    assert [each["name"] for each in found["listeners"]] == ["a", "b"]
    assert found["listeners"][1]["conditions"] == [written(condition()), foreign]


@pytest.mark.parametrize(
    "wanted",
    [
        GatewayStatus((), (listener(attached=1),)),
        GatewayStatus((), (msgspec.structs.replace(listener(), supported_kinds=()),)),
        GatewayStatus((), (listener(),), attached_listener_sets=1),
        GatewayStatus((), (listener(),), addresses=(Address("IPAddress", "::1"),)),
    ],
)
def test_each_other_field_is_a_difference(wanted: GatewayStatus) -> None:
    current = {"listeners": [listed(listener())]}
    assert due(current, GatewayStatus((), (listener(),))) is None
    assert due(current, wanted) is not None


def test_features_are_a_difference() -> None:
    status = GatewayClassStatus((), (Feature("Gateway"),))
    assert due({"supportedFeatures": [{"name": "Gateway"}]}, status) is None
    assert due({}, status) == {"supportedFeatures": [{"name": "Gateway"}]}


def test_entries_of_others_stay_in_their_places_and_stale_ones_go() -> None:
    theirs = entry("gw", written(condition()), controller=THEIRS)
    current = {
        "parents": [entry("gone", written(condition())), theirs, entry("gw", written(condition("Accepted", "False")))]
    }
    found = due(current, RouteStatus((parent(), parent("new", section="a"))))["parents"]
    assert found[0] == theirs
    assert found[1] == entry("gw", written(condition(), NOW))
    assert found[2] == entry("new", written(condition(), NOW), sectionName="a")
    assert due({"parents": found}, RouteStatus((parent(), parent("new", section="a")))) is None


def test_a_reference_without_its_defaults_is_the_same_one() -> None:
    current = {"parents": [{"parentRef": {"name": "gw"}, "controllerName": OURS, "conditions": [written(condition())]}]}
    assert due(current, RouteStatus((parent(),))) is None


def test_ancestors_are_entries_too() -> None:
    wanted = PolicyStatus((AncestorStanding(ParentName(GROUP, "Gateway", "infra", "gw"), OURS, (condition(),)),))
    (found,) = due({}, wanted)["ancestors"]
    assert found["ancestorRef"]["name"] == "gw"
    assert due({"ancestors": [found]}, wanted) is None


def test_others_keep_their_room() -> None:
    theirs = [entry(f"gw-{number}", controller=THEIRS) for number in range(31)]
    found = due({"parents": theirs}, RouteStatus((parent("a"), parent("b"))))["parents"]
    assert len(found) == 32
    assert found[:31] == theirs


def test_our_entries_go_also_the_last_one() -> None:
    theirs = entry("gw", controller=THEIRS)
    assert stale_patch(raw({"parents": [entry("gw"), theirs]}), "parents", OURS) == {"parents": [raw(theirs)]}
    assert stale_patch(raw({"parents": [entry("gw")]}), "parents", OURS) == {"parents": []}
    assert stale_patch(raw({"parents": [theirs]}), "parents", OURS) is None
    assert stale_patch(NO_STATUS, "ancestors", OURS) is None


def test_the_generation_that_is_judged_is_that_of_the_conditions() -> None:
    assert judged_generation(RouteStatus((parent("gw", condition(generation=4)),))) == 4
    assert judged_generation(GatewayClassStatus((condition(generation=2),), ())) == 2
    assert judged_generation(PolicyStatus(())) == 0
