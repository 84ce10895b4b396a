"""Both ways to nghttp2 are the same; what `run` does with an hour is done with a second here."""

from __future__ import annotations

import pytest

from balancer.http2.engine import SERVER, Engine
from balancer.http2.events import EngineLimits
from tests.features.fuzz.twins import compare, run


def test_nothing_differs() -> None:
    assert run(inputs=150, seed=7) > 1000


def test_a_difference_is_found() -> None:
    names: list[int] = []

    def counts(engine: Engine) -> int:
        names.append(len(names))
        return names[-1]

    with pytest.raises(AssertionError, match="step 0"):
        compare(SERVER, EngineLimits(), [counts])
