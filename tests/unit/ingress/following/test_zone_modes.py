"""Who leaves zonal mode is told of it once, who returns too, and nobody twice in a minute."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from balancer.model.publication import RoutingModel
from balancer.model.zones import OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.runtime.steps import finished
from balancer.zones.reasons import Reason
from ingress.following.zone_modes import QUIET_SECONDS, ModeChange, ZoneMode, ZoneModes
from tests import builders as build
from tests.properties import examples

ZONAL, LEFT = ZoneMode(zonal=True, reason=Reason.ZONE_LOCAL), ZoneMode(zonal=False, reason=Reason.ZONE_EMPTY)


def model(*, policy: ZonePolicy = build.PREFER_ZONE, own: str | None = "zone-a", **services: str) -> RoutingModel:
    """Services by the zones of their endpoints, a letter each, all under one policy."""
    backends = (
        build.backend(f"shop/{name.replace('_', ':')}", build.endpoints(zones), zone_policy=policy)
        for name, zones in services.items()
    )
    return RoutingModel(backends=tuple(backends), own_zone=OwnZone(Zone(own) if own else None))


def follow(modes: ZoneModes, published: RoutingModel, now: float) -> tuple[ModeChange, ...]:
    """What is to be reported of a model at `now`."""
    return finished(modes.following(published, now))


def told(changes: tuple[ModeChange, ...]) -> list[tuple[str, bool, Reason]]:
    return [(change.service, change.mode.zonal, change.mode.reason) for change in changes]


def test_the_first_mode_is_no_change() -> None:
    modes = ZoneModes()
    assert follow(modes, model(cart_80="ab", pay_80="bb"), 0.0) == ()
    assert follow(modes, model(cart_80="ab", pay_80="bb", new_80="b"), 1.0) == ()
    assert modes.wait_seconds(1.0) is None


def test_who_leaves_and_returns_is_told_with_the_reason() -> None:
    modes = ZoneModes()
    follow(modes, model(cart_80="ab", pay_80="ab"), 0.0)
    assert follow(modes, model(cart_80="bb", pay_80="ab"), 1.0) == (ModeChange("shop", "cart", LEFT, Zone("zone-a")),)
    assert follow(modes, model(cart_80="bb", pay_80="ab"), 100.0) == ()
    assert follow(modes, model(cart_80="ab", pay_80="ab"), 101.0) == (
        ModeChange("shop", "cart", ZONAL, Zone("zone-a")),
    )


def test_a_loss_of_the_own_zone_is_a_change_of_every_service() -> None:
    modes = ZoneModes()
    follow(modes, model(cart_80="ab", pay_80="ab"), 0.0)
    assert told(follow(modes, model(own=None, cart_80="ab", pay_80="ab"), 1.0)) == [
        ("cart", False, Reason.OWN_ZONE_UNKNOWN),
        ("pay", False, Reason.OWN_ZONE_UNKNOWN),
    ]


def test_a_drain_is_a_change_of_the_surroundings() -> None:
    modes, before = ZoneModes(), model(cart_80="ab")
    follow(modes, before, 0.0)
    drained = msgspec.structs.replace(before, zones=ZoneFacts(drained=(Zone("zone-a"),)))
    assert told(follow(modes, drained, 1.0)) == [("cart", False, Reason.ZONE_EMPTY)]


def test_a_service_is_zonal_only_on_all_of_its_ports() -> None:
    modes = ZoneModes()
    follow(modes, model(cart_80="ab", cart_81="ab"), 0.0)
    assert told(follow(modes, model(cart_80="ab", cart_81="bb"), 1.0)) == [("cart", False, Reason.ZONE_EMPTY)]
    assert follow(modes, model(cart_80="bb", cart_81="bb"), 100.0) == ()


def test_a_strict_list_without_a_match_is_not_zonal() -> None:
    modes, strict = ZoneModes(), ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone",))
    follow(modes, model(policy=strict, cart_80="ab"), 0.0)
    (change,) = follow(modes, model(policy=strict, cart_80="bb"), 1.0)
    assert change.mode == ZoneMode(zonal=False, reason=Reason.ORDERED_NONE, refuses=True)
    assert change.sentence.startswith("requests that arrive in zone-a are answered with 503: No key of the strict")


def test_a_service_that_nobody_answers_has_no_mode_to_tell() -> None:
    """A finding tells of it; to say that its requests go to every zone would be false."""
    modes = ZoneModes()
    follow(modes, model(cart_80="ab", pay_80=""), 0.0)
    assert follow(modes, model(cart_80="", pay_80="b"), 1.0) == ()
    assert follow(modes, model(cart_80="ab", pay_80="b"), 2.0) == ()
    assert told(follow(modes, model(cart_80="bb", pay_80="ab"), 100.0)) == [("cart", False, Reason.ZONE_EMPTY)]


def test_who_was_never_told_to_have_left_does_not_return() -> None:
    """At a start the zones become known after the endpoints."""
    modes = ZoneModes()
    assert follow(modes, model(own=None, cart_80="ab", pay_80="bb"), 0.0) == ()
    assert follow(modes, model(cart_80="ab", pay_80="bb"), 1.0) == ()
    assert follow(modes, model(cart_80="ab", pay_80="ab"), 2.0) == ()
    assert told(follow(modes, model(cart_80="ab", pay_80="bb"), 100.0)) == [("pay", False, Reason.ZONE_EMPTY)]
    assert told(follow(modes, model(cart_80="ab", pay_80="ab"), 200.0)) == [("pay", True, Reason.ZONE_LOCAL)]


def test_what_was_withheld_of_a_service_is_not_told_while_nobody_answers() -> None:
    modes = ZoneModes()
    follow(modes, model(cart_80="ab"), 0.0)
    follow(modes, model(cart_80="bb"), 1.0)
    assert follow(modes, model(cart_80="ab"), 2.0) == ()
    assert follow(modes, model(cart_80=""), 3.0) == ()
    assert modes.wait_seconds(3.0) is None
    assert follow(modes, model(cart_80=""), 100.0) == ()
    assert told(follow(modes, model(cart_80="ab"), 101.0)) == [("cart", True, Reason.ZONE_LOCAL)]


def test_a_port_without_an_endpoint_leaves_the_mode_to_the_others() -> None:
    modes = ZoneModes()
    follow(modes, model(cart_80="ab", cart_81="ab"), 0.0)
    assert follow(modes, model(cart_80="ab", cart_81=""), 1.0) == ()
    assert told(follow(modes, model(cart_80="bb", cart_81=""), 2.0)) == [("cart", False, Reason.ZONE_EMPTY)]


def test_turning_a_policy_off_and_on_is_no_change_of_mode() -> None:
    modes, off = ZoneModes(), ZonePolicy(ZonePolicyName.OFF)
    trial = msgspec.structs.replace(build.PREFER_ZONE, dry_run=True)
    nobody = msgspec.structs.replace(build.PREFER_ZONE, rollout_percent=0)
    follow(modes, model(cart_80="ab"), 0.0)
    for at, policy in enumerate((off, trial, nobody), 1):
        assert follow(modes, model(policy=policy, cart_80="bb"), float(at)) == ()
    assert follow(modes, model(cart_80="bb"), 9.0) == ()


def test_what_changes_too_soon_is_told_later_as_it_is_then() -> None:
    modes, zonal, left = ZoneModes(), model(cart_80="ab"), model(cart_80="bb")
    follow(modes, zonal, 0.0)
    assert len(follow(modes, left, 10.0)) == 1
    assert follow(modes, zonal, 20.0) == ()
    assert modes.wait_seconds(20.0) == QUIET_SECONDS - 10.0
    assert follow(modes, zonal, 69.0) == ()
    assert told(follow(modes, zonal, 70.0)) == [("cart", True, Reason.ZONE_LOCAL)]
    assert modes.wait_seconds(70.0) is None


def test_who_is_back_to_what_was_told_has_not_changed() -> None:
    modes, zonal, left = ZoneModes(), model(cart_80="ab"), model(cart_80="bb")
    follow(modes, zonal, 0.0)
    follow(modes, left, 1.0)
    assert follow(modes, zonal, 2.0) == ()
    assert follow(modes, left, 3.0) == ()
    assert modes.wait_seconds(3.0) is None
    assert follow(modes, left, 100.0) == ()


STEPS = st.lists(st.tuples(st.floats(0.0, 40.0), st.sampled_from(["ab", "bb"]), st.sampled_from(["ab", "bb", ""])))


@given(STEPS)
@examples(200)
def test_never_more_than_one_a_minute_and_what_is_told_last_is_true_in_the_end(
    steps: list[tuple[float, str, str]],
) -> None:
    modes, now = ZoneModes(), 0.0
    said: dict[str, list[tuple[float, bool]]] = {"cart": [], "pay": []}
    last = model(cart_80="ab", pay_80="ab")
    assert follow(modes, last, now) == ()
    for pause, cart, pay in steps:
        now += pause
        last = model(cart_80=cart, pay_80=pay) if pay else model(cart_80=cart)
        for change in follow(modes, last, now):
            said[change.service].append((now, change.mode.zonal))
    for _ in range(6):  # each of two at most once, and each wait may end a rounding too soon
        now += modes.wait_seconds(now) or 0.0
        for change in follow(modes, last, now):
            said[change.service].append((now, change.mode.zonal))
    assert modes.wait_seconds(now) is None
    for happened in said.values():
        times = [at for at, _ in happened]
        assert all(later - earlier >= QUIET_SECONDS - 1e-6 for earlier, later in pairwise(times))
    is_zonal = any(endpoint.zone == "zone-a" for endpoint in last.backends[0].endpoints)
    assert (said["cart"][-1][1] if said["cart"] else True) is is_zonal


@given(STEPS)
@examples(100)
def test_it_makes_no_difference_whether_what_is_equal_is_the_same_object(steps: list[tuple[float, str, str]]) -> None:
    kept, anew, now, last = ZoneModes(), ZoneModes(), 0.0, RoutingModel()
    for pause, cart, pay in steps:
        now += pause
        fresh = model(cart_80=cart, cart_81="ab", pay_80=pay) if pay else model(cart_80=cart, cart_81="ab")
        known = {backend.key: backend for backend in last.backends}
        same = (known[each.key] if known.get(each.key) == each else each for each in fresh.backends)
        last = msgspec.structs.replace(fresh, backends=tuple(same))
        assert follow(kept, last, now) == follow(anew, fresh, now)
        assert kept.wait_seconds(now) == anew.wait_seconds(now)
