"""Holds a share of requests that leave a zone, and moves it in steps on evidence.

Common to what leaves for load (`adaptive`) and for errors (`evacuation`): a little always stays, noise makes steps
smaller, changes of direction are remembered, and whoever moved in vain waits. Does not know what the evidence is. Time
is an argument, in seconds.
"""

from __future__ import annotations

import math

from balancer.zones.verdicts import ALL_BASIS_POINTS

LOCAL_LEAST = 0.03
"""Always kept in the zone, so that its recovery becomes visible."""

# One change of direction is forgotten in so many seconds: two a minute are the goal.
_FORGOTTEN_SECONDS = 30.0
# Every change of direction makes steps so much smaller, down to the least. Steps in one direction grow again, by a
# factor of e in so many seconds. So noise around the optimum moves the share less and less (Kesten's rule).
_TURNED, _PACE_LEAST, _PACE_SECONDS = 0.35, 0.06, 4.0


class MovingShare:
    """A share from 0 to `most`; `most` leaves at least `LOCAL_LEAST` in the zone.

    `direction` is that of the last step: 1 up, -1 down, 0 none. `turns` are the changes of direction that are
    remembered, a number that falls with time.
    """

    __slots__ = ("_pace", "direction", "most", "turns", "value")

    def __init__(self, most: float = 1.0) -> None:
        self.most = min(most, 1.0 - LOCAL_LEAST)
        self.value = 0.0
        self.turns = 0.0
        self.direction = 0
        self._pace = 1.0

    @property
    def basis_points(self) -> int:
        """How many of 10,000 requests leave."""
        return round(self.value * ALL_BASIS_POINTS)

    def move(self, value: float) -> None:
        """The share is `value` from now on, within its bounds."""
        self.value = max(0.0, min(value, self.most))

    def take_over(self, value: float, direction: int) -> None:
        """The share is `value`, after a step in `direction` that somebody else took."""
        self.move(value)
        self.direction = direction

    def step(self, direction: int, seconds: float) -> float:
        """Notes a step in `direction` for `seconds`. Returns which part of the step to take."""
        turned = direction == -self.direction
        self.turns += turned
        self.direction = direction
        pace = self._pace * (_TURNED if turned else math.exp(seconds / _PACE_SECONDS))
        self._pace = min(1.0, max(pace, _PACE_LEAST))
        return self._pace

    def forget(self, seconds: float) -> None:
        """Forgets changes of direction, as `seconds` have passed."""
        self.turns = max(0.0, self.turns - seconds / _FORGOTTEN_SECONDS)

    def end(self) -> None:
        """The share is 0, and nothing of its way is remembered."""
        self.value = 0.0
        self.direction = 0
        self._pace = 1.0
        self.turns = 0.0


class Pause:
    """A wait before the next try, twice as long each time until a try was worth it."""

    __slots__ = ("_least", "_most", "seconds", "until")

    def __init__(self, least_seconds: float, most_seconds: float) -> None:
        self._least = least_seconds
        self._most = most_seconds
        self.seconds = least_seconds
        self.until = 0.0

    def begin(self, now: float) -> None:
        """The try was in vain: waits from now on. The next wait is twice as long."""
        self.until = now + self.seconds
        self.seconds = min(2.0 * self.seconds, self._most)

    def take_over(self, until: float, seconds: float) -> None:
        """Waits until then, and the next wait is of `seconds`."""
        self.until = until
        self.seconds = seconds

    def shorten(self) -> None:
        """The try was worth it: the next wait is the shortest again."""
        self.seconds = self._least
