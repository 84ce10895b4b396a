"""What holds under every zone policy, whatever the endpoints, their health and the operator's wishes are.

The invariants of picks as properties over small models: a mode is decided first and then only applied, a pick never
comes back empty while something can serve, it has one reason, and rotations are fair.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec
import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from balancer.model.endpoints import Backend, Ejection, Endpoint
from balancer.model.zones import ZONES_OFF, OwnZone, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.balancers import Balancer, PoolBalancer
from balancer.picking.leaving import SpillingBalancer
from balancer.picking.members import Pick, label_of
from balancer.picking.outcomes import Outcome
from balancer.zones.draining import Drain
from balancer.zones.locality import locality_of
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.properties import examples

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
EJECTING = Ejection(consecutive_errors=1, seconds=1e6, max_percent=100)

# Small numbers stand for whole values, so that an example costs little and shrinks well.
ENDPOINT_ZONES: tuple[Zone | None, ...] = (A, B, C, None)
CONDITIONS = ((True, False), (True, False), (False, True), (False, False))
HINTS = ((), (A,), (B,))
ENDPOINT_CODES = len(ENDPOINT_ZONES) * len(CONDITIONS) * len(HINTS)
ENDPOINTS_MAX = 5

OWN_ZONES = (OwnZone(A, "flag", "node-1"), OwnZone(A, "node", "node-2"), OwnZone(B, "flag"), OwnZone())
FACTS = (
    ZoneFacts(),
    ZoneFacts(cpu_milli=((A, 4000), (B, 4000)), replicas=((A, 2), (B, 1), (C, 1))),
    ZoneFacts(cpu_milli=((A, 1000), (B, 2000), (C, 3000)), replicas=((A, 1), (B, 1))),
)
DRAINS = (
    Drain(),
    Drain(zones=((B, 0.0),)),
    Drain(zones=((A, 0.0), (B, 15.0))),
    Drain(zones=((A, 0.0), (B, 0.0), (C, 0.0))),
)
TIMES = (0.0, 10.0, 20.0, 60.0)
SCENE_BITS = 64
PLAIN = (
    ZONES_OFF,
    *(ZonePolicy(name, min_cluster_size=2) for name in ZonePolicyName if name is not ZonePolicyName.ORDERED),
    ZonePolicy(ZonePolicyName.PREFER_ZONE, min_endpoints=2, min_percent=50),
    ZonePolicy(ZonePolicyName.ORDERED, keys=("kubernetes.io/hostname", "topology.kubernetes.io/zone")),
    ZonePolicy(ZonePolicyName.ORDERED, keys=("topology.kubernetes.io/zone", "*")),
)
POLICIES = (
    *PLAIN,
    *(msgspec.structs.replace(policy, rollout_percent=50) for policy in PLAIN),
    *(msgspec.structs.replace(policy, dry_run=True) for policy in PLAIN),
)


class Scene(NamedTuple):
    """A backend in a place, of which some endpoints are ejected."""

    backend: Backend
    own: OwnZone
    facts: ZoneFacts
    drain: Drain
    ejected: tuple[int, ...]
    now: float
    seed: int

    def runtime(self) -> BackendRuntime:
        runtime = BackendRuntime.fresh(
            self.backend,
            own_zone=self.own,
            random_below=random.Random(self.seed).randrange,
            zones=self.facts,
            drain=self.drain,
        )
        members = list(runtime.members.values())
        for number in self.ejected:
            if number < len(members):
                runtime.health.report(members[number].health, Outcome.UNREACHED, now=0.0)
        return runtime

    @property
    def ready(self) -> list[Endpoint]:
        return [endpoint for endpoint in self.backend.endpoints if endpoint.ready]


def endpoint_of(number: int, code: int) -> Endpoint:
    code, zone = divmod(code, len(ENDPOINT_ZONES))
    code, condition = divmod(code, len(CONDITIONS))
    hints = code % len(HINTS)
    ready, terminating = CONDITIONS[condition]
    return Endpoint(
        address=f"10.0.0.{number}",
        port=80,
        zone=ENDPOINT_ZONES[zone],
        node=f"node-{number % 3}",
        ready=ready,
        serving_terminating=terminating,
        hint_zones=HINTS[hints],
    )


def endpoints_of(codes: list[int]) -> tuple[Endpoint, ...]:
    return tuple(endpoint_of(number, code) for number, code in enumerate(codes, start=1))


def backend_of(endpoints: tuple[Endpoint, ...], policy: ZonePolicy) -> Backend:
    backend = build.backend(of=endpoints, zone_policy=policy)
    return msgspec.structs.replace(backend, ejection=EJECTING)


def scene_of(number: int) -> Scene:
    """Every number is a scene: one draw instead of a dozen makes thousands of scenes affordable."""
    digits: list[int] = []
    for base in (len(POLICIES), len(OWN_ZONES), len(FACTS), len(DRAINS), 2**5, len(TIMES), 1000, ENDPOINTS_MAX + 1):
        number, digit = divmod(number, base)
        digits.append(digit)
    policy, own, facts, drain, ejected, now, seed, count = digits
    return Scene(
        backend_of(endpoints_of([number // ENDPOINT_CODES**place for place in range(count)]), POLICIES[policy]),
        OWN_ZONES[own],
        FACTS[facts],
        DRAINS[drain],
        tuple(place for place in range(5) if ejected >> place & 1),
        TIMES[now],
        seed,
    )


scenes = st.integers(0, 2**SCENE_BITS).map(scene_of)


def any_scene(choice: random.Random) -> Scene:
    return scene_of(choice.getrandbits(SCENE_BITS))


def all_well(choice: random.Random) -> Scene:
    return any_scene(choice)._replace(ejected=())


def count(first: int, last: int) -> Callable[[random.Random], int]:
    return lambda choice: choice.randint(first, last)


def holds_for(*arguments: Callable[[random.Random], Any]) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Runs a test with 2,000 random choices of its arguments, 20 of them in an example.

    What Hypothesis does for one example costs several times what a test does with one scene. It could not make scenes
    much smaller either. A failure shows the arguments last.
    """

    def decorated(test: Callable[..., None]) -> Callable[[], None]:
        def run(seed: int) -> None:
            choice = random.Random(seed)
            for _ in range(20):
                chosen = [argument(choice) for argument in arguments]
                note(chosen)
                test(*chosen)

        run.__name__, run.__qualname__, run.__doc__ = test.__name__, test.__qualname__, test.__doc__
        return examples(100)(given(st.integers(0, 2**64))(run))

    return decorated


