"""The balancers of one backend share members and health, and their turns go on after those of before."""

from __future__ import annotations

from balancer.model.zones import ZONES_OFF, ZonePolicy, ZonePolicyName
from balancer.picking.health import BackendHealth
from balancer.picking.leaving import SpillingBalancer
from balancer.picking.making import BalancerMaker
from balancer.picking.members import Member, label_of
from balancer.picking.turns import NOTHING_YET
from balancer.zones.adaptive import SpillController
from balancer.zones.evacuation import Evacuation
from balancer.zones.reasons import Reason
from balancer.zones.split import Pools
from balancer.zones.verdicts import Surroundings
from tests import builders as build

BACKEND = build.backend(of=build.endpoints("aab"))
LOCAL = Pools(zonal=BACKEND.endpoints[:2], general=BACKEND.endpoints, reason=Reason.ZONE_LOCAL, zonal_mode=True)
MEMBERS = {label_of(endpoint): Member(endpoint) for endpoint in BACKEND.endpoints}


def maker() -> BalancerMaker:
    return BalancerMaker(
        BACKEND,
        around=Surroundings(own=build.own_zone("zone-a")),
        members=MEMBERS,
        health=BackendHealth(BACKEND.ejection, (member.health for member in MEMBERS.values())),
        random_below=lambda _: 0,
        evacuation=Evacuation(),
    )


def test_turns_are_made_on_first_use_and_once() -> None:
    made = maker()
    assert made.turn_maker() is made.turn_maker()


def test_a_balancer_picks_the_members_of_its_pool_and_the_next_one_goes_on_with_the_turns() -> None:
    made = maker()
    first = made.balancer(LOCAL, NOTHING_YET, ZONES_OFF)
    one = first.pick()
    after = made.balancer(LOCAL, first.turns, ZONES_OFF)
    other = after.pick()
    assert one is not None and other is not None
    assert {one.member.label, other.member.label} == {"10.0.0.1:80", "10.0.0.2:80"}
    assert one.member is MEMBERS[one.member.label]


def test_a_spilling_balancer_tells_its_controller_how_attempts_ended() -> None:
    policy = ZonePolicy(ZonePolicyName.ADAPTIVE, toll_ratio=0.5)
    controller = SpillController(policy, start=0)
    balancer = maker().spilling(LOCAL, NOTHING_YET, policy, controller=controller)
    assert isinstance(balancer, SpillingBalancer)
    pick = balancer.pick()
    assert pick is not None and pick.observer is not None
