"""Whatever comes, a head is refused or has one meaning; `make fuzz` tries fifty times as many inputs."""

from __future__ import annotations

from random import Random

import pytest

from tests.features.fuzz.heads import run
from tests.features.fuzz.mutating import Mutator

_INPUTS = 20_000


def test_no_mutated_message_breaks_a_rule_of_the_parsers() -> None:
    tally = run(inputs=_INPUTS, seed=3)
    assert tally.accepted > _INPUTS / 10, "inputs that are all refused show nothing"
    assert tally.refused > _INPUTS / 10


@pytest.mark.parametrize("side", ["request", "response"])
def test_the_same_seed_makes_the_same_inputs(side: str) -> None:
    one, other = Mutator(Random(7), side), Mutator(Random(7), side)
    inputs = [one.next() for _ in range(100)]
    assert inputs == [other.next() for _ in range(100)]
    assert len(set(inputs)) > 90
