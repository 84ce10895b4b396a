"""Every outcome of a request with its probability, from what serves and without any effect on it."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.explain.foreseeing import Prospect, foresee
from balancer.matching.branches import Junction
from balancer.matching.destinations import Destination
from balancer.model.endpoints import LoadBalancing
from balancer.model.policies import Affinity
from balancer.model.routes import Canary
from balancer.model.zones import Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.zones.draining import Drain
from balancer.zones.reasons import Reason
from tests import builders as build
from tests.matches import destination
from tests.properties import examples
from tests.questions import question_of
from tests.unit.balancer.asked import CART, NEXT, eject, shop, with_canary
from tests.unit.balancer.test_zone_invariants import Scene, scenes

QUESTION = question_of("http://shop.test/?x=1")


def outcomes(runtime: BackendRuntime, to: Destination | None = None, *, now: float = 0.0) -> tuple[Prospect, ...]:
    return foresee(runtime, None, to=to or destination(build.route()), question=QUESTION, now=now)


@examples(300)
@given(scenes)
def test_the_probabilities_of_all_outcomes_add_up_to_one(scene: Scene) -> None:
    found = outcomes(scene.runtime(), now=scene.now)
    assert sum(each.probability for each in found) == pytest.approx(1)
    assert all(each.probability > 0 for each in found)


@examples(300)
@given(scenes)
def test_all_picks_of_an_outcome_have_its_reason(scene: Scene) -> None:
    for each in outcomes(scene.runtime(), now=scene.now):
        assert {pick.reason for pick in each.picks} <= {each.reason}
        assert bool(each.picks) == (each.reason not in (None, Reason.ORDERED_NONE))


def test_a_ramp_of_a_drain_is_a_mixture_of_what_was_and_what_will_be() -> None:
    policy = ZonePolicy(ZonePolicyName.PREFER_ZONE)
    backend = build.backend(of=build.endpoints("aab"), zone_policy=policy)
    scene = Scene(backend, build.own_zone("zone-a"), ZoneFacts(), Drain(zones=((Zone("zone-a"), 0.0),)), (), 0.0, 1)
    found = {each.reason: each.probability for each in outcomes(scene.runtime(), now=7.5)}
    assert found == {Reason.ZONE_EMPTY: pytest.approx(0.25), Reason.ZONE_LOCAL: pytest.approx(0.75)}


def test_a_full_zone_is_foreseen_to_spill_and_a_full_backend_to_refuse() -> None:
    backend = msgspec.structs.replace(
        build.backend(of=build.endpoints("ab"), zone_policy=build.PREFER_ZONE), max_concurrency_per_endpoint=1
    )
    runtime = BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=lambda _: 0)
    local, remote = runtime.members.values()
    local.in_flight = 1
    (spilled,) = outcomes(runtime)
    assert (spilled.reason, [pick.member for pick in spilled.picks]) == (Reason.SPILL_LOAD, [remote])
    pick = runtime.balancer().pick()
    assert pick is not None and (pick.reason, pick.member) == (Reason.SPILL_LOAD, remote)
    remote.in_flight = 1
    (refused,) = outcomes(runtime)
    assert (refused.reason, refused.picks, refused.coming) == (None, (), None)


def test_the_least_busy_endpoint_comes_first() -> None:
    backend = msgspec.structs.replace(
        build.backend(of=build.endpoints("aaa")), load_balancing=LoadBalancing.LEAST_REQUEST
    )
    runtime = BackendRuntime.fresh(backend, own_zone=build.own_zone("zone-a"), random_below=lambda _: 0)
    for member, busy in zip(runtime.members.values(), (2, 0, 1), strict=True):
        member.in_flight = busy
    (each,) = outcomes(runtime)
    assert [pick.member.in_flight for pick in each.picks] == [0, 1, 2]


def test_a_new_client_gets_what_the_balancer_says() -> None:
    view = shop(build.route(affinity=Affinity()))
    match = view.configurations["http"].match(b"shop.test", b"/")
    assert match is not None
    (each,) = outcomes(view.backends[CART], match.served.main)
    assert (each.held, each.reason, len(each.picks)) == (False, Reason.ZONE_LOCAL, 2)


def test_a_hash_holds_every_request_with_the_same_text() -> None:
    view = shop()
    route = build.route(hash_by="$arg_x")
    branch = destination(route)
    (each,) = outcomes(view.backends[CART], branch)
    assert each.held and len(each.picks) == 1
    eject(view, each.picks[0].member.label)
    (instead,) = outcomes(view.backends[CART], branch, now=1.0)
    assert instead.held and instead.picks[0].member is not each.picks[0].member


@given(st.lists(st.tuples(st.integers(0, 60), st.sampled_from([0, 100, 150])), max_size=3), st.integers(0, 9))
def test_branches_have_the_probabilities_of_many_draws(weights: list[tuple[int, int]], seed: int) -> None:
    canaries = tuple(
        build.canary(NEXT, f"trial-{place}", rules=Canary(weight=weight, weight_total=total))
        for place, (weight, total) in enumerate(weights)
    )
    junction = Junction(build.route(canaries=canaries))
    chances = {
        branch.branch.owner.name: chance
        for chance, branch in junction.chances(QUESTION.request, has_endpoints=lambda _: True)
    }
    assert sum(chances.values()) == pytest.approx(1)
    chance, count = random.Random(seed), 300
    drawn = Counter(
        junction.choose(QUESTION.request, has_endpoints=lambda _: True, random_below=chance.randrange).branch.owner.name
        for _ in range(count)
    )
    assert drawn.keys() <= chances.keys()
    for name, share in chances.items():
        assert abs(drawn[name] - count * share) <= 6 * (count * share * (1 - share)) ** 0.5


def test_the_rules_of_each_canary_are_told_on_their_own() -> None:
    route = with_canary(10)
    junction = Junction(build.route(canaries=(*route.canaries, *route.canaries)))
    for said, verdict in {"always": True, "never": False, "maybe": None}.items():
        question = question_of("http://shop.test/", [f"X-Try: {said}"])
        assert junction.verdicts(question.request).by_rule == (verdict, verdict)
