"""What was foreseen for single requests is summed up: shares, the pool, and why no endpoint is reached."""

from __future__ import annotations

import msgspec
import pytest

from balancer.explain.explanations import Explanation, empty
from balancer.explain.foreseeing import foresee
from balancer.explain.summing import decided
from balancer.live import View
from balancer.model.zones import OwnZone, ZonePolicy, ZonePolicyName
from tests import builders as build
from tests.matches import destination
from tests.questions import question_of
from tests.unit.balancer.asked import CART, shop, view_of

NOTHING = empty(host="shop.test", path="/", own=OwnZone())
ROLLOUT = ZonePolicy(ZonePolicyName.PREFER_ZONE, rollout_percent=30)


def summed(view: View, *, live: bool = True) -> Explanation:
    runtime = view.backends[CART]
    question = question_of("http://shop.test/")
    return decided(
        NOTHING, foresee(runtime, None, to=destination(build.route()), question=question, now=0.0), runtime, live=live
    )


def test_one_treatment_of_all_requests_is_told_without_shares() -> None:
    told = summed(shop())
    assert (told.mode, told.reason, told.to_zone, told.shares) == ("zonal", "zone_local", "zone-a", msgspec.UNSET)
    assert [each.endpoint for each in told.pool] == ["10.0.0.1:80", "10.0.0.2:80"]
    assert told.endpoint == "10.0.0.1:80"


def test_the_largest_share_says_mode_and_reason() -> None:
    told = summed(shop(policy=ROLLOUT))
    assert (told.mode, told.reason, told.to_zone) == ("general", "rollout_excluded", None)
    assert told.shares is not msgspec.UNSET
    assert sum(each.probability for each in told.shares) == pytest.approx(1.0)
    assert sum(each.probability for each in told.pool) == pytest.approx(1.0)
    assert told.pool[0].zone == "zone-a", "the most probable first"


def test_no_endpoint_and_no_room_are_two_errors() -> None:
    assert (summed(shop(cart="")).status, summed(shop(cart="")).error) == (503, "no_endpoint")
    limited = msgspec.structs.replace(build.backend(of=build.endpoints("ab")), max_concurrency_per_endpoint=1)
    view = view_of(build.model(limited, hosts=[build.host("shop.test", build.route())]))
    assert summed(view).error is None
    for member in view.backends[CART].members.values():
        member.in_flight = 1
    assert (summed(view).status, summed(view).error) == (503, "overloaded")


def test_only_a_view_that_serves_has_a_next_endpoint() -> None:
    assert summed(shop(), live=False).endpoint is None
