"""A backend whose own zone fails: where its requests go, what outlives a change, and who cannot bring it about."""

from __future__ import annotations

import random
from collections import Counter

import msgspec
import pytest

from balancer.model.endpoints import Backend, Ejection
from balancer.model.zones import ZoneEvacuation, ZonePolicy, ZonePolicyName
from balancer.picking.backend import BackendRuntime
from balancer.picking.members import Pick
from balancer.picking.outcomes import Outcome
from balancer.sharing.peers import Others
from balancer.zones.evacuation import ZoneChange, ZoneTurn
from balancer.zones.reasons import Reason
from balancer.zones.verdicts import Surroundings
from tests import builders as build
from tests.unit.balancer.picking.clients import Client, place_of

pytestmark = pytest.mark.large

RATE = 200
PREFER, ADAPTIVE = ZonePolicy(ZonePolicyName.PREFER_ZONE), ZonePolicy(ZonePolicyName.ADAPTIVE)
OWN = build.own_zone("zone-a")


def backend_of(zones: str, policy: ZonePolicy = PREFER) -> Backend:
    made = build.backend(of=build.endpoints(zones), zone_policy=policy)
    return msgspec.structs.replace(made, ejection=Ejection(consecutive_errors=0, failure_percent=0))  # zones alone


class Traffic:
    """Requests of many clients, one after the other, each answered after 20 ms or failing at once."""

    def __init__(self, backend: Backend, *, clients: int = 40) -> None:
        self._chance = random.Random(7)
        self.runtime = BackendRuntime.fresh(
            backend, own_zone=OWN, random_below=self._chance.randrange, others=Others(place_of=place_of)
        )
        self._clients = [Client(f"10.1.0.{number}") for number in range(clients)]
        self.now, self.changes = 100.0, list[ZoneChange]()

    def send(self, seconds: float, **failing: float) -> list[Pick]:
        """The picks of `seconds`, in which these shares of the answers of zones fail, by their letters."""
        made = []
        for _ in range(round(seconds * RATE)):
            self.now += 1.0 / RATE
            pick = self.runtime.balancer(None, self.now).pick((), self.now)
            assert pick is not None
            self.end(
                pick, self._chance.random() < failing.get(pick.to_zone[-1], 0.0), self._chance.choice(self._clients)
            )
            made.append(pick)
        return made

    def end(self, pick: Pick, failed: bool, client: Client) -> None:
        outcome = Outcome.ANSWERED_5XX if failed else Outcome.ANSWERED
        change = self.runtime.report(pick, outcome, self.now, 0.001 if failed else 0.02, client)
        if isinstance(change, ZoneChange):
            self.changes.append(change)

    def change_to(self, backend: Backend) -> None:
        """The backend is another one from now on."""
        after = self.runtime.with_backend(backend, OWN)
        after.settle(Surroundings(own=OWN), self.runtime)
        self.runtime = after


def at_home(picks: list[Pick]) -> float:
    return sum(pick.to_zone == "zone-a" for pick in picks) / len(picks)


@pytest.mark.parametrize("policy", [PREFER, ADAPTIVE], ids=lambda policy: policy.name.value)
@pytest.mark.parametrize("failing", [0.4, 1.0])
def test_a_sick_zone_is_left_in_five_seconds_and_has_everything_back_after_its_repair(
    policy: ZonePolicy, failing: float
) -> None:
    traffic = Traffic(backend_of("aabbcc", policy))
    assert at_home(traffic.send(10.0)) == 1.0
    traffic.send(5.0, a=failing)
    left = traffic.send(10.0, a=failing)
    assert at_home(left) == pytest.approx(0.03, abs=0.015)
    assert {pick.reason for pick in left} == {Reason.ZONE_LOCAL, Reason.SPILL_ERRORS}
    traffic.send(20.0)
    assert at_home(traffic.send(5.0)) >= 0.99
    assert [change.turn for change in traffic.changes] == [ZoneTurn.BEGUN, ZoneTurn.ENDED]


