"""What is remembered of header blocks is what would be read anew; `make fuzz` tries hundreds of times as many."""

from __future__ import annotations

from tests.features.fuzz.blocks import run

_BLOCKS = 2500


def test_no_block_is_taken_for_another() -> None:
    tally = run(inputs=_BLOCKS, seed=5)
    assert tally.accepted > _BLOCKS / 2
    assert tally.recognised > _BLOCKS / 5, "a reader that recognises nothing shows nothing"
