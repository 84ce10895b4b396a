"""The grammar of durations in Gateway API (GEP-2257): up to four numbers with units, such as `1h30m` or `500ms`."""

from __future__ import annotations

import re

_DURATION = re.compile(r"([0-9]{1,5}(h|m|s|ms)){1,4}")
_PART = re.compile(r"([0-9]{1,5})(h|ms|m|s)")
_SECONDS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def duration_seconds(text: str) -> float | None:
    """The seconds of a duration; None for a text that is none."""
    if not _DURATION.fullmatch(text):
        return None
    return sum(int(number) * _SECONDS[unit] for number, unit in _PART.findall(text))
