"""A value of CDN-Loop says how often a request has passed through zonal."""

from __future__ import annotations

import pytest

from balancer.http.looping import passes_of


@pytest.mark.parametrize(
    ("value", "count"),
    [
        (b"", 0),
        (b"zonal", 1),
        (b'foo123.foocdn.example, barcdn.example; trace="abcdef"', 0),  # the example of RFC 8586
        (b"Zonal ; hop=1,cdn.example,\tzonal", 2),
        (b"zonal.example, xzonal, zonal zonal", 0),
        (b",".join([b"zonal"] * 10), 10),
    ],
)
def test_every_element_that_names_zonal_counts(value: bytes, count: int) -> None:
    assert passes_of(value) == count
