"""Durations are those of GEP-2257."""

from __future__ import annotations

import pytest

from ingress.translation.gateway.durations import duration_seconds


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0s", 0.0),
        ("1h30m", 5400.0),
        ("500ms", 0.5),
        ("10s", 10.0),
        ("soon", None),
        ("1", None),
        ("-1s", None),
        ("", None),
    ],
)
def test_a_duration(text: str, seconds: float | None) -> None:
    assert duration_seconds(text) == seconds
