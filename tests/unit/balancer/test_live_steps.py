"""A swap in steps: the view in use stays whole until the next one takes its place."""

from __future__ import annotations

import gc
from itertools import pairwise

import msgspec

from balancer.live import Coming, LiveTable, View
from balancer.matching.host_tables import HostTable
from balancer.model.endpoints import BackendKey
from balancer.model.publication import RoutingModel
from balancer.model.zones import ZONES_OFF, ZonePolicy
from balancer.picking.backend import BackendRuntime
from balancer.runtime.steps import finished
from tests import builders as build

CART = BackendKey("shop/cart:80")


def live_with(model: RoutingModel) -> LiveTable:
    live = LiveTable(lambda _: 0)
    live.swap(build.publication(1, model))
    return live


def flipped(count: int) -> tuple[RoutingModel, RoutingModel]:
    """Two models of `count` backends that differ in the policy of each, in the own zone, and in each route."""
    names = [f"shop/cart{number:03}:80" for number in range(count)]

    def model(policy: ZonePolicy, path: str, zone: str) -> RoutingModel:
        return build.model(
            *(build.backend(name, build.endpoints("abb"), zone_policy=policy) for name in names),
            hosts=tuple(build.host(f"{name[5:12]}.test", build.route(path, to=name)) for name in names),
            zone=zone,
        )

    return model(ZONES_OFF, "/old", "zone-a"), model(build.PREFER_ZONE, "/new", "zone-b")


def seen(view: View) -> list[tuple[bool, bool, str]]:
    """What requests for each backend see: whether the old and the new path have a route, and the zone of a pick."""
    keys = [backend.key for backend in view.model.backends]
    return [
        (
            view.configurations["http"].match(f"{key[5:12]}.test".encode(), b"/old") is not None,
            view.configurations["http"].match(f"{key[5:12]}.test".encode(), b"/new") is not None,
            pick.to_zone,
        )
        for key in keys
        if (pick := view.backends[key].balancer().pick()) is not None
    ]


def test_until_its_last_step_requests_see_the_whole_model_of_before_and_then_the_whole_new_one() -> None:
    old, new = flipped(8)
    live = live_with(old)
    before, held = live.view, seen(live.view)
    steps = live.prepare(build.publication(2, new))
    taken = 0
    try:
        while True:
            next(steps)
            taken += 1
            assert live.view is before
            assert {(is_old, is_new) for is_old, is_new, _ in seen(before)} == {(True, False)}
    except StopIteration as end:
        coming: Coming = end.value
    assert taken >= 2 * 8  # no step makes two backends, or two hosts
    assert live.view is before
    live.use(coming)
    assert seen(live.view) == [(False, True, "zone-b")] * 8
    assert {(is_old, is_new) for is_old, is_new, _ in seen(before)} == {(True, False)}
    finished(coming.settle())
    assert seen(live.view) == [(False, True, "zone-b")] * 8
    assert len(held) == 8


def test_a_swap_that_is_given_up_midway_changes_nothing() -> None:
    old, new = flipped(4)
    live = live_with(old)
    health = {key: set(runtime.health._endpoints) for key, runtime in live.view.backends.items()}
    fewer = msgspec.structs.replace(
        new, backends=tuple(msgspec.structs.replace(each, endpoints=each.endpoints[:1]) for each in new.backends)
    )
    steps = live.prepare(build.publication(2, fewer))
    for _ in range(6):
        next(steps)
    steps.close()
    assert {key: runtime.health._endpoints for key, runtime in live.view.backends.items()} == health
    live.swap(build.publication(3, new))
    assert seen(live.view) == [(False, True, "zone-b")] * 4


def test_a_rotation_that_begins_while_its_successor_is_made_goes_on() -> None:
    one, more = (build.model(build.backend(of=build.endpoints(zones))) for zones in ("aaa", "aaaa"))
    live = live_with(one)
    steps = live.prepare(build.publication(2, more))
    next(steps)  # the successor is made
    before = [live.view.backends[CART].balancer().pick() for _ in range(2)]
    live.use(finished(steps))
    after = [live.view.backends[CART].balancer().pick() for _ in range(2)]
    labels = [pick.member.label for pick in (*before, *after) if pick is not None]
    assert labels == ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80", "10.0.0.1:80"]


def test_plans_of_a_large_backend_in_use_are_made_before_the_swap() -> None:
    models = [build.model(build.backend(of=build.endpoints("a" * count))) for count in (100, 101, 102)]
    live = live_with(models[0])
    live.swap(build.publication(2, models[1]))
    assert live.view.backends[CART].plans.is_unused  # no request has used it
    live.view.backends[CART].balancer()
    live.swap(build.publication(3, models[2]))
    assert not live.view.backends[CART].plans.is_unused


def runtimes_of(count: int) -> int:
    """How many runtimes of so many members there are in this process."""
    gc.collect()
    return sum(isinstance(each, BackendRuntime) and len(each.members) == count for each in gc.get_objects())


def test_a_view_that_a_request_holds_keeps_no_later_one() -> None:
    models = [build.model(build.backend(of=build.endpoints("a" * count))) for count in (3, 37, 4)]
    live = live_with(models[0])
    held = live.view
    live.swap(build.publication(2, models[1]))
    assert runtimes_of(37) == 1
    live.swap(build.publication(3, models[2]))
    assert runtimes_of(37) == 0
    assert len(held.backends[CART].members) == 3


def tables_of(path: str) -> int:
    """How many compiled hosts with this path are in memory."""
    gc.collect()
    found = [each for each in gc.get_objects() if isinstance(each, HostTable)]
    return sum(each.host.routes[0].path == path for each in found)


def test_the_compiled_hosts_of_the_last_view_are_freed_a_few_in_each_step() -> None:
    old, new = flipped(40)
    live = live_with(old)
    coming = finished(live.prepare(build.publication(2, new)))
    live.use(coming)
    assert tables_of("/old") == 40
    left = [tables_of("/old") for _ in coming.settle()]
    assert max(before - after for before, after in pairwise((40, *left))) <= 8
    assert left[-1] == 0


def test_a_compiled_host_that_stays_is_not_retired() -> None:
    old, new = flipped(3)
    hosts = (new.hosts[0], *old.hosts[1:])
    live = live_with(old)
    coming = finished(live.prepare(build.publication(2, msgspec.structs.replace(old, hosts=hosts))))
    assert [each.host for each in coming.retired if isinstance(each, HostTable)] == [old.hosts[0]]
