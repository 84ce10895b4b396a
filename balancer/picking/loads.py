"""Measures how busy endpoints are, and chooses the less busy of two: latency averages and the power of two choices.

Does not know backends or zones. Time and randomness are arguments.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TypeVar

_T = TypeVar("_T")

DECAY_SECONDS = 10.0
"""After so many seconds an observation has lost 63 % of its weight, as in ingress-nginx's ewma."""


class Load:
    """The number of requests that a backend has in flight, over all its endpoints and across changes."""

    __slots__ = ("in_flight",)

    def __init__(self) -> None:
        self.in_flight = 0


class Latency:
    """A peak-sensitive moving average: a slower answer counts at once and in full, a quicker answer gradually.

    Without answers the average fades, so that a slow endpoint is tried again (Finagle's peak EWMA).
    """

    __slots__ = ("_at", "_seconds")

    def __init__(self, *, seconds: float, now: float) -> None:
        self._seconds = seconds
        self._at = now

    def observe(self, seconds: float, now: float) -> None:
        """Adds an answer that took `seconds`."""
        weight = self._weight(now)
        self._seconds = max(seconds, self._seconds * weight + seconds * (1.0 - weight))
        self._at = now

    def hold(self, now: float) -> None:
        """Keeps what has faded since the last answer from mattering: the endpoint was tried, and did not answer."""
        self._at = now

    def at(self, now: float) -> float:
        """The average in seconds."""
        return self._seconds * self._weight(now)

    def _weight(self, now: float) -> float:
        return math.exp(min(self._at - now, 0.0) / DECAY_SECONDS)


def better_of_two(items: Sequence[_T], *, cost: Callable[[_T], float], random_below: Callable[[int], int]) -> _T | None:
    """The cheaper of two different random items; None without items.

    Takes the same time for any number of items, and does not send every request to the one best item.
    """
    count = len(items)
    if count < 2:
        return items[0] if items else None
    first, second = random_below(count), random_below(count - 1)
    one, other = items[first], items[second + (second >= first)]
    return one if cost(one) <= cost(other) else other