def walk(balancer: Balancer, now: float) -> list[Pick]:
    """The picks of a request whose every attempt fails."""
    picks: list[Pick] = []
    while (pick := balancer.pick([pick.member for pick in picks], now)) is not None:
        picks.append(pick)
    return picks


@holds_for(any_scene)
def test_a_pick_is_empty_only_if_nothing_can_serve_or_a_strict_list_has_no_match(scene: Scene) -> None:
    runtime = scene.runtime()
    for _ in range(2):
        balancer = runtime.balancer(None, scene.now)
        pick = balancer.pick((), scene.now)
        if balancer.refusal is not None:
            assert pick is None
            assert balancer.refusal is Reason.ORDERED_NONE
        elif scene.ready:
            assert pick is not None and pick.endpoint.ready
        elif any(endpoint.serving_terminating for endpoint in scene.backend.endpoints):
            assert pick is not None and pick.endpoint.serving_terminating
            assert pick.reason is Reason.TERMINATING_LAST_RESORT
        else:
            assert pick is None


@holds_for(any_scene)
def test_what_is_ejected_serves_only_in_panic_or_as_a_last_resort(scene: Scene) -> None:
    runtime = scene.runtime()
    balancer = runtime.balancer(None, scene.now)
    pick = balancer.pick((), scene.now)
    if pick is not None and not pick.member.health.is_well:
        assert pick.reason in (Reason.PANIC, Reason.TERMINATING_LAST_RESORT)
        left = [member for member in runtime.members.values() if member.endpoint.ready and member.health.is_well]
        others = [member for member in left if member.endpoint.zone not in dict(scene.drain.zones)]
        assert len(others) * 100 < scene.backend.panic_percent * len(scene.ready) or not scene.ready


@holds_for(all_well)
def test_the_mode_is_decided_first_and_then_only_applied(scene: Scene) -> None:
    runtime = scene.runtime()
    for _ in range(3):
        balancer = runtime.balancer(None, scene.now)
        pools = balancer.pools
        pick = balancer.pick((), scene.now)
        if pick is not None:
            assert pick.endpoint in (pools.zonal if pools.zonal_mode else pools.general)
            assert pick.reason is pools.reason


@holds_for(all_well)
def test_every_pick_has_the_one_reason_that_the_policy_gives_for_the_place(scene: Scene) -> None:
    """As `split` says it, which all that explains a decision asks as well."""
    runtime, policy = scene.runtime(), scene.backend.zone_policy
    drained = tuple(sorted(zone for zone, _ in scene.drain.zones))
    ramping = [(), (A,), (B,), (C,), (A, B), drained]
    surroundings = [
        Surroundings(own=scene.own, zones=msgspec.structs.replace(scene.facts, drained=zones)) for zones in ramping
    ]
    possible = {split(scene.backend.endpoints, around, policy).reason for around in surroundings}
    if Reason.PROPORTIONAL_LOCAL in possible:
        possible.add(Reason.PROPORTIONAL_RESIDUAL)
    unaware = {split(scene.backend.endpoints, around, ZONES_OFF).reason for around in surroundings}
    if policy.rollout_percent < 100:
        possible |= {Reason.ROLLOUT_EXCLUDED, *unaware}
    for _ in range(3):
        pick = runtime.balancer(None, scene.now).pick((), scene.now)
        if pick is None:
            continue
        told = pick.reason
        if policy.dry_run:
            assert told in unaware
            assert pick.foretold is not None
            told = pick.foretold.reason
        assert told in possible
        assert pick.locality is locality_of(pick.endpoint.zone, scene.own.zone)


