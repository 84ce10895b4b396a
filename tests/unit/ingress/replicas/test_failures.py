"""What failures mean that several replicas see, and what one that lies can do."""

from __future__ import annotations

from balancer.picking.failing import EndpointPlace, FailingRow
from balancer.workers.messages import SuspectRow
from ingress.replicas.failures import FailureSharing, ReplicaView
from ingress.replicas.messages import FailureRow

PLACE = ("shop/cart:80", "10.0.0.1:80")
OTHER = ("shop/cart:80", "10.0.0.2:80")


def here(failures: int, *, answers: bool = False) -> dict[EndpointPlace, FailingRow]:
    return {PLACE: FailingRow(*PLACE, failures, answers)}


def there(zone: str, failures: int, *, answers: bool = False) -> ReplicaView:
    return ReplicaView(zone, {PLACE: FailureRow(*PLACE, failures, answers)})


def told(*others: ReplicaView, own: int = 0, answers: bool = False) -> tuple[SuspectRow, ...]:
    workers = [here(own, answers=answers)] if own or answers else []
    return FailureSharing().turn(workers, others, "zone-a", 1.0)


def test_what_another_replica_has_seen_is_a_suspicion() -> None:
    assert told(there("zone-b", 1)) == (SuspectRow(*PLACE, False),)
    assert told(there("zone-b", 0, answers=True)) == ()
    assert told(own=4) == (), "the own failures need no others"


def test_two_zones_that_agree_eject_at_once() -> None:
    assert told(there("zone-b", 2), own=2) == (SuspectRow(*PLACE, True),)
    assert told(there("zone-b", 2), there("zone-c", 2)) == (SuspectRow(*PLACE, True),)


def test_what_only_another_zone_sees_ejects_nothing_here() -> None:
    assert told(there("zone-b", 5), there("zone-b", 5)) == (SuspectRow(*PLACE, False),)


def test_a_zone_that_gets_answers_agrees_with_nobody() -> None:
    assert told(there("zone-b", 5), there("zone-c", 5), there("zone-c", 0, answers=True)) == (
        SuspectRow(*PLACE, False),
    )
    assert told(there("zone-b", 5), own=0, answers=True) == (SuspectRow(*PLACE, False),)


def test_replicas_of_the_own_zone_are_enough_if_two_of_them_agree() -> None:
    assert told(there("zone-a", 3), own=2) == (SuspectRow(*PLACE, True),)
    assert told(there("zone-a", 1000)) == (SuspectRow(*PLACE, False),), "one alone could lie"


def test_replicas_without_a_zone_are_no_second_zone() -> None:
    assert told(there("", 2), own=2) == (SuspectRow(*PLACE, False),)


def test_an_agreement_is_told_once_and_a_suspicion_again_before_it_ends() -> None:
    sharing = FailureSharing()
    others = [there("zone-b", 2), there("zone-c", 2)]
    seen = {now: sharing.turn([], others, "zone-a", float(now)) for now in range(11)}
    assert {now: rows for now, rows in seen.items() if rows} == {
        0: (SuspectRow(*PLACE, True),),
        5: (SuspectRow(*PLACE, False),),
        10: (SuspectRow(*PLACE, False),),
    }
    assert sharing.agreed == {PLACE}
    assert sharing.turn([], [], "zone-a", 11.0) == ()
    assert sharing.agreed == frozenset()


def test_workers_of_one_replica_are_told_as_one() -> None:
    sharing = FailureSharing()
    sharing.turn([here(2), here(1), {OTHER: FailingRow(*OTHER, 0, True)}], [], "zone-a", 0.0)
    assert sharing.rows == {PLACE: FailureRow(*PLACE, 3, False), OTHER: FailureRow(*OTHER, 0, True)}
    sharing.turn([here(2), here(0, answers=True)], [], "zone-a", 0.0)
    assert sharing.rows[PLACE] == FailureRow(*PLACE, 2, True)
