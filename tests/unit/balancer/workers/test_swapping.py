"""No slice takes much longer than its time, what is overtaken is left out, and an error stops nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from balancer.workers.swapping import Steps, Swaps

SLICE = 10.0


class Scene:
    """A worker whose steps take as long as `costs` says, each in turn, and a loop that is turned by hand."""

    def __init__(self, costs: list[float], broken: frozenset[int] = frozenset()) -> None:
        self.costs = costs
        self.broken = broken
        self.now = 0.0
        self.done: list[int] = []
        self.failed: list[int] = []
        self.slices: list[float] = []
        self.rests: list[float] = []
        self._later: deque[Callable[[], None]] = deque()
        self.swaps = Swaps(
            used=self.done.append,
            failed=lambda generation, _: self.failed.append(generation),
            later=self.later,
            clock=lambda: self.now,
            slice_seconds=SLICE,
        )

    def later(self, rest: float, call: Callable[[], None]) -> None:
        self.rests.append(rest)
        self._later.append(call)

    def steps(self, generation: int) -> Steps:
        for cost in self.costs:
            self.now += cost
            yield
        if generation in self.broken:
            raise RuntimeError("a bug")

    def take(self, generation: int) -> None:
        self.timed(lambda: self.swaps.take(generation, self.steps(generation)))

    def turn(self) -> bool:
        """One turn of the loop. Whether there was anything to do."""
        if not self._later:
            return False
        self.timed(self._later.popleft())
        return True

    def turn_until_idle(self) -> None:
        while self.turn():
            pass

    def timed(self, call: Callable[[], None]) -> None:
        began = self.now
        call()
        self.slices.append(self.now - began)


def begun(costs: list[float], broken: frozenset[int] = frozenset()) -> Scene:
    """A scene after its first publication."""
    scene = Scene([], broken)
    scene.take(1)
    assert scene.done == [1]
    scene.costs = costs
    scene.slices.clear()
    return scene


def test_the_first_publication_is_used_at_once() -> None:
    scene = Scene([SLICE] * 5)
    scene.take(1)
    assert scene.done == [1]
    assert not scene.turn()


def test_what_fits_into_a_slice_is_used_at_once() -> None:
    scene = begun([1.0, 1.0, 1.0])
    scene.take(2)
    assert scene.done == [1, 2]


@given(st.lists(st.floats(0.0, 3 * SLICE), max_size=40))
def test_no_slice_is_longer_than_its_time_and_one_step(costs: list[float]) -> None:
    scene = begun(costs)
    scene.take(2)
    scene.turn_until_idle()
    assert scene.done == [1, 2]
    assert max(scene.slices) <= SLICE + max(costs, default=0.0)


def test_while_one_is_under_way_only_the_newest_waits() -> None:
    scene = begun([SLICE] * 3)
    for generation in (2, 3, 4, 5):
        scene.take(generation)
    assert scene.done == [1]
    scene.turn_until_idle()
    assert scene.done == [1, 2, 5]


def test_endless_changes_do_not_keep_one_from_being_used() -> None:
    scene = begun([SLICE] * 4)
    for generation in range(2, 42):
        scene.take(generation)
        scene.turn()
    assert len(scene.done) > 5
    assert scene.done == sorted(scene.done)


def test_one_that_fails_is_told_and_the_next_is_used() -> None:
    scene = begun([SLICE] * 2, broken=frozenset({2}))
    scene.take(2)
    scene.take(3)
    scene.turn_until_idle()
    assert (scene.done, scene.failed) == ([1, 3], [2])


def test_after_a_first_one_that_fails_the_next_is_used_at_once() -> None:
    scene = Scene([SLICE] * 2, broken=frozenset({1}))
    scene.take(1)
    scene.take(2)
    assert (scene.done, scene.failed) == ([2], [1])


def test_only_a_large_change_makes_the_loop_rest_between_slices() -> None:
    scene = begun([SLICE] * 3)
    scene.take(2)
    scene.turn_until_idle()
    assert not any(scene.rests)
    scene.costs = [SLICE] * 20
    scene.take(3)
    scene.turn_until_idle()
    assert sum(map(bool, scene.rests)) > 10
