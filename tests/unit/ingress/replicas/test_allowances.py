"""How much of another replica is read, and who may open a connection."""

from __future__ import annotations

import pytest

from ingress.replicas.allowances import Callers, ReadingBudget, newcomers_bucket, words_in
from ingress.replicas.messages import ROWS_MOST, HealthRow, Message, MessageRefusal, Picks, SpentRow, encode
from ingress.replicas.seen_columns import SeenColumns, packed


def busy(backends: int, *, clients: int = 0, number: int = 1) -> Message:
    """What a replica tells of so many backends that have had requests, and of clients of limits."""
    tags = tuple(range(1, backends + 1))
    return Message(
        number=number,
        picks=tuple(Picks(f"namespace-{each}/a-service-{each}", 10**6) for each in tags),
        load_table=packed(SeenColumns(tags, ([1.0] * backends,) * 6, ([0.1] * backends,) * 2)),
        spent=tuple(SpentRow(2**60, 2**60 + each, 10**6, 10**6) for each in range(clients)),
    )


def words(message: Message) -> int:
    return words_in(encode(message)) + words_in(b"", message)


def reads(budget: ReadingBudget, message: Message, now: float) -> None:
    assert budget.refusal(now) is None
    budget.take(encode(message))
    budget.learn(message)


def test_a_replica_with_500_busy_backends_needs_less_than_a_tenth() -> None:
    """It tells twice a second at most."""
    budget = ReadingBudget()
    for number in range(200):
        reads(budget, busy(500), 10.0 + number / 20.0)


def test_the_most_rows_that_a_replica_has_to_tell_are_read() -> None:
    budget, message = ReadingBudget(), busy(ROWS_MOST, clients=ROWS_MOST)
    without = Message(number=1, load_table=message.load_table, spent=message.spent)
    for number in range(100):  # requests of Services come each five seconds
        reads(budget, without if number % 10 else message, 10.0 + number / 2.0)


def test_what_a_replica_was_told_while_it_was_frozen_is_read_at_once() -> None:
    """Each fourth message is answered before the next one is sent."""
    budget = ReadingBudget()
    reads(budget, busy(1), 10.0)
    for _ in range(4):
        reads(budget, busy(ROWS_MOST), 20.0)


def test_messages_and_work_are_bounded_each_by_itself() -> None:
    budget = ReadingBudget()
    for _ in range(120):
        reads(budget, busy(0), 10.0)
    assert budget.refusal(10.0) is MessageRefusal.TOO_MANY
    another = ReadingBudget()
    while another.refusal(10.0) is None:
        reads(another, busy(ROWS_MOST), 10.0)
    assert another.refusal(10.0) is MessageRefusal.TOO_MUCH
    assert another.refusal(20.0) is None


def test_rows_count_beside_their_bytes() -> None:
    message = Message(number=1, health=tuple(HealthRow(str(each), 1, 0) for each in range(100)))
    assert words(message) == len(encode(message)) // 8 + 300


def test_an_address_may_call_as_often_as_replicas_need_and_a_crowd_of_addresses_displaces_none_that_calls() -> None:
    callers = Callers()
    for _ in range(128):
        assert callers.may_call("10.0.0.1", 10.0)
    assert not callers.may_call("10.0.0.1", 10.0)
    assert callers.may_call("10.0.0.2", 10.0)
    assert callers.may_call("10.0.0.1", 10.3)
    assert not callers.may_call("10.0.0.1", 10.3)
    for number in range(5000):
        callers.may_call(f"10.1.{number // 250}.{number % 250}", 10.3)
        assert not callers.may_call("10.0.0.1", 10.3)


@pytest.mark.parametrize("address", ["fd00::{:x}", "fd00::{:x}%eth0"])
def test_a_network_of_ipv6_is_one_address(address: str) -> None:
    callers = Callers()
    assert [callers.may_call(address.format(number), 10.0) for number in range(1, 130)] == [True] * 128 + [False]
    assert callers.may_call("fd00:0:0:1::1", 10.0)


def test_newcomers_may_come_at_once_and_one_a_second() -> None:
    bucket = newcomers_bucket(2)
    for now, is_left in ((10.0, True), (10.0, True), (10.5, False), (11.0, True), (11.5, False)):
        assert bucket.holds(now) is is_left
        if is_left:
            bucket.take()
