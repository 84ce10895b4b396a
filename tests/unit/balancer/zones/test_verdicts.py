"""What every policy in the table promises, whatever it decides by."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Endpoint
from balancer.model.zones import FleetUse, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.zones.reasons import Reason
from balancer.zones.split import JUDGES
from balancer.zones.verdicts import ALL_BASIS_POINTS, Surroundings, Verdict
from tests.unit.balancer.zones.surroundings import every_policy, everywhere, some_ready


def in_order(endpoints: tuple[Endpoint, ...]) -> tuple[Endpoint, ...]:
    return tuple(sorted(endpoints, key=lambda each: (each.address, each.port)))


def without_order(verdict: Verdict) -> Verdict:
    """With every pool in the order of addresses."""
    return verdict._replace(
        zonal=in_order(verdict.zonal) if verdict.zonal is not None else None,
        residuals=tuple(each._replace(endpoints=in_order(each.endpoints)) for each in verdict.residuals),
    )


def test_every_policy_of_the_model_has_a_judge() -> None:
    assert set(JUDGES) == set(ZonePolicyName)


@given(some_ready, everywhere, every_policy)
def test_a_verdict_names_at_least_one_ready_endpoint_and_only_those_or_is_a_strict_refusal(
    ready: tuple[Endpoint, ...], here: Surroundings, policy: ZonePolicy
) -> None:
    for judge in JUDGES.values():
        verdict = judge(ready, here, policy)
        assert (verdict.zonal == ()) == (verdict.reason is Reason.ORDERED_NONE)
        assert set(verdict.zonal or ()) <= set(ready)


@given(some_ready, everywhere, every_policy)
def test_requests_that_do_not_go_to_the_zonal_pool_go_to_residuals(
    ready: tuple[Endpoint, ...], here: Surroundings, policy: ZonePolicy
) -> None:
    for judge in JUDGES.values():
        verdict = judge(ready, here, policy)
        assert 0 <= verdict.zonal_basis_points <= ALL_BASIS_POINTS
        assert (verdict.zonal_basis_points < ALL_BASIS_POINTS) == bool(verdict.residuals)
        assert all(residual.weight >= 1 and residual.endpoints for residual in verdict.residuals)
        assert all(set(residual.endpoints) <= set(ready) for residual in verdict.residuals)


@given(some_ready, everywhere, every_policy, st.randoms(use_true_random=False))
def test_the_order_of_endpoints_does_not_count(
    ready: tuple[Endpoint, ...], here: Surroundings, policy: ZonePolicy, chance: Random
) -> None:
    shuffled = tuple(chance.sample(ready, len(ready)))
    for judge in JUDGES.values():
        assert without_order(judge(ready, here, policy)) == without_order(judge(shuffled, here, policy))


@given(some_ready, everywhere, every_policy)
def test_adaptive_starts_from_the_pools_of_prefer_zone(
    ready: tuple[Endpoint, ...], here: Surroundings, policy: ZonePolicy
) -> None:
    adaptive, prefer_zone = JUDGES[ZonePolicyName.ADAPTIVE], JUDGES[ZonePolicyName.PREFER_ZONE]
    assert adaptive(ready, here, policy) == prefer_zone(ready, here, policy)


A, B = Zone("zone-a"), Zone("zone-b")
TRAFFIC = (("shop/cart", ((A, 9000), (B, 1000))), ("shop/pay", ((A, 1), (B, 9999))))


def around(fleet: FleetUse = FleetUse.ON) -> Surroundings:
    return Surroundings(OwnZone(A), ZoneFacts(replicas=((A, 1), (B, 1)), traffic=TRAFFIC, fleet=fleet))


def test_the_requests_of_a_service_stand_for_the_replicas() -> None:
    assert around().about("shop", "pay").zones.replicas == TRAFFIC[1][1]
    assert around().about("shop", "cart").zones.replicas == TRAFFIC[0][1]


def test_without_known_requests_the_replicas_stay() -> None:
    assert around().about("shop", "other").zones.replicas == ((A, 1), (B, 1))
    assert around().about("shop", "zzz").zones.replicas == ((A, 1), (B, 1))
    assert around(FleetUse.DRY_RUN).about("shop", "cart").zones.replicas == ((A, 1), (B, 1))


def test_the_requests_of_other_services_are_no_difference() -> None:
    assert around().about("shop", "cart").zones.traffic == ()
    alone = Surroundings()
    assert alone.about("shop", "cart") is alone
