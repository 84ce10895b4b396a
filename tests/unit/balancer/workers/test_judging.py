"""What a worker has learned about its backends is told as a whole, a few backends in each step."""

from __future__ import annotations

import time
from collections.abc import Sequence

import msgspec
import pytest

from balancer.live import LiveTable
from balancer.model.endpoints import Backend, BackendKey, Ejection
from balancer.model.routes import Host
from balancer.model.zones import ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.picking.outcomes import Outcome
from balancer.runtime.steps import finished
from balancer.workers.judging import judging
from balancer.workers.messages import MemberReport
from tests import builders as build

ONE_ERROR = Ejection(consecutive_errors=1, max_percent=100)
SERVICE, OTHER = ("shop", "cart"), ("shop", "pay")


def backend(key: str = "shop/cart:80", zones: str = "ab", policy: ZonePolicyName = ZonePolicyName.OFF) -> Backend:
    made = build.backend(key, build.endpoints(zones), zone_policy=ZonePolicy(policy))
    return msgspec.structs.replace(made, ejection=ONE_ERROR)


def live_with(*backends: Backend, hosts: Sequence[Host] = ()) -> LiveTable:
    live = LiveTable(lambda _: 0)
    publish(live, backends, hosts)
    return live


def publish(live: LiveTable, backends: Sequence[Backend], hosts: Sequence[Host] = ()) -> None:
    live.swap(build.publication(live.view.generation + 1, build.model(*backends, hosts=hosts)))


def fail(live: LiveTable, key: str = "shop/cart:80", *, count: int = 1) -> list[str]:
    """The first endpoints of a backend fail, and are ejected. Returns their labels."""
    runtime = live.view.backends[BackendKey(key)]
    failing = list(runtime.members.values())[:count]
    for member in failing:
        assert runtime.health.report(member.health, Outcome.UNREACHED, now=0.0)
    return [member.label for member in failing]


def test_nothing_is_told_of_backends_that_are_well() -> None:
    found = finished(judging(live_with(backend(), backend("shop/pay:80"))))
    assert (found.left_out, found.unwell, found.spill_ratios, found.overload_factors) == ({}, [], {}, {})
    assert found.members == []


def test_endpoints_that_are_ejected_or_fail_their_checks_are_told_with_their_zone() -> None:
    live = live_with(backend(), backend("shop/pay:80"))
    (ejected,) = fail(live)
    pay = live.view.backends[BackendKey("shop/pay:80")]
    second = list(pay.members.values())[1]
    assert pay.health.checked(second.health, passed=False, threshold=1)
    found = finished(judging(live))
    assert found.left_out == {(*SERVICE, "zone-a"): 1, (*OTHER, "zone-b"): 1}
    assert found.unwell == [("shop/cart:80", ejected, "ejected"), ("shop/pay:80", second.label, "fails_checks")]


def test_an_endpoint_that_is_not_ready_is_unwell_but_not_left_out_for_that() -> None:
    live = live_with(backend())
    (label,) = fail(live)
    first, second = backend().endpoints
    publish(live, [msgspec.structs.replace(backend(), endpoints=(msgspec.structs.replace(first, ready=False), second))])
    found = finished(judging(live))
    assert (found.left_out, found.unwell) == ({}, [("shop/cart:80", label, "ejected")])


def test_only_some_unhealthy_endpoints_are_listed_but_all_are_counted() -> None:
    live = live_with(backend(zones="a" * 250))
    fail(live, count=240)
    found = finished(judging(live))
    assert (found.left_out[*SERVICE, "zone-a"], len(found.unwell)) == (240, 200)


def test_the_unhealthy_endpoints_of_one_namespace_hide_none_of_another() -> None:
    live = live_with(backend("greedy/cart:80", zones="a" * 450), backend())
    fail(live, "greedy/cart:80", count=440)
    (label,) = fail(live)
    unwell = finished(judging(live)).unwell
    assert ("shop/cart:80", label, "ejected") in unwell
    assert len(unwell) < 400


def test_what_leaves_the_zone_is_told_under_adaptive_once_a_request_has_come() -> None:
    live = live_with(backend(policy=ZonePolicyName.ADAPTIVE), backend("shop/pay:80"))
    assert finished(judging(live)).spill_ratios == {}
    live.view.backends[BackendKey("shop/cart:80")].balancer()
    found = finished(judging(live))
    assert found.spill_ratios == {SERVICE: 0.0}
    assert found.overload_factors == {(*SERVICE, "zone-a"): 1.0}


