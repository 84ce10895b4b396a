"""Pools that divide requests come apart into parts that add up to them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.model.endpoints import Endpoint
from balancer.zones.mixing import parts
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools
from balancer.zones.verdicts import Residual
from tests import builders as build

EVERY = build.endpoints("abbcc")


def mixed(basis_points: int, *residuals: Residual, zonal: tuple[Endpoint, ...] = EVERY[:1]) -> Pools:
    return Pools(
        zonal=zonal,
        general=EVERY,
        reason=Reason.PROPORTIONAL_LOCAL,
        zonal_mode=True,
        zonal_basis_points=basis_points,
        residuals=residuals,
    )


B, C = Residual(EVERY[1:3], 1), Residual(EVERY[3:], 3)


def test_pools_that_divide_nothing_are_one_part() -> None:
    pools = mixed(10_000)
    assert [(part.pools, part.residual) for part in parts(pools)] == [(pools, False)]


def test_each_residual_is_a_part_with_its_own_reason_and_the_same_way_out() -> None:
    local, to_b, to_c = parts(mixed(4_000, B, C))
    assert (local.pools.zonal, local.pools.reason) == (EVERY[:1], Reason.PROPORTIONAL_LOCAL)
    assert (to_b.pools.zonal, to_b.pools.reason) == (EVERY[1:3], Reason.PROPORTIONAL_RESIDUAL)
    assert (to_b.zone, to_c.zone) == ("zone-b", "zone-c")
    for part in (local, to_b, to_c):
        assert (part.pools.general, part.pools.zonal_mode, part.pools.residuals) == (EVERY, True, ())


def test_weights_are_exact() -> None:
    local, to_b, to_c = (part.weight for part in parts(mixed(4_000, B, C)))
    assert (local, to_b, to_c) == (4 * 4_000, 1 * 6_000, 3 * 6_000)


def test_what_gets_nothing_is_no_part() -> None:
    assert [part.residual for part in parts(mixed(0, B, C))] == [True, True]
    assert [part.residual for part in parts(mixed(10_000, B, C))] == [False]


def test_a_drained_reason_holds_for_every_part() -> None:
    pools = Pools(
        zonal=EVERY[:1],
        general=EVERY,
        reason=Reason.DRAINED_ZONE,
        zonal_mode=True,
        zonal_basis_points=5_000,
        residuals=(B,),
    )
    assert [part.pools.reason for part in parts(pools)] == [Reason.DRAINED_ZONE] * 2


@given(st.integers(0, 10_000), st.lists(st.integers(1, 10_000), min_size=1, max_size=3))
def test_the_local_share_is_the_verdicts_to_the_basis_point(basis_points: int, weights: list[int]) -> None:
    made = parts(mixed(basis_points, *(Residual(EVERY[1:2], weight) for weight in weights)))
    total = sum(part.weight for part in made)
    assert sum(part.weight for part in made if not part.residual) * 10_000 == basis_points * total
    assert all(part.weight > 0 for part in made)
