"""Guards: a table after others has places of its own, and memory of one process needs no guard."""

from __future__ import annotations

from balancer.sharing.guards import Beyond, Unguarded


class Noting:
    def __init__(self) -> None:
        self.calls: list[tuple[str, int]] = []

    def enter(self, place: int) -> None:
        self.calls.append(("enter", place))

    def leave(self, place: int) -> None:
        self.calls.append(("leave", place))


def test_the_places_of_a_table_come_after_those_of_the_tables_before_it() -> None:
    noting = Noting()
    guard = Beyond(noting, 100)
    guard.enter(5)
    guard.leave(5)
    assert noting.calls == [("enter", 105), ("leave", 105)]


def test_nobody_waits_for_memory_of_one_process() -> None:
    guard = Unguarded()
    guard.enter(0)
    guard.enter(0)
    guard.leave(0)
