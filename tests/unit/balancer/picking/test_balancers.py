"""A pick comes from the chosen pool, then from what is left, with the reason for that; a dry run only foretells."""

from __future__ import annotations

import random

import msgspec
import pytest

from balancer.model.endpoints import Backend, Ejection
from balancer.model.zones import ZONES_OFF, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, DryRun, PoolBalancer
from balancer.picking.members import Member, Pick
from balancer.picking.outcomes import Outcome
from balancer.zones.reasons import Reason
from tests import builders as build

STRICT = ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
B = Zone("zone-b")


def backend_of(zones: str, policy: ZonePolicy = build.PREFER_ZONE, *, limit: int = 0) -> Backend:
    """One error ejects and all may be ejected."""
    backend = build.backend(of=build.endpoints(zones), zone_policy=policy)
    ejection = Ejection(consecutive_errors=1, max_percent=100)
    return msgspec.structs.replace(backend, ejection=ejection, max_concurrency_per_endpoint=limit)


def runtime_of(backend: Backend, *, drained: tuple[Zone, ...] = ()) -> BackendRuntime:
    return BackendRuntime.fresh(
        backend,
        own_zone=build.own_zone("zone-a"),
        random_below=random.Random(1).randrange,
        zones=ZoneFacts(drained=drained),
    )


def walk(balancer: Balancer) -> list[tuple[str, Reason]]:
    """Zones and reasons of a request whose every attempt fails."""
    picks: list[Pick] = []
    while (pick := balancer.pick([pick.member for pick in picks], 0.0)) is not None:
        picks.append(pick)
    return [(pick.to_zone, pick.reason) for pick in picks]


def of(runtime: BackendRuntime, policy: ZonePolicy | None = None) -> PoolBalancer:
    balancer = runtime.balancer(policy)
    assert isinstance(balancer, PoolBalancer)
    return balancer


def eject(runtime: BackendRuntime, *numbers: int) -> None:
    for number in numbers:
        assert runtime.health.report(runtime.members[f"10.0.0.{number}:80"].health, Outcome.UNREACHED, now=0.0)


def must(pick: Pick | None) -> Pick:
    assert pick is not None
    return pick


def test_retries_take_the_zone_then_the_others_then_what_is_drained() -> None:
    assert walk(runtime_of(backend_of("abc"), drained=(B,)).balancer()) == [
        ("zone-a", Reason.ZONE_LOCAL),
        ("zone-c", Reason.RETRY_OTHER_ZONE),
        ("zone-b", Reason.RETRY_OTHER_ZONE),
    ]


def test_a_retry_in_general_mode_that_needs_a_drained_zone_says_so() -> None:
    assert walk(runtime_of(backend_of("bc"), drained=(B,)).balancer()) == [
        ("zone-c", Reason.ZONE_EMPTY),
        ("zone-b", Reason.DRAINED_ZONE),
    ]


@pytest.mark.parametrize(
    ("full", "expected"),
    [
        ((), ("zone-a", Reason.ZONE_LOCAL)),
        ((1,), ("zone-c", Reason.SPILL_LOAD)),
        ((1, 3), ("zone-b", Reason.DRAINED_ZONE)),
        ((1, 2, 3), None),
    ],
)
def test_what_is_full_is_left_in_the_same_order(full: tuple[int, ...], expected: tuple[str, Reason] | None) -> None:
    runtime = runtime_of(backend_of("abc", limit=1), drained=(B,))
    for number in full:
        runtime.members[f"10.0.0.{number}:80"].in_flight = 1
    pick = runtime.balancer().pick()
    assert (pick and (pick.to_zone, pick.reason)) == expected


def test_a_strict_list_without_a_match_picks_nothing_and_says_why() -> None:
    balancer = runtime_of(backend_of("bc", STRICT)).balancer()
    assert (balancer.pick(), balancer.refusal) == (None, Reason.ORDERED_NONE)
    assert balancer.pick([Member(build.endpoint())]) is None


def test_a_strict_list_without_a_match_stays_strict_when_something_is_unwell() -> None:
    runtime = runtime_of(backend_of("bc", STRICT))
    eject(runtime, 1, 2)
    assert runtime.balancer().pick() is None


def test_a_strict_list_with_a_match_is_no_refusal() -> None:
    balancer = runtime_of(backend_of("ab", STRICT)).balancer()
    assert balancer.refusal is None
    assert walk(balancer) == [("zone-a", Reason.ORDERED_MATCH), ("zone-b", Reason.RETRY_OTHER_ZONE)]


def test_having_no_endpoint_is_no_refusal() -> None:
    assert runtime_of(backend_of("", STRICT)).balancer().refusal is None


def test_what_is_foretold_is_what_a_pick_would_be() -> None:
    runtime = runtime_of(backend_of("ab"))
    foretold = of(runtime).foretell(0.0)
    pick = must(runtime.balancer().pick())
    assert foretold is not None
    assert (foretold.reason, foretold.tariff) == (pick.reason, pick.tariff)


def test_to_foretell_takes_no_probe() -> None:
    runtime = runtime_of(backend_of("aa"))
    eject(runtime, 1)
    later = 1000.0
    of(runtime).foretell(later)
    assert must(runtime.balancer().pick((), later)).probe


def test_nothing_is_foretold_where_nothing_serves() -> None:
    assert of(runtime_of(backend_of(""))).foretell(0.0) is None


def dry_run(zones: str, policy: ZonePolicy) -> DryRun:
    runtime = runtime_of(backend_of(zones, policy))
    return DryRun(serving=of(runtime, ZONES_OFF), policy=of(runtime))


def test_a_dry_run_serves_all_in_turn_and_says_what_would_have_been() -> None:
    runtime = runtime_of(backend_of("abc"))
    picks = [must(DryRun(serving=of(runtime, ZONES_OFF), policy=of(runtime)).pick()) for _ in range(3)]
    assert {pick.to_zone for pick in picks} == {"zone-a", "zone-b", "zone-c"}
    assert {pick.reason for pick in picks} == {Reason.OFF}
    assert {pick.foretold.reason for pick in picks if pick.foretold} == {Reason.ZONE_LOCAL}


def test_a_dry_run_decides_once_for_a_request_and_its_retries() -> None:
    balancer = dry_run("abc", build.PREFER_ZONE)
    first = must(balancer.pick())
    second = must(balancer.pick([first.member]))
    assert first.member is not second.member
    assert first.foretold is not None and first.foretold is second.foretold


def test_a_dry_run_of_a_strict_list_serves_and_foretells_the_refusal() -> None:
    balancer = dry_run("bc", STRICT)
    pick = must(balancer.pick())
    assert (pick.reason, balancer.refusal) == (Reason.OFF, None)
    assert pick.foretold is not None and pick.foretold.reason is Reason.ORDERED_NONE


def test_a_dry_run_shows_the_pools_that_serve() -> None:
    assert dry_run("abc", build.PREFER_ZONE).pools.reason is Reason.OFF


def test_a_dry_run_without_endpoints_picks_nothing() -> None:
    assert dry_run("", build.PREFER_ZONE).pick() is None
