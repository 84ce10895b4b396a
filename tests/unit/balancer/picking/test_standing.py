"""Where affinity leads in a backend: worked out once for each state of it, and shared by its routes."""

from __future__ import annotations

import msgspec

from balancer.matching.affinity import Stickiness
from balancer.model.endpoints import Backend, BackendKey
from balancer.model.policies import Affinity
from balancer.picking.backend import BackendRuntime
from balancer.picking.standing import Standing
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools
from tests import builders as build

CART = BackendKey("shop/cart:80")
SIX = build.backend(of=build.endpoints("aabbcc"), zone_policy=build.PREFER_ZONE)


def runtime_of(backend: Backend = SIX) -> BackendRuntime:
    return BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=lambda _: 0)


def labels(standing: Standing, stickiness: Stickiness) -> set[str | None]:
    return {standing.label(b"%d" % number, stickiness) for number in range(100)}


def test_a_runtime_works_out_its_standing_once() -> None:
    runtime = runtime_of()
    assert runtime.standing() is runtime.standing()


def test_a_change_of_the_backend_begins_a_new_standing_and_requests_in_flight_keep_the_old_one() -> None:
    before = runtime_of()
    standing = before.standing()
    fewer = msgspec.structs.replace(SIX, endpoints=SIX.endpoints[:3])
    after = before.with_backend(fewer, build.own_zone("zone-a"))
    sticky = Stickiness(Affinity(), CART)
    assert labels(after.standing(), sticky) == {f"10.0.0.{number}:80" for number in (1, 2, 3)}
    assert before.standing() is standing
    assert labels(standing, sticky) == {f"10.0.0.{number}:80" for number in range(1, 7)}


def test_a_persistent_key_names_its_endpoint_and_no_other_key_names_one() -> None:
    sticky, standing = Stickiness(Affinity(persistent=True), CART), runtime_of().standing()
    for number in range(1, 7):
        assert standing.label(sticky.persistent_key(f"10.0.0.{number}:80"), sticky) == f"10.0.0.{number}:80"
    assert standing.label(sticky.persistent_key("10.0.0.9:80"), sticky) is None
    assert standing.label(b"1", sticky) is None


def test_only_endpoints_that_could_serve_are_led_to() -> None:
    ready, *others = SIX.endpoints
    unready = [msgspec.structs.replace(each, ready=False) for each in others]
    backend = msgspec.structs.replace(SIX, endpoints=(ready, *unready))
    assert labels(runtime_of(backend).standing(), Stickiness(Affinity(), CART)) == {"10.0.0.1:80"}


def test_a_pick_has_the_reason_of_the_policy_or_says_that_affinity_outranks_it() -> None:
    runtime = runtime_of()
    standing, pools = runtime.standing(), runtime.balancer().pools
    here, there = standing.pick("10.0.0.1:80", pools), standing.pick("10.0.0.5:80", pools)
    assert (here.member, here.reason) == (runtime.members["10.0.0.1:80"], Reason.ZONE_LOCAL)
    assert (there.member, there.reason) == (runtime.members["10.0.0.5:80"], Reason.AFFINITY_OVERRIDE)
    assert standing.pick("10.0.0.1:80", pools) is here


def test_what_is_remembered_of_pools_stays_bounded_and_right() -> None:
    standing, endpoints = runtime_of().standing(), SIX.endpoints
    for number in range(200):
        pools = Pools(
            zonal=endpoints[:1], general=endpoints, reason=Reason.ZONE_LOCAL, zonal_mode=True, drained=endpoints[5:]
        )
        assert standing.is_in(pools, "10.0.0.1:80") and not standing.is_in(pools, "10.0.0.2:80"), number
        assert standing.is_drained(pools, "10.0.0.6:80") and not standing.is_drained(pools, "10.0.0.1:80"), number
    assert len(standing._labels_of) <= 64
