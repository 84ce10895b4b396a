"""Which limits are shared, what is told of their clients, and what counts here of what others told."""

from __future__ import annotations

import msgspec

from balancer.model.limits import LimitScope, Rate, RateLimit
from balancer.model.publication import RoutingModel
from balancer.sharing.books import number_of
from balancer.sharing.guards import Unguarded
from balancer.sharing.layout import SECRET_BYTES, begin_memory, counting_in, limits_in, memory_bytes
from ingress.replicas.limiting import LimitSharing, shared_limits
from tests import builders as build

LIMIT = RateLimit("shop/web", (Rate(20, 1, 20),), scope=LimitScope.FLEET)
ALONE = RateLimit("shop/other", (Rate(20, 1, 20),))


def model(*gates: RateLimit) -> RoutingModel:
    route = msgspec.structs.replace(build.route(), gates=gates)
    return build.model(build.backend(), hosts=[build.host("shop.test", route)])


class Memory:
    def __init__(self) -> None:
        self.now = 10**11
        buffer = bytearray(memory_bytes(1))
        begin_memory(buffer, bytes(SECRET_BYTES))
        counting = counting_in(buffer, seats=1, seat=0, guard=Unguarded(), now=lambda: self.now)
        self.zone = counting.fleet_rates(LIMIT.zone, LIMIT.rates, number=number_of(LIMIT))
        self.sharing = LimitSharing(limits_in(buffer, seats=1, guard=Unguarded(), now=lambda: self.now))
        self.sharing.follow(model(LIMIT, ALONE))
        self.turn()

    def turn(self, seconds: float = 0.0, *, others: int = 3, counts: bool = True) -> None:
        self.now += round(seconds * 1e9)
        self.sharing.turn(self.now / 1e9, others=others, counts=counts)

    def passing(self, count: int) -> int:
        return sum(self.zone.may_pass(b"client") for _ in range(count))


def test_only_limits_of_all_replicas_are_shared() -> None:
    assert shared_limits(model(LIMIT, ALONE)) == {number_of(LIMIT): LIMIT}


def test_a_new_client_begins_with_an_even_part_and_is_told_of_at_once() -> None:
    memory = Memory()
    assert memory.passing(40) == 6, "a request counts as four of 21"
    memory.turn(0.1)
    assert [(row.asked, row.passed) for row in memory.sharing.fresh.values()] == [(40, 6)]
    memory.turn(0.1)
    assert memory.sharing.fresh == {}


def test_what_was_withheld_is_given_back_if_nobody_else_knows_the_client() -> None:
    memory = Memory()
    memory.passing(40)
    for _ in range(6):
        memory.turn(0.1)
    assert 14 <= memory.passing(40) <= 27


def test_others_who_are_told_about_a_client_keep_its_part_small() -> None:
    memory = Memory()
    memory.passing(40)
    memory.turn(0.1)
    (place,) = memory.sharing.spent
    for teller in ("1", "2", "3"):
        memory.sharing.hear(teller, {place: (40, 6), (99, 1): (5, 5)})
    for _ in range(5):
        memory.turn(0.1)
    assert memory.passing(40) <= 4


def test_a_dry_run_changes_nothing() -> None:
    memory = Memory()
    memory.turn(0.5, counts=False)
    assert memory.passing(40) == 21
    memory.turn(0.5, counts=False)
    assert len(memory.sharing.spent) == 1


def test_without_such_limits_nothing_is_told() -> None:
    memory = Memory()
    memory.passing(5)
    memory.turn(0.5)
    memory.sharing.follow(model(ALONE))
    memory.turn(0.5)
    assert not memory.sharing.is_used
    assert (memory.sharing.spent, memory.sharing.fresh) == ({}, {})
