"""Under `adaptive` a strained zone gives a share of its requests away, and what ends is heard of by the controller."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from balancer.model.endpoints import Backend, Ejection, LoadBalancing
from balancer.model.zones import ZONES_OFF, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.model.zones import ZonePrices as Prices
from balancer.picking.backend import BackendRuntime
from balancer.picking.leaving import dearnesses, elsewhere
from balancer.picking.members import Pick
from balancer.picking.outcomes import Outcome
from balancer.zones.adaptive import SpillController
from balancer.zones.cost import tariffs
from balancer.zones.reasons import Reason
from balancer.zones.split import split
from balancer.zones.verdicts import Surroundings
from tests import builders as build

pytestmark = pytest.mark.large

A, B, C = (Zone(f"zone-{letter}") for letter in "abc")
ADAPTIVE = ZonePolicy(ZonePolicyName.ADAPTIVE)
QUICK, SLOW = 0.02, 0.2
EVERY = 0.005


def backend_of(zones: str, policy: ZonePolicy = ADAPTIVE, *, load_balancing: LoadBalancing | None = None) -> Backend:
    backend = build.backend(of=build.endpoints(zones), zone_policy=policy)
    return msgspec.structs.replace(backend, load_balancing=load_balancing or LoadBalancing.ROUND_ROBIN)


class Traffic:
    """Requests one after the other, each answered at once after as long as its zone takes."""

    def __init__(self, backend: Backend, *, zones: ZoneFacts | None = None, own: str | None = "zone-a") -> None:
        chance = random.Random(1)
        self.runtime = BackendRuntime.fresh(
            backend, own_zone=build.own_zone(own), random_below=chance.randrange, zones=zones or ZoneFacts()
        )
        self.noise = chance
        self.now = 0.0

    def send(self, seconds: float, *, local: float = QUICK, remote: float = QUICK) -> list[Pick]:
        """What was picked in `seconds`."""
        made: list[Pick] = []
        until = self.now + seconds
        while self.now < until:
            self.now += EVERY
            pick = self.runtime.balancer(None, self.now).pick((), self.now)
            assert pick is not None
            took = (local if pick.endpoint.zone == A else remote) * self.noise.uniform(0.8, 1.2)
            self.runtime.report(pick, Outcome.ANSWERED, now=self.now, seconds=took)
            made.append(pick)
        return made

    @property
    def controller(self) -> SpillController:
        (controller,) = self.runtime.plans.controllers()
        return controller


def reasons(picks: list[Pick]) -> Counter[Reason]:
    return Counter(pick.reason for pick in picks)


def test_a_zone_at_ease_keeps_every_request() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    made = traffic.send(20.0)
    assert set(reasons(made)) == {Reason.ZONE_LOCAL}
    assert {pick.endpoint.address for pick in made} == {"10.0.0.1", "10.0.0.2"}
    assert traffic.controller.share == 0.0


def test_a_strained_zone_gives_requests_away_and_takes_them_back() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    traffic.send(20.0)
    strained = traffic.send(10.0, local=SLOW)
    assert set(reasons(strained)) == {Reason.ZONE_LOCAL, Reason.SPILL_LOAD}
    assert {pick.endpoint.zone for pick in strained if pick.reason is Reason.SPILL_LOAD} == {B, C}
    assert {pick.endpoint.zone for pick in strained if pick.reason is Reason.ZONE_LOCAL} == {A}
    assert traffic.controller.share > 0.2
    assert traffic.controller.overload_factor > 2.0
    traffic.send(60.0, remote=1.5 * QUICK)
    assert traffic.controller.share == 0.0
    assert set(reasons(traffic.send(5.0))) == {Reason.ZONE_LOCAL}


def test_at_the_budget_the_reason_says_so() -> None:
    traffic = Traffic(backend_of("aabbcc", msgspec.structs.replace(ADAPTIVE, spill_budget_percent=10)))
    traffic.send(20.0)
    traffic.send(5.0, local=SLOW)
    counts = reasons(traffic.send(5.0, local=SLOW))
    assert set(counts) == {Reason.SPILL_LOAD, Reason.SPILL_BUDGET_EXHAUSTED}
    assert counts[Reason.SPILL_LOAD] == pytest.approx(counts.total() / 10, rel=0.02)


@pytest.mark.parametrize("budget_percent", [100, 10])
def test_what_is_foreseen_is_what_comes(budget_percent: int) -> None:
    traffic = Traffic(backend_of("aabbcc", msgspec.structs.replace(ADAPTIVE, spill_budget_percent=budget_percent)))
    assert len(traffic.runtime.chances(None, 0.0)) == 1
    traffic.send(20.0)
    traffic.send(10.0, local=SLOW)
    chances = traffic.runtime.chances(None, traffic.now)
    assert sum(chance.probability for chance in chances) == pytest.approx(1.0)
    foreseen = {
        pick.reason: (chance.probability, len(outlook.picks))
        for chance in chances
        for outlook in (chance.serving.outlook(traffic.now, leaves=chance.leaves),)
        for pick in outlook.picks
    }
    assert foreseen[Reason.SPILL_LOAD] == (traffic.controller.share, 4)
    assert set(foreseen) == set(reasons(traffic.send(1.0, local=SLOW)))


@pytest.mark.parametrize(
    ("zones", "own", "reason"),
    [("bbcc", "zone-a", Reason.ZONE_EMPTY), ("aabb", None, Reason.OWN_ZONE_UNKNOWN)],
)
def test_it_falls_back_to_every_zone_as_prefer_zone_does(zones: str, own: str | None, reason: Reason) -> None:
    traffic = Traffic(backend_of(zones), own=own)
    made = traffic.send(5.0)
    assert set(reasons(made)) == {reason}
    assert len({pick.endpoint for pick in made}) == len(zones)


def test_where_there_is_nowhere_else_every_request_stays() -> None:
    traffic = Traffic(backend_of("aaa"))
    traffic.send(20.0)
    assert set(reasons(traffic.send(10.0, local=SLOW))) == {Reason.ZONE_LOCAL}
    assert traffic.controller.share == 0.0


def test_a_slow_endpoint_gets_little_inside_the_zone() -> None:
    traffic = Traffic(backend_of("aaaa"))
    runtime, counts = traffic.runtime, Counter[str]()
    for number in range(2000):
        pick = runtime.balancer(None, now := number * EVERY).pick((), now)
        assert pick is not None
        counts[pick.endpoint.address] += 1
        seconds = SLOW if pick.endpoint.address == "10.0.0.1" else QUICK
        runtime.report(pick, Outcome.ANSWERED, now=now, seconds=seconds)
    assert counts["10.0.0.1"] < counts.total() / 20


def test_a_retry_stays_in_the_zone_while_it_can_and_asks_nobody() -> None:
    runtime = Traffic(backend_of("aab")).runtime
    near, other, far = runtime.members.values()
    balancer = runtime.balancer(None, 0.0)
    first, second = balancer.pick((near,), 0.0), balancer.pick((near, other), 0.0)
    assert first is not None
    assert second is not None
    assert (first.member, first.reason) == (other, Reason.ZONE_LOCAL)
    assert (second.member, second.reason) == (far, Reason.RETRY_OTHER_ZONE)


def test_the_controller_outlives_a_swap_but_not_other_limits() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    controller = traffic.controller if traffic.send(1.0) else None
    own = build.own_zone("zone-a")
    swapped = traffic.runtime.with_backend(backend_of("aabbc"), own)
    assert swapped.plans.controllers() == (controller,)
    dearer = msgspec.structs.replace(ADAPTIVE, toll_ratio=0.5)
    assert swapped.with_backend(backend_of("aabbc", dearer), own).plans.controllers() != (controller,)
    assert swapped.with_backend(backend_of("aabbc"), build.own_zone("zone-b")).plans.controllers() != (controller,)
    assert swapped.with_backend(backend_of("aabbc", ZONES_OFF), own).plans.controllers() == ()


def test_the_rest_of_a_rollout_is_none_of_the_controllers_business() -> None:
    traffic = Traffic(backend_of("aabb", msgspec.structs.replace(ADAPTIVE, rollout_percent=50)))
    made = traffic.send(10.0)
    assert set(reasons(made)) == {Reason.ZONE_LOCAL, Reason.ROLLOUT_EXCLUDED}
    assert {pick.reason for pick in made if pick.observer is not None} == {Reason.ZONE_LOCAL}


def test_a_dry_run_neither_spills_nor_learns() -> None:
    traffic = Traffic(backend_of("aabb", msgspec.structs.replace(ADAPTIVE, dry_run=True)))
    made = traffic.send(5.0) + traffic.send(5.0, local=SLOW)
    assert set(reasons(made)) == {Reason.OFF}
    assert {pick.foretold.reason for pick in made if pick.foretold is not None} == {Reason.ZONE_LOCAL}
    assert {pick.observer for pick in made} == {None}
    assert traffic.controller.share == 0.0


def test_what_is_ejected_elsewhere_is_left_alone_and_tried_again_by_a_request_that_leaves() -> None:
    backend = msgspec.structs.replace(
        backend_of("aaaabb"), ejection=Ejection(consecutive_errors=1, seconds=5.0, max_percent=50)
    )
    traffic = Traffic(backend)
    traffic.send(20.0)
    traffic.send(5.0, local=SLOW)
    broken = traffic.runtime.members["10.0.0.5:80"]
    traffic.runtime.health.report(broken.health, Outcome.UNREACHED, now=traffic.now)
    assert broken not in {pick.member for pick in traffic.send(4.0, local=SLOW)}
    probes = [pick for pick in traffic.send(10.0, local=SLOW) if pick.probe]
    assert [(pick.member, pick.reason) for pick in probes] == [(broken, Reason.SPILL_LOAD)]
    assert broken.health.is_well


def test_when_health_leaves_too_little_of_the_zone_nothing_is_asked() -> None:
    traffic = Traffic(
        msgspec.structs.replace(
            backend_of("aabbbb"),
            ejection=Ejection(consecutive_errors=1, seconds=500.0, max_percent=90),
            panic_percent=80,
        )
    )
    traffic.send(1.0)
    traffic.runtime.health.report(traffic.runtime.members["10.0.0.1:80"].health, Outcome.UNREACHED, now=traffic.now)
    assert set(reasons(traffic.send(5.0))) == {Reason.SPILL_HEALTH}


def test_cheaper_zones_are_preferred_by_at_most_the_toll() -> None:
    own, prices = A, Prices(default=0.02, pairs=((A, B, 0.0), (B, A, 0.0)))
    factors = dearnesses(tariffs(prices, own, build.endpoints("abc")), toll_ratio=0.05)
    assert factors == {A: 1.0, B: 1.0, C: pytest.approx(1.05)}
    assert set(dearnesses(tariffs(Prices(default=0.0), own, build.endpoints("abc")), toll_ratio=0.05).values()) == {1.0}


def test_spilled_requests_go_where_it_is_quicker() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    traffic.send(20.0)
    made: list[Pick] = []
    for _ in range(2000):
        traffic.now += EVERY
        pick = traffic.runtime.balancer(None, traffic.now).pick((), traffic.now)
        assert pick is not None
        seconds = {A: SLOW, B: QUICK, C: 2 * QUICK}[Zone(pick.to_zone)]
        traffic.runtime.report(pick, Outcome.ANSWERED, now=traffic.now, seconds=seconds)
        made.append(pick)
    away = Counter(pick.endpoint.zone for pick in made if pick.reason is Reason.SPILL_LOAD)
    assert away[B] > 2 * away[C] > 0


def test_elsewhere_is_what_the_general_pool_has_more_than_the_zonal_one() -> None:
    around = Surroundings(own=build.own_zone("zone-a"))
    endpoints = build.endpoints("ab-")
    assert elsewhere(split(endpoints, around, ADAPTIVE)) == endpoints[1:]
    assert elsewhere(split(endpoints, around, ZONES_OFF)) == ()


def test_attempts_that_end_for_the_clients_reasons_say_nothing_about_latency() -> None:
    traffic = Traffic(backend_of("ab"))
    pick = traffic.runtime.balancer(None, 0.0).pick((), 0.0)
    assert pick is not None
    traffic.runtime.report(pick, Outcome.UNKNOWN, now=1.0, seconds=1.0)
    traffic.runtime.report(pick, Outcome.UNREACHED, now=1.0, seconds=0.001)
    assert pick.member.latency is None
    traffic.runtime.report(pick, Outcome.ANSWERED, now=1.0, seconds=1.0)
    assert pick.member.latency is not None
