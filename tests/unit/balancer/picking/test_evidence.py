"""Nothing is counted but answers while all is well; failures are counted by client, and fade."""

from __future__ import annotations

import pytest

from balancer.picking import ejections
from balancer.picking.comparing import Score
from balancer.picking.evidence import MEMORY_SECONDS, Experience, Witness
from balancer.sharing.zone_peers import PLACES
from tests.unit.balancer.picking.clients import place_of


class Two:
    """Two endpoints; the second one serves well."""

    def __init__(self) -> None:
        self.one, self.other = Experience(), Experience()
        self.witness = Witness((self.one, self.other), place_of)

    @property
    def flags(self) -> tuple[bool, bool]:
        """Whether the first one is watched, and whether it is out."""
        return self.one.is_watched, self.one.is_out

    @property
    def keeps(self) -> int:
        """Of how many endpoints something is kept."""
        return sum(each.met is not None for each in (self.one, self.other))

    def serve(self, count: int) -> None:
        self.other.answers += count


def test_a_good_answer_costs_one_counter_until_something_fails() -> None:
    two = Two()
    two.one.answers += 1000
    assert two.flags == (False, False)
    two.witness.note_failure(two.one, "10.0.0.1", 5.0)
    assert two.flags == (True, False)
    assert two.witness.compare(two.one).own == (1.0, 1.0), "what was before the first failure does not count"


def test_what_others_did_meanwhile_is_compared() -> None:
    two = Two()
    for number in range(20):
        two.witness.note_failure(two.one, "10.0.0.1", number * 0.01)
        two.serve(1)
    own, rest, others = two.witness.compare(two.one)
    assert own == rest
    assert own.share == 1.0
    assert others.failures == 0.0
    assert others.answers >= 10


def test_failures_fade_and_watching_ends() -> None:
    two = Two()
    two.witness.note_failure(two.one, "10.0.0.1", 0.0)
    assert two.one.burden(0.0) == 1.0
    assert two.one.burden(MEMORY_SECONDS) == pytest.approx(0.368, abs=0.001)
    two.one.answers += 1
    two.witness.note_answer(two.one, "10.0.0.1", 4 * MEMORY_SECONDS)
    assert two.flags == (False, False)
    assert two.one.burden(4 * MEMORY_SECONDS) == 0.0


def test_a_failure_that_comes_when_the_last_ones_have_faded_is_the_first_of_new_ones() -> None:
    two = Two()
    two.witness.note_failure(two.one, "10.0.0.1", 0.0)
    two.one.answers += 7
    two.witness.note_failure(two.other, "10.0.0.1", 8 * MEMORY_SECONDS)
    assert two.flags == (True, False)
    assert two.witness.compare(two.other).own == (1.0, 1.0)
    assert two.witness.compare(two.one).own == (0.0, 0.0), "what was before the first failure does not count"


def test_nothing_is_kept_of_an_endpoint_while_nothing_fails() -> None:
    two = Two()
    kept = [two.keeps]
    two.witness.note_failure(two.other, "10.0.0.1", 0.0)
    kept.append(two.keeps)
    two.witness.note_answer(two.one, "10.0.0.1", 8 * MEMORY_SECONDS)
    assert [*kept, two.keeps] == [0, 2, 0]


def test_an_endpoint_that_comes_meanwhile_is_counted() -> None:
    two, third = Two(), Experience()
    two.witness.note_failure(two.one, "10.0.0.1", 0.0)
    two.witness.follow((two.one, two.other, third))
    third.answers += 3
    assert two.witness.compare(third).own == (0.0, 3.0)


def test_the_rest_is_without_the_clients_who_failed_most() -> None:
    two = Two()
    for client in ("10.0.0.1", "10.0.0.2"):
        two.witness.note_failure(two.one, client, 0.0)
    for _ in range(50):
        two.witness.note_failure(two.one, "10.0.0.3", 0.0)
    own, rest, _ = two.witness.compare(two.one)
    assert own.failures == 52.0
    # Two of the three may share a place by the chance of hashes.
    assert rest.failures <= 2.0 or rest == own
    assert two.one.burden(0.0) == rest.failures


def test_who_is_out_counts_for_nothing_and_begins_anew() -> None:
    two = Two()
    two.witness.note_failure(two.one, "10.0.0.1", 0.0)
    two.witness.take_out(two.one)
    two.witness.note_failure(two.one, "10.0.0.1", 0.5)
    two.one.answers += 5
    assert two.flags == (True, True)
    assert two.one.burden(0.5) == 0.0
    two.witness.note_failure(two.other, "10.0.0.1", 1.0)
    assert two.witness.compare(two.other).others.answers == 0.0
    two.witness.take_back(two.one)
    assert two.flags == (False, False)
    assert two.witness.compare(two.one).own.answers == 0.0


def test_an_endpoint_that_comes_is_compared_too() -> None:
    two, third = Two(), Experience()
    two.witness.note_failure(two.one, "10.0.0.1", 0.0)
    two.witness.follow((two.one, two.other, third))
    third.answers += 30
    two.witness.note_failure(two.one, "10.0.0.1", 1.0)
    assert two.witness.compare(two.one).others.answers == 30.0


def test_a_single_client_is_believed_only_if_it_knows_the_other_endpoints() -> None:
    two = Two()
    for number in range(20):
        now = number * 0.01
        two.witness.note_failure(two.one, "10.0.0.1", now)
        two.other.answers += 1
        two.witness.note_answer(two.other, "10.0.0.1", now)
    assert two.witness.compare(two.one).rest.failures > 19.0
    assert two.one.burden(0.2) > 0.0

    for _ in range(5):
        two.other.answers += 1
        two.witness.note_answer(two.other, "10.0.0.2", 0.2)
    two.witness.note_failure(two.one, "10.0.0.1", 0.2)
    assert two.witness.compare(two.one).rest.failures == 0.0
    assert two.one.burden(0.2) == 0.0


@pytest.mark.parametrize(("good", "failures"), [(0, 9.0), (3, 0.0), (30, 0.0)])
def test_what_another_worker_tells_of_one_client_is_not_believed_of_one_that_is_served_well(
    good: int, failures: float
) -> None:
    """Both have one place. It is the same client if this worker has sent none of its requests there lately."""
    two = Two()
    two.witness.doubt(two.one, 0.0, MEMORY_SECONDS)
    for number in range(good):
        two.one.answers += 1
        two.witness.note_answer(two.one, "10.0.0.0", number * 0.01)
    nothing = [0.0] * PLACES
    told = ejections.Testimony(Score(9.0, 9.0), Score(0.0, 9.0), tuple(nothing), (9.0, *nothing[1:]), tuple(nothing))
    assert two.witness.compare(two.one, told).rest.failures == failures
