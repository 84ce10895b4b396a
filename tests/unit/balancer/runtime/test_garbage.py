"""Full searches get shorter, and lose nothing for ever."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from weakref import ref

import pytest

from balancer.runtime.garbage import leave_out, short_searches


class Cycle:
    """Dies only if a search finds it."""

    def __init__(self) -> None:
        self.itself = self


@pytest.fixture(autouse=True)
def _all_else_is_left_out() -> Iterator[None]:
    """Apart from these tests' objects nothing is looked through, as `tests/conftest.py` has it."""
    gc.collect()
    yield
    gc.freeze()


def test_what_a_search_has_found_alive_is_left_out_of_the_next() -> None:
    kept = Cycle()
    with short_searches(lambda: 0.0):
        gc.collect()
        assert not any(each is kept for each in gc.get_objects())


def test_what_has_come_since_is_searched() -> None:
    with short_searches(lambda: 0.0):
        gc.collect()
        garbage = ref(Cycle())
        gc.collect()
    assert garbage() is None


@pytest.mark.large
def test_every_ten_minutes_everything_is_searched() -> None:
    now = 0.0
    with short_searches(lambda: now):
        kept = Cycle()
        gc.collect()
        garbage = ref(kept)
        del kept
        now = 599.0
        gc.collect()
        assert garbage() is not None
        now = 601.0
        gc.collect()
    assert garbage() is None


def test_afterwards_searches_are_as_ever() -> None:
    before = gc.get_threshold()
    with short_searches():
        assert gc.get_threshold() != before
    kept = Cycle()
    gc.collect()
    assert gc.get_threshold() == before
    assert any(each is kept for each in gc.get_objects())


def test_what_is_left_out_is_not_searched() -> None:
    kept = Cycle()
    leave_out()
    assert not any(each is kept for each in gc.get_objects())