def test_while_nothing_fails_nothing_is_counted_and_turns_are_those_of_a_rotation() -> None:
    traffic = Traffic(backend_of("aaab"))
    picks = [pick.member.label for pick in traffic.send(1.0)]
    assert picks[:3] * 66 == picks[:198]
    assert not traffic.runtime.evacuation.is_awake


@pytest.mark.parametrize(
    ("policy", "is_judged", "leaves"),
    [
        (ZonePolicy(ZonePolicyName.PREFER_ZONE), True, True),
        (ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF), False, False),
        (ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.DRY_RUN), True, False),
        (ZonePolicy(ZonePolicyName.OFF), False, False),
        (ZonePolicy(ZonePolicyName.HINTS), False, False),
    ],
)
def test_the_policy_says_whether_zones_are_judged_and_left(policy: ZonePolicy, is_judged: bool, leaves: bool) -> None:
    traffic = Traffic(backend_of("aabbcc", policy))
    picks = traffic.send(15.0, a=1.0)
    assert traffic.runtime.evacuation.is_awake is is_judged
    assert (Reason.SPILL_ERRORS in {pick.reason for pick in picks}) is leaves
    assert traffic.runtime.plans.leaves_zones is leaves


def test_what_is_known_outlives_a_change_of_the_endpoints() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    traffic.send(10.0, a=1.0)
    traffic.change_to(backend_of("aabbc"))
    assert at_home(traffic.send(3.0, a=1.0)) < 0.1
    traffic.change_to(backend_of("bbc"))
    assert traffic.runtime.evacuation.left == {}


def test_with_another_policy_it_is_over() -> None:
    traffic = Traffic(backend_of("aabbcc"))
    traffic.send(10.0, a=1.0)
    never = ZonePolicy(ZonePolicyName.PREFER_ZONE, asked_evacuation=ZoneEvacuation.OFF)
    traffic.change_to(backend_of("aabbcc", never))
    assert at_home(traffic.send(3.0, a=1.0)) == 1.0


def test_adaptive_takes_quick_failures_for_no_ease_and_needs_no_second_return() -> None:
    traffic = Traffic(backend_of("aabbcc", ADAPTIVE))
    traffic.send(20.0)
    traffic.send(30.0, a=1.0)
    traffic.send(15.0)
    assert Counter(pick.reason for pick in traffic.send(10.0)) == {Reason.ZONE_LOCAL: 10 * RATE}


@pytest.mark.parametrize("clients", [1, 2, 40])
def test_a_client_that_provokes_errors_at_one_endpoint_of_a_zone_moves_nobody(clients: int) -> None:
    """A cookie holds it to the zone, so no other zone sees its requests. Half of those at home fail, all its. It has
    the place of another client, from which it differs by name only.
    """
    traffic = Traffic(backend_of("aabbcc"), clients=clients)
    attacker, home = Client("192.0.2.16"), traffic.runtime.members["10.0.0.1:80"]
    assert place_of(attacker.client.encode()) == place_of(b"10.1.0.0")
    traffic.send(5.0)
    picks: list[Pick] = []
    for _ in range(40 * RATE):
        (pick,) = traffic.send(1.0 / RATE)
        picks.append(pick)
        held = next(each for each in _every(traffic.runtime) if each.member is home)
        traffic.end(held, True, attacker)
    assert at_home(picks) >= 0.9
    assert traffic.changes == []


def _every(runtime: BackendRuntime) -> list[Pick]:
    standing = runtime.standing()
    pools = runtime.balancer(None, 0.0).pools
    return [standing.pick(label, pools) for label in runtime.members]


def test_a_client_that_fails_everywhere_moves_nobody() -> None:
    traffic = Traffic(backend_of("aabbcc"), clients=1)
    assert at_home(traffic.send(60.0, a=0.5, b=0.5, c=0.5)) >= 0.9