@holds_for(all_well)
def test_the_whole_set_stays_within_reach_of_retries_and_the_chosen_pool_is_first(scene: Scene) -> None:
    balancer = scene.runtime().balancer(None, scene.now)
    picks = walk(balancer, scene.now)
    pools = balancer.pools
    serving = pools.zonal if pools.zonal_mode else pools.general
    if balancer.refusal is not None:
        assert picks == []
        return
    usable = scene.ready or [each for each in scene.backend.endpoints if each.serving_terminating]
    assert sorted(pick.endpoint for pick in picks) == sorted(usable)
    assert {pick.endpoint for pick in picks[: len(serving)]} == set(serving)
    later = {pick.reason for pick in picks[len(serving) :]}
    if pools.zonal_mode:
        assert later <= {Reason.RETRY_OTHER_ZONE}
    else:
        assert later <= {Reason.DRAINED_ZONE}


@holds_for(any_scene)
def test_a_zone_whose_drain_is_over_is_used_only_if_nothing_else_is_left(scene: Scene) -> None:
    over = 1e4
    runtime = scene.runtime()
    balancer = runtime.balancer(None, over)
    pick = balancer.pick((), over)
    drained = dict(scene.drain.zones)
    if pick is None or pick.endpoint.zone not in drained or not scene.ready:
        return
    others = [member for member in runtime.members.values() if member.endpoint.ready]
    others = [member for member in others if member.endpoint.zone not in drained]
    assert pick.reason in (Reason.DRAINED_ZONE, Reason.PANIC)
    is_strict = scene.backend.zone_policy.name is ZonePolicyName.ORDERED
    assert is_strict or not any(member.health.is_well for member in others)


@holds_for(all_well, count(1, 3))
def test_with_the_flag_off_there_is_one_rotation_over_every_ready_endpoint(scene: Scene, rounds: int) -> None:
    """The model of a flag that is off: no policy, and nothing known of zones or drains."""
    scene = scene._replace(backend=backend_of(scene.backend.endpoints, ZONES_OFF), facts=ZoneFacts(), drain=Drain())
    runtime = scene.runtime()
    picks = [runtime.balancer(None, 0.0).pick() for _ in range(rounds * len(scene.ready))]
    assert Counter(pick and pick.endpoint for pick in picks) == dict.fromkeys(scene.ready, rounds)
    assert {pick and pick.reason for pick in picks} <= {Reason.OFF}


@pytest.mark.large
@holds_for(all_well, all_well, count(0, 7), count(0, 2))
def test_every_rotation_is_fair_over_any_window_also_after_a_change(
    before: Scene, after: Scene, used: int, skipped: int
) -> None:
    runtime = before.runtime()
    for _ in range(used):
        runtime.balancer(None, before.now).pick((), before.now)
    runtime = runtime.with_backend(after.backend, after.own, after.facts, after.drain)
    balancer = runtime.balancer(None, after.now)
    if isinstance(balancer, SpillingBalancer):
        return  # `adaptive` takes the better of two, and no turns
    for _ in range(skipped):
        balancer.pick((), after.now)
    serving = balancer.pools.zonal if balancer.pools.zonal_mode else balancer.pools.general
    picks = [balancer.pick((), after.now) for _ in range(2 * len(serving))]
    assert Counter(pick and pick.endpoint for pick in picks) == dict.fromkeys(serving, 2)


@holds_for(all_well, all_well, count(1, 7))
def test_across_a_change_who_stays_in_a_pool_keeps_the_order_of_turns(before: Scene, after: Scene, used: int) -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE)
    runtime = before._replace(
        backend=msgspec.structs.replace(before.backend, zone_policy=policy), drain=Drain()
    ).runtime()
    old = runtime.balancer(None, 0.0)
    for _ in range(used):
        old.pick()
    assert isinstance(old, PoolBalancer)
    waiting = [pick.member for pick in old.turns.serving.upcoming()]
    changed = msgspec.structs.replace(after.backend, zone_policy=policy)
    runtime = runtime.with_backend(changed, before.own, before.facts, Drain())
    new = runtime.balancer(None, 0.0)
    if new.pools.zonal_mode != old.pools.zonal_mode:
        return
    serving = {label_of(endpoint) for endpoint in (new.pools.zonal if new.pools.zonal_mode else new.pools.general)}
    staying = [member for member in waiting if member.label in serving]
    picks = [new.pick() for _ in staying]
    assert [pick and pick.member for pick in picks] == staying
