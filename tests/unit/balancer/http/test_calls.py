"""How far two messages are alike, from both ends."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from balancer.http.calls import alike_from_start, alike_to_end


def first_difference(one: bytes, other: bytes) -> int:
    return next(
        (place for place, (its, others) in enumerate(zip(one, other, strict=False)) if its != others),
        min(len(one), len(other)),
    )


FEW_BYTES = st.text("ab\r", max_size=12).map(str.encode)


@given(FEW_BYTES, FEW_BYTES, FEW_BYTES)
def test_bytes_are_alike_up_to_the_first_that_differs(one: bytes, before: bytes, other: bytes) -> None:
    assert alike_from_start(one, before + other, len(before)) == first_difference(one, other)


@given(FEW_BYTES, FEW_BYTES, st.integers(0, 12))
def test_bytes_are_alike_back_to_the_last_that_differs(one: bytes, other: bytes, most: int) -> None:
    most = min(most, len(one), len(other))
    assert alike_to_end(one, other, most) == min(most, first_difference(one[::-1], other[::-1]))
