"""Turns go on when pools change, and every pick is made beforehand with the reason, zone and price of its pool."""

from __future__ import annotations

import msgspec
from hypothesis import given

from balancer.model.endpoints import Backend, Endpoint
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePrices
from balancer.picking.members import Member, label_of
from balancer.picking.rotation import Rotation
from balancer.picking.turns import NOTHING_YET, TurnMaker, Turns
from balancer.zones.cost import tariffs
from balancer.zones.locality import Locality
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools, split
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer import strategies

EVERY = build.endpoints("aabbc")
ZONAL = Pools(zonal=EVERY[:2], general=EVERY[:4], reason=Reason.ZONE_LOCAL, zonal_mode=True, drained=EVERY[4:])
GENERAL = Pools(zonal=(), general=EVERY[:4], reason=Reason.ZONE_EMPTY, zonal_mode=False, drained=EVERY[4:])


def maker(endpoints: tuple[Endpoint, ...] = EVERY, *, start: int = 0, zone: str | None = "zone-a") -> TurnMaker:
    own_zone = build.own_zone(zone).zone
    return TurnMaker(
        members={label_of(endpoint): Member(endpoint) for endpoint in endpoints},
        own_zone=own_zone,
        tariffs=tariffs(ZonePrices(), own_zone, endpoints),
        panic_percent=50,
        random_below=lambda below: start % below,
    )


def reasons(rotation: Rotation) -> set[Reason]:
    return {pick.reason for pick in rotation.items}


def numbers(turns: Turns, count: int) -> str:
    picks = [turns.serving.next() for _ in range(count)]
    return "".join(pick.endpoint.address[-1] for pick in picks if pick is not None)


def test_before_the_first_turn_nobody_serves() -> None:
    assert NOTHING_YET.serving.next() is None
    assert NOTHING_YET.fallbacks == ()


def test_in_zonal_mode_others_are_asked_when_the_zone_has_nobody_left() -> None:
    turns = maker().turns(ZONAL, after=NOTHING_YET)
    assert turns.serving is turns.zonal
    assert turns.fallbacks == (turns.general, turns.drained)
    assert reasons(turns.zonal) == {Reason.ZONE_LOCAL}
    assert reasons(turns.general) == {Reason.RETRY_OTHER_ZONE}
    assert reasons(turns.drained) == {Reason.DRAINED_ZONE}


def test_in_general_mode_only_drained_zones_are_left() -> None:
    turns = maker().turns(GENERAL, after=NOTHING_YET)
    assert turns.serving is turns.general
    assert turns.fallbacks == (turns.drained,)
    assert reasons(turns.general) == {Reason.ZONE_EMPTY}


def test_where_the_policy_wants_none_nobody_else_is_asked() -> None:
    refusing = msgspec.structs.replace(ZONAL, zonal=(), reason=Reason.ORDERED_NONE)
    turns = maker().turns(refusing, after=NOTHING_YET)
    assert (turns.serving.next(), turns.fallbacks) == (None, ())


def test_a_pick_says_where_it_leads_and_what_bytes_cost() -> None:
    turns = maker().turns(ZONAL, after=NOTHING_YET)
    local, remote = turns.zonal.items[0], turns.general.items[-1]
    assert (local.to_zone, local.locality, local.tariff.dollars(10**9, 0)) == ("zone-a", Locality.LOCAL, 0.0)
    assert (remote.to_zone, remote.locality) == ("zone-b", Locality.REMOTE)
    assert round(remote.tariff.dollars(10**9, 10**9), 9) == 0.04
    assert round(local.tariff.blind_dollars(10**9, 0), 9) == 0.012


def test_the_pick_of_an_unknown_zone() -> None:
    pick = maker(build.endpoints("-")).pick(build.endpoints("-")[0], Reason.OFF)
    assert (pick.to_zone, pick.locality, pick.tariff.dollars(10**9, 0)) == ("unknown", Locality.UNKNOWN, 0.0)


def test_newcomers_start_where_chance_says_and_those_that_stay_keep_their_turn() -> None:
    made = maker(start=1)
    before = made.turns(msgspec.structs.replace(ZONAL, zonal=EVERY[:1]), after=NOTHING_YET)
    assert numbers(made.turns(ZONAL, after=NOTHING_YET), 3) == "212"
    assert numbers(made.turns(ZONAL, after=before), 3) == "121"


def test_health_leaves_what_is_well_and_goes_on_with_the_turns() -> None:
    members = {label_of(endpoint): Member(endpoint) for endpoint in EVERY}
    made = TurnMaker(
        members=members,
        own_zone=Zone("zone-a"),
        tariffs=tariffs(ZonePrices(), Zone("zone-a"), EVERY),
        panic_percent=50,
        random_below=lambda _: 0,
    )
    well = made.turns(ZONAL, after=NOTHING_YET)
    members["10.0.0.1:80"].health.fails_checks = True
    ailing = made.turns_by_health(ZONAL, after=well)
    assert (numbers(ailing, 2), ailing.pools.reason) == ("22", Reason.ZONE_LOCAL)
    members["10.0.0.2:80"].health.fails_checks = True
    assert made.turns_by_health(ZONAL, after=ailing).pools.reason is Reason.SPILL_HEALTH


@given(strategies.backends(), strategies.own_zones)
def test_everything_that_can_serve_has_a_turn(backend: Backend, own: OwnZone) -> None:
    facts = ZoneFacts(drained=(Zone("zone-b"),))
    pools = split(backend.endpoints, Surroundings(own=own, zones=facts), backend.zone_policy)
    turns = maker(backend.endpoints, zone=own.zone).turns(pools, after=NOTHING_YET)
    rotations = (turns.serving, *turns.fallbacks)
    found = {pick.endpoint for rotation in rotations for pick in rotation.items}
    assert found == {*pools.general, *pools.drained}
