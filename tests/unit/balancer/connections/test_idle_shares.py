"""Idle connections are divided among namespaces: who gives one back keeps it in place of one of who keeps most."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.connections.idle_shares import IdleShare, IdleShares


class Kept:
    """A pool with a number of idle connections."""

    def __init__(self, shares: IdleShares, namespace: str) -> None:
        self.idle = self.asked = 0
        self.share: IdleShare = shares.join(namespace, self)

    def end_idle(self) -> bool:
        self.asked += 1
        if not self.idle:
            return False
        self.idle -= 1
        self.share.count -= 1
        return True

    def keep(self) -> None:
        self.idle += 1
        self.share.count += 1


class Worker:
    """Pools of namespaces with room for `most` idle connections."""

    def __init__(self, most: int, *pools: str) -> None:
        self.shares, self._most = IdleShares(), most
        self.pools = [Kept(self.shares, namespace) for namespace in pools]

    @property
    def counts(self) -> list[int]:
        return [pool.idle for pool in self.pools]

    def give_back(self, pool: int) -> bool:
        """Whether a connection was kept."""
        share = self.pools[pool].share
        if share.count >= share.granted and not self.shares.grants(share, self._most):
            return False
        self.pools[pool].keep()
        return True


def test_one_namespace_keeps_as_many_as_there_may_be() -> None:
    worker = Worker(10, "greedy", "modest")
    assert [worker.give_back(0) for _ in range(12)] == [True] * 10 + [False] * 2


def test_a_modest_namespace_keeps_its_connections_beside_a_greedy_one() -> None:
    worker = Worker(10, "greedy", "greedy", "modest")
    for number in range(100):
        worker.give_back(number % 2)
    assert [worker.give_back(2) for _ in range(3)] == [True] * 3
    for number in range(100):
        worker.give_back(number % 2)
    assert worker.counts == [3, 4, 3]


def test_namespaces_that_keep_as_many_take_nothing_of_each_other() -> None:
    worker = Worker(4, "a", "b")
    for number in range(4):
        worker.give_back(number % 2)
    assert not worker.give_back(0)
    assert worker.counts == [2, 2]


def test_a_pool_that_has_left_is_not_asked_and_a_namespace_without_pools_is_forgotten() -> None:
    worker = Worker(2, "greedy", "greedy", "modest")
    worker.give_back(0)
    worker.give_back(0)
    gone, other = worker.pools[:2]
    worker.shares.leave(gone.share, gone)
    assert not worker.give_back(2)
    worker.shares.leave(other.share, other)
    assert worker.give_back(2)
    again = Kept(worker.shares, "greedy")
    assert again.share is not gone.share


def test_places_of_connections_in_use_are_for_who_needs_them() -> None:
    worker = Worker(2, "greedy", "modest")
    worker.give_back(0)
    worker.give_back(0)
    worker.pools[0].end_idle()  # or it was taken
    assert worker.give_back(1)
    assert not worker.give_back(0)
    assert worker.shares.count() == 2


def test_a_lower_bound_ends_connections_of_who_keeps_most_and_of_others_as_far_as_it_must() -> None:
    worker = Worker(10, "greedy", "modest")
    for number in range(8):
        worker.give_back(0 if number else 1)
    worker.shares.limit_to(4)
    assert worker.counts == [3, 1]
    worker.pools[0].end_idle()
    worker.shares.limit_to(1)
    assert sum(worker.counts) == 1
    worker.shares.limit_to(0)
    assert worker.shares.count() == 0


def test_without_any_room_nothing_is_kept() -> None:
    assert not Worker(0, "a").give_back(0)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 3)), max_size=200), st.integers(0, 8))
def test_there_are_never_more_than_the_bound_and_who_asks_gets_an_equal_part(
    steps: list[tuple[bool, int]], most: int
) -> None:
    worker = Worker(most, "a", "a", "b", "c")
    for gives, pool in steps:
        before = worker.counts
        if not gives:
            worker.pools[pool].end_idle()
        elif not worker.give_back(pool):
            of = [before[0] + before[1], before[2], before[3]]
            assert max(of) <= of[max(0, pool - 1)] + 1
        assert sum(worker.counts) <= most
        assert [pool.share.count for pool in worker.pools[1:]] == [sum(worker.counts[:2]), *worker.counts[2:]]


def test_pools_that_have_had_none_are_not_asked_for_each_connection() -> None:
    """A namespace has thousands of endpoints, and what it keeps goes to others: they must not pay for each of these."""
    worker = Worker(100, *["greedy"] * 1000, "modest")
    for _ in range(100):
        assert worker.give_back(999)
    assert all(worker.give_back(1000) for _ in range(50))
    assert sum(pool.asked for pool in worker.pools) < 1100


def test_a_pool_that_has_one_again_is_found() -> None:
    worker = Worker(4, "greedy", "greedy", "modest")
    assert [worker.give_back(1) for _ in range(4)] == [True] * 4
    assert worker.give_back(2)  # the first pool was asked, too
    share = worker.pools[0].share
    while share.end_one():
        pass
    worker.pools[0].keep()
    assert share.end_one()
    assert worker.counts == [0, 0, 1]
    assert not share.end_one()