def test_the_zones_of_backends_with_failing_answers_are_told_with_their_figures() -> None:
    live = live_with(backend(zones="ab", policy=ZonePolicyName.PREFER_ZONE), backend("shop/pay:80"))
    runtime = live.view.backends[BackendKey("shop/cart:80")]
    began = time.perf_counter()
    for number in range(40):
        runtime.balancer(None, began)
        runtime.evacuation.ended("zone-a", failed=True, seconds=0.01, now=began + number / 20)
    sick, well = finished(judging(live)).zones
    assert (sick.namespace, sick.service, sick.backend, sick.zone) == (*SERVICE, "shop/cart:80", "zone-a")
    assert (sick.state, sick.dry_run, sick.reason) == ("probing", False, "spill_errors")
    assert sick.answers == sick.failed > 8
    assert sick.share > 0.0
    assert (well.zone, well.state, well.share) == ("zone-b", "well", 0.0)


STAYS = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF)
TRIES = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.DRY_RUN)


@pytest.mark.parametrize(
    ("own", "strict", "told"),
    [
        (None, None, [("leaving", False, "")]),
        (None, STAYS, [("leaving", False, "Ingress shop/strict")]),
        (None, TRIES, [("leaving", False, "Ingress shop/strict")]),
        (TRIES, TRIES, [("leaving", True, "")]),
        (STAYS, STAYS, []),
    ],
)
def test_of_a_zone_that_is_left_those_are_named_whose_requests_stay(
    own: ZonePolicy | None, strict: ZonePolicy | None, told: list[tuple[str, bool, str]]
) -> None:
    """Two Ingresses of one Service get other policies while a zone is left."""
    cart = backend(zones="ab", policy=ZonePolicyName.PREFER_ZONE)
    live = live_with(cart, hosts=[build.host("a.test", build.route()), build.host("b.test", build.route())])
    runtime = live.view.backends[BackendKey("shop/cart:80")]
    runtime.balancer()
    began = time.perf_counter()
    for number in range(400):
        now = began + number / 100
        runtime.evacuation.ended("zone-b", failed=False, seconds=0.01, now=now)
        runtime.evacuation.ended("zone-a", failed=True, seconds=0.01, now=now)
    open_route, strict_route = (
        build.route(zone_policy=own),
        build.route(ingress="strict", zone_policy=strict),
    )
    publish(live, [cart], [build.host("a.test", open_route), build.host("b.test", strict_route)])
    found = [each for each in finished(judging(live)).zones if each.state != "well"]
    assert [(each.state, each.dry_run, each.staying) for each in found] == told


def test_the_endpoints_of_the_service_that_was_asked_about_are_told_one_by_one() -> None:
    live = live_with(backend(), backend("shop/cart:443", zones="c"), backend("shop/pay:80"))
    members = list(live.view.backends[BackendKey("shop/cart:80")].members.values())
    members[0].in_flight = 3
    found = finished(judging(live, SERVICE)).members
    assert MemberReport(backend="shop/cart:80", endpoint=members[0].label, in_flight=3) in found
    assert [each.backend for each in found] == ["shop/cart:443", "shop/cart:80", "shop/cart:80"]


def test_of_a_very_large_service_only_some_endpoints_are_told() -> None:
    live = live_with(backend(zones="a" * 900), backend("shop/cart:443", zones="b" * 900))
    assert len(finished(judging(live, SERVICE)).members) == 1000


@pytest.mark.parametrize("steps_before", [0, 1, 3])
def test_backends_may_come_go_and_change_between_two_steps(steps_before: int) -> None:
    many = [backend(f"shop/cart:{port}", "a") for port in range(1000, 1300)]
    live = live_with(*many)
    looking = judging(live)
    for _ in range(steps_before):
        next(looking)
    publish(live, [*many[150:250], backend("shop/new:80")])
    fail(live, "shop/cart:1249")
    assert finished(looking).left_out == {(*SERVICE, "zone-a"): 1}


def test_a_step_looks_at_few_backends() -> None:
    live = live_with(*[backend(f"shop/cart:{port}", "a") for port in range(1000)])
    assert sum(1 for _ in judging(live)) >= 10
