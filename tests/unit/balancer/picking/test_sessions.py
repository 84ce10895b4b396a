"""Endpoints by affinity and by hash: the same for every replica, and never against health without need."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from balancer.matching.affinity import Stickiness, mark_of
from balancer.matching.destinations import Destination
from balancer.model.endpoints import Backend, BackendKey, Endpoint
from balancer.model.policies import Affinity
from balancer.model.zones import ZONES_OFF, Zone, ZoneFacts, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Member, Pick, label_of
from balancer.picking.outcomes import Outcome
from balancer.picking.sessions import Session
from balancer.zones.reasons import Reason
from tests import builders as build
from tests.matches import destination
from tests.properties import examples
from tests.unit.balancer import strategies
from tests.unit.balancer.matching.test_variables import request

BALANCED = Affinity()
PERSISTENT = Affinity(persistent=True)
CART = BackendKey("shop/cart:80")
SIX = build.backend(of=build.endpoints("aabbcc"), zone_policy=build.PREFER_ZONE)


def runtime_of(backend: Backend = SIX, zone: str | None = "zone-a") -> BackendRuntime:
    return BackendRuntime.fresh(backend, own_zone=build.own_zone(zone), random_below=lambda _: 0)


def sticky(affinity: Affinity = BALANCED) -> Destination:
    return destination(build.route(affinity=affinity))


def hashing(text: str = "$arg_x", *, subset: int = 1) -> Destination:
    return destination(build.route(hash_by=text, hash_subset=subset))


def keys(seed: int = 7) -> Callable[[], bytes]:
    chance = random.Random(seed)
    return lambda: b"%d" % chance.randrange(10**9)


def session(
    to: Destination, runtime: BackendRuntime, *, key: bytes | None = None, target: str = "/", seed: int = 7
) -> Session:
    """One request, with the cookie of `key` if there is one."""
    fields = [f"Cookie: INGRESSCOOKIE={key.decode()}|{mark_of(CART).decode()}"] if key is not None else []
    return Session(
        to,
        runtime=runtime,
        balancer=runtime.balancer(),
        request=request(*fields, target=target),
        peer="192.0.2.7",
        new_key=keys(seed),
        random_below=random.Random(seed).randrange,
    )


def must(pick: Pick | None) -> Pick:
    assert pick is not None
    return pick


def picked(branch: Destination, runtime: BackendRuntime, *, key: bytes | None = None, target: str = "/") -> Pick:
    return must(session(branch, runtime, key=key, target=target).pick())


def eject(runtime: BackendRuntime, member: Member) -> None:
    pick = next(each for each in every_pick(runtime) if each.member is member)
    for _ in range(5):
        runtime.report(pick, Outcome.UNREACHED, now=0.0, seconds=0.1)
    assert not member.health.is_well


def every_pick(runtime: BackendRuntime) -> list[Pick]:
    picks: list[Pick] = []
    while (pick := runtime.balancer().pick([each.member for each in picks])) is not None:
        picks.append(pick)
    return picks


MODES = pytest.mark.parametrize("affinity", [Affinity(), Affinity(persistent=True)], ids=["balanced", "persistent"])


@MODES
def test_a_new_client_goes_where_the_zone_policy_sends_it_and_stays_there(affinity: Affinity) -> None:
    branch, runtime = sticky(affinity), runtime_of()
    for seed in range(12):
        first = session(branch, runtime, seed=seed)
        pick = must(first.pick())
        assert (pick.reason, pick.to_zone) == (Reason.ZONE_LOCAL, "zone-a")
        assert first.key is not None
        again = session(branch, runtime, key=first.key)
        assert must(again.pick()).member is pick.member
        assert again.key is None


@MODES
def test_new_clients_are_shared_out_evenly(affinity: Affinity) -> None:
    branch, runtime = sticky(affinity), runtime_of(msgspec.structs.replace(SIX, zone_policy=ZONES_OFF))
    counts = Counter(must(session(branch, runtime, seed=seed).pick()).member.label for seed in range(60))
    assert set(counts.values()) == {10}


@MODES
def test_a_replica_in_another_zone_finds_the_same_endpoint_and_says_why(affinity: Affinity) -> None:
    here, there = runtime_of(zone="zone-a"), runtime_of(zone="zone-b")
    first = session(sticky(affinity), here)
    home = must(first.pick())
    pick = picked(sticky(affinity), there, key=first.key)
    assert pick.member.label == home.member.label
    assert pick.reason is Reason.AFFINITY_OVERRIDE
    assert pick.to_zone == "zone-a"


def test_the_reason_is_the_policys_wherever_the_policy_could_have_chosen_the_endpoint() -> None:
    runtime = runtime_of(zone=None)
    assert {picked(sticky(), runtime, key=b"%d" % number).reason for number in range(20)} == {Reason.OWN_ZONE_UNKNOWN}


@given(st.binary(min_size=1, max_size=20).map(bytes.hex), st.permutations([0, 1, 2, 3, 4, 5]))
@examples(50)
def test_a_key_leads_to_one_endpoint_whatever_the_replica_has_seen_before(key: str, order: list[int]) -> None:
    busy = runtime_of(zone="zone-c")
    for number in order:
        busy.balancer().pick()
        picked(hashing(), busy, target=f"/?x={number}")
    there, here = picked(sticky(), busy, key=key.encode()), picked(sticky(), runtime_of(), key=key.encode())
    assert there.member.label == here.member.label


@given(st.integers(0, 5))
@examples(6)
def test_when_an_endpoint_leaves_only_its_clients_move(gone: int) -> None:
    all_six = runtime_of()
    fewer = tuple(each for number, each in enumerate(SIX.endpoints) if number != gone)
    five = all_six.with_backend(msgspec.structs.replace(SIX, endpoints=fewer), build.own_zone("zone-a"))
    branch = sticky()
    for number in range(100):
        before = picked(branch, all_six, key=b"%d" % number).member.label
        after = picked(branch, five, key=b"%d" % number).member.label
        assert (before == after) is (before != f"10.0.0.{gone + 1}:80")


def test_a_persistent_client_whose_endpoint_is_gone_gets_another_one_and_is_told() -> None:
    branch, runtime = sticky(Affinity(persistent=True)), runtime_of()
    lost = session(branch, runtime, key=b"0" * 32)
    pick = must(lost.pick())
    assert lost.key is not None
    assert picked(branch, runtime, key=lost.key).member is pick.member


def test_a_failing_endpoint_keeps_its_clients_and_a_retry_goes_elsewhere_for_once() -> None:
    branch, runtime = sticky(), runtime_of()
    home = picked(branch, runtime, key=b"k")
    eject(runtime, home.member)
    held = session(branch, runtime, key=b"k")
    assert must(held.pick()).member is home.member
    elsewhere = must(held.pick([home.member]))
    assert elsewhere.member is not home.member
    assert held.key is None


@MODES
def test_with_change_on_failure_the_client_gets_the_endpoint_that_answers(affinity: Affinity) -> None:
    branch = sticky(msgspec.structs.replace(affinity, change_on_failure=True))
    runtime = runtime_of(msgspec.structs.replace(SIX, zone_policy=ZONES_OFF))
    first = session(branch, runtime)
    home = must(first.pick())
    failing = session(branch, runtime, key=first.key)
    assert must(failing.pick()).member is home.member
    other = must(failing.pick([home.member]))
    assert other.member is not home.member
    assert failing.key is not None
    assert picked(branch, runtime, key=failing.key).member is other.member
    eject(runtime, home.member)
    moved = session(branch, runtime, key=first.key)
    assert must(moved.pick()).member is not home.member
    assert moved.key is not None


@MODES
def test_a_new_client_whose_first_endpoint_fails_is_told_the_one_that_answers(affinity: Affinity) -> None:
    branch, runtime = sticky(affinity), runtime_of(msgspec.structs.replace(SIX, zone_policy=ZONES_OFF))
    new = session(branch, runtime)
    first = must(new.pick())
    second = must(new.pick([first.member]))
    assert new.key is not None
    assert picked(branch, runtime, key=new.key).member is second.member is not first.member


def test_a_client_is_the_probe_of_its_ejected_endpoint_and_brings_it_back() -> None:
    branch, runtime = sticky(), runtime_of()
    home = picked(branch, runtime, key=b"k")
    eject(runtime, home.member)
    probe = must(session(branch, runtime, key=b"k").pick((), 60.0))
    assert (probe.member, probe.probe) == (home.member, True)
    assert not must(session(branch, runtime, key=b"k").pick((), 60.0)).probe
    runtime.report(probe, Outcome.ANSWERED, now=60.0, seconds=0.1)
    assert home.member.health.is_well


def test_a_full_endpoint_is_passed_over_for_once() -> None:
    branch, runtime = sticky(), runtime_of(msgspec.structs.replace(SIX, max_concurrency_per_endpoint=1))
    home = picked(branch, runtime, key=b"k")
    home.member.in_flight = 1
    held = session(branch, runtime, key=b"k")
    assert must(held.pick()).member is not home.member
    assert held.key is None
    home.member.in_flight = 0
    assert picked(branch, runtime, key=b"k").member is home.member


@MODES
def test_clients_leave_a_drained_zone_for_good(affinity: Affinity) -> None:
    branch, before = sticky(affinity), runtime_of()
    first = session(branch, before)
    home = must(first.pick())
    after = before.with_backend(SIX, build.own_zone("zone-a"), ZoneFacts(drained=(Zone("zone-a"),)))
    moving = session(branch, after, key=first.key)
    elsewhere = must(moving.pick())
    assert home.to_zone == "zone-a"
    assert elsewhere.to_zone != "zone-a"
    assert moving.key is not None
    staying = session(branch, after, key=moving.key)
    assert must(staying.pick()).member is elsewhere.member
    assert staying.key is None


@pytest.mark.parametrize("branch", [sticky(), hashing("$host")], ids=["cookie", "hash"])
def test_a_strict_list_without_a_match_refuses_whatever_a_cookie_says(branch: Destination) -> None:
    strict = ZonePolicy(ZonePolicyName.ORDERED, keys=("rack",))
    runtime = runtime_of(msgspec.structs.replace(SIX, zone_policy=strict))
    assert session(branch, runtime, key=b"k").pick() is None


@pytest.mark.parametrize("branch", [sticky(), sticky(Affinity(persistent=True)), hashing("$host")])
def test_without_endpoints_there_is_no_pick(branch: Destination) -> None:
    runtime = runtime_of(build.backend())
    assert session(branch, runtime, key=b"k").pick() is None


def test_what_terminates_serves_when_nothing_is_ready() -> None:
    leaving = build.endpoint("10.0.0.1", ready=False, serving_terminating=True)
    pick = picked(sticky(), runtime_of(build.backend(of=[leaving, build.endpoint("10.0.0.2", ready=False)])), key=b"k")
    assert (pick.member.label, pick.reason) == ("10.0.0.1:80", Reason.TERMINATING_LAST_RESORT)


def walk(one: Session, runtime: BackendRuntime) -> list[Member]:
    tried: list[Member] = []
    while (pick := one.pick(tuple(tried))) is not None:
        tried.append(pick.member)
    return tried


@given(
    st.sampled_from([sticky(), sticky(Affinity(persistent=True)), hashing("$uri")]), st.sampled_from([None, b"k", b"9"])
)
@examples(30)
def test_a_walk_tries_every_endpoint_once(branch: Destination, key: bytes | None) -> None:
    runtime = runtime_of()
    tried: Collection[Member] = walk(session(branch, runtime, key=key), runtime)
    assert sorted(member.label for member in tried) == sorted(runtime.members)


@given(
    strategies.any_endpoints,
    strategies.policies,
    strategies.zones,
    st.sampled_from([BALANCED, PERSISTENT, None]),
    st.integers(0, 5),
)
@examples(2000)
def test_a_held_request_gets_one_endpoint_everywhere_and_says_when_it_is_not_the_policys(
    endpoints: tuple[Endpoint, ...], policy: ZonePolicy, zone: str | None, affinity: Affinity | None, number: int
) -> None:
    """The zone comes last: whatever the replica's zone and policy, the endpoint is the same, and it is there."""
    branch = hashing() if affinity is None else sticky(affinity)
    labels = [label_of(each) for each in endpoints if each.ready]
    key = b"%d" % number
    if affinity is PERSISTENT and labels:
        key = Stickiness(PERSISTENT, CART).persistent_key(labels[number % len(labels)])
    backend = build.backend(of=endpoints, zone_policy=policy)
    here, other = runtime_of(backend, zone), runtime_of(msgspec.structs.replace(backend, zone_policy=ZONES_OFF))
    pick = session(branch, here, key=key, target=f"/?x={number}").pick()
    elsewhere = session(branch, other, key=key, target=f"/?x={number}").pick()
    usable = any(each.ready or each.serving_terminating for each in endpoints)
    assert (pick is not None, elsewhere is not None) == (usable, usable)
    if pick is None or elsewhere is None:
        return
    if labels or affinity is not PERSISTENT:
        assert pick.member.label == elsewhere.member.label
    pools = here.balancer().pools
    serving = pools.zonal if pools.zonal_mode else pools.general
    assert pick.reason is (pools.reason if pick.endpoint in serving else Reason.AFFINITY_OVERRIDE)


