"""What it is worth to `adaptive` that replicas of a zone see what all of them saw."""

from __future__ import annotations

import pytest

from tests.bench.fleet.together import FEW, FEW_LEARNT_SECONDS, together
from tests.bench.zones.measures import p99
from tests.bench.zones.routers import Adaptive, TwoChoices
from tests.bench.zones.simulation import Record, replay, requests


@pytest.mark.large
def test_few_requests_at_each_of_twelve_replicas_are_as_quick_as_blind_to_zones() -> None:
    """Alone, each replica knows a twelfth of the requests: 524 ms by the simulation that began this; blind 240."""
    asked = requests(FEW)
    alone, shared, blind = (settled(replay(FEW, asked, make)) for make in (Adaptive, together(), TwoChoices))
    assert shared <= 1.1 * blind
    assert shared < alone


def settled(record: Record) -> float:
    return p99(seconds for start, seconds, _ in record.answers if start >= FEW_LEARNT_SECONDS)
