"""Our reader of field lines and llhttp agree; `make fuzz` compares fifty times as many heads."""

from __future__ import annotations

from tests.features.fuzz.lines import run

_INPUTS = 20_000


def test_no_head_is_read_differently_from_llhttp() -> None:
    tally = run(inputs=_INPUTS, seed=3)
    assert tally.accepted > _INPUTS / 5, "inputs that are all refused show nothing"
    assert tally.refused > _INPUTS / 5
