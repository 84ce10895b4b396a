"""What is said last holds, field by field, and `auto` becomes a policy."""

from __future__ import annotations

from functools import partial

import pytest

from balancer.model.zones import FleetUse, Zone, ZoneEvacuation, ZoneFacts, ZonePolicy, ZonePolicyName
from ingress.settings.table.option import OptionSource
from ingress.settings.table.zones import ZONE_OPTIONS, ZoneFactSettings, ZoneSettings
from ingress.settings.zone_values import PolicyChoice, ZoneDrain
from tests.unit.ingress.said import said

PREFER, HINTS, ORDERED = ZonePolicyName.PREFER_ZONE, ZonePolicyName.HINTS, ZonePolicyName.ORDERED
auto = partial(ZonePolicy, PREFER, heeds_hints=True)


CASES: list[tuple[str, str, ZonePolicy]] = [
    ("zone-policy", "adaptive", ZonePolicy(ZonePolicyName.ADAPTIVE)),
    ("zone-policy", "ordered: rack, *", ZonePolicy(ORDERED, keys=("rack", "*"))),
    ("zone-min-endpoints", "3", auto(min_endpoints=3)),
    ("zone-min-percent", "30", auto(min_percent=30)),
    ("zone-min-cluster-size", "0", auto(min_cluster_size=0)),
    ("zone-rollout", "10", auto(rollout_percent=10)),
    ("zone-dry-run", "true", auto(dry_run=True)),
    ("zone-toll", "10%+1ms", auto(toll_ratio=0.1, toll_seconds=0.001)),
    ("zone-spill-budget", "20", auto(spill_budget_percent=20)),
    ("zone-evacuation", "dry-run", auto(asked_evacuation=ZoneEvacuation.DRY_RUN)),
]


@pytest.mark.parametrize(("key", "text", "policy"), CASES)
def test_each_key_changes_its_field_and_no_other(key: str, text: str, policy: ZonePolicy) -> None:
    assert ZoneSettings().overridden(said({key: text})).policy(follows_hints=False) == policy


def test_every_key_has_been_looked_at() -> None:
    shared = {option.name for option in ZONE_OPTIONS if OptionSource.SERVICE in option.sources}
    assert shared == {key for key, _, _ in CASES}


def test_what_nobody_says_is_as_the_model_has_it() -> None:
    assert ZoneSettings().policy(follows_hints=False) == auto()
    facts, model = ZoneFactSettings(), ZoneFacts()
    shared = [name for name in facts.__struct_fields__ if name != "drains"]
    assert [getattr(facts, name) for name in shared] == [getattr(model, name) for name in shared]


def test_auto_follows_hints_where_they_are_asked_for() -> None:
    assert ZoneSettings().policy(follows_hints=True).name is HINTS
    assert ZoneSettings().policy(follows_hints=False).name is PREFER
    assert ZoneSettings(PolicyChoice(PREFER)).policy(follows_hints=True).name is PREFER


def test_only_auto_heeds_hints_that_nobody_asked_for() -> None:
    assert ZoneSettings().policy(follows_hints=False).heeds_hints
    assert not ZoneSettings().policy(follows_hints=True).heeds_hints
    assert not ZoneSettings(PolicyChoice(PREFER)).policy(follows_hints=False).heeds_hints


def test_what_is_said_later_leaves_the_rest_of_what_was_said_before() -> None:
    cluster = ZoneSettings().overridden(said({"zone-policy": "ordered: rack", "zone-min-percent": "5"}))
    service = cluster.overridden(said({"zone-policy": "hints", "zone-rollout": "1"}))
    assert service.policy(follows_hints=False) == ZonePolicy(HINTS, min_percent=5, rollout_percent=1)


@pytest.mark.parametrize(
    ("key", "text", "field", "value"),
    [
        ("zone-drain", "zone-b,zone-a", "drains", (ZoneDrain(Zone("zone-a")), ZoneDrain(Zone("zone-b")))),
        ("zone-drain-replicas", "true", "drained_replicas_leave", True),
        ("fleet", "dry-run", "fleet", FleetUse.DRY_RUN),
        ("fleet", "off", "fleet", FleetUse.OFF),
        ("fleet-failures", "dry-run", "fleet_failures", FleetUse.DRY_RUN),
        ("zone-drain-ramp", "2m", "drain_ramp_seconds", 120.0),
        ("zone-drain-ramp", "0s", "drain_ramp_seconds", 0.0),
    ],
)
def test_what_only_the_operator_says(key: str, text: str, field: str, value: object) -> None:
    assert said({key: text}).of(ZoneFactSettings) == {field: value}