@pytest.mark.parametrize(("held_to", "reason"), [("a", Reason.ZONE_LOCAL), ("b", Reason.AFFINITY_OVERRIDE)])
def test_in_a_dry_run_who_is_held_by_a_cookie_is_told_what_the_policy_would_have_said(
    held_to: str, reason: Reason
) -> None:
    policy = msgspec.structs.replace(build.PREFER_ZONE, dry_run=True)
    branch, runtime = sticky(PERSISTENT), runtime_of(build.backend(of=build.endpoints("aabbcc"), zone_policy=policy))
    member = next(each for each in runtime.members.values() if each.endpoint.zone == f"zone-{held_to}")
    key = Stickiness(PERSISTENT, CART).persistent_key(member.label)
    pick = picked(branch, runtime, key=key)
    assert (pick.member, pick.reason) == (member, Reason.OFF)
    assert pick.foretold is not None
    assert (pick.foretold.reason, pick.foretold.tariff) == (reason, pick.tariff)


@pytest.mark.parametrize("affinity", [BALANCED, PERSISTENT])
def test_a_session_that_follows_picks_from_the_backend_as_it_is_now(affinity: Affinity) -> None:
    before = runtime_of()
    going = session(sticky(affinity), before)
    first = must(going.pick())
    left = build.backend(of=build.endpoints("aabbcc")[3:], zone_policy=build.PREFER_ZONE)
    after = before.with_backend(left, build.own_zone("zone-a"))
    going.follow(after, after.balancer())
    again = must(going.pick((first.member,)))
    assert again.member in after.members.values()
    assert going.key is not None
