"""All steps are taken, and the result is what the generator returns."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from balancer.runtime.steps import finished


def counting(taken: list[int], count: int) -> Generator[None, None, str]:
    for number in range(count):
        taken.append(number)
        yield
    return f"after {count}"


def failing() -> Generator[None, None, None]:
    yield
    raise ValueError("in a step")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_all_steps_are_taken(count: int) -> None:
    taken: list[int] = []
    assert finished(counting(taken, count)) == f"after {count}"
    assert taken == list(range(count))


def test_the_error_of_a_step_is_raised() -> None:
    with pytest.raises(ValueError, match="in a step"):
        finished(failing())
