"""Measures what a zone gets and gets done, and remembers what it carried while a queue stood.

While requests wait, a zone gets done what it can: its throughput is its capacity. Without a queue nothing is learned
about capacity. Does not know latencies, nor what is done with the rates.
"""

from __future__ import annotations

import math

from balancer.sharing.peers import Seen

# Rates are averaged over so many seconds, or requests if they take longer.
_RATE_SECONDS, _RATE_REQUESTS = 0.2, 100
# Arrivals that are compared with a capacity are averaged over so many windows: 3,200 requests have an error of 1.8 %.
_LONG_WINDOWS = 32.0
# The capacity is the mean of at most so many seconds with a queue.
_CARRIED_SECONDS = 5.0
# A queue grows for sure if it does so by so many standard deviations; a rate is asked many times a minute.
_PILE_ERRORS = 3.0
# A rate has changed if it differs from its average by so many standard deviations.
_CHANGE_ERRORS = 5.0


class ZoneFlow:
    """Requests a second: `rate` and `long_rate` of all picks, `done_rate` of what the own zone gets done.

    `has_queue`: a queue grew and is not gone yet; while it `is_full`, the zone gets done what it can. `capacity` is
    what it got done then; 0 until that was seen.
    """

    __slots__ = (
        "_done_seconds",
        "_full_seconds",
        "_long_seconds",
        "_seconds",
        "capacity",
        "done_rate",
        "has_queue",
        "is_full",
        "long_rate",
        "rate",
    )

    def __init__(self) -> None:
        self.rate = 0.0
        self.long_rate = 0.0
        self.done_rate = 0.0
        self.capacity = 0.0
        self.has_queue = False
        self.is_full = False
        self._seconds = 0.0
        self._long_seconds = 0.0
        self._done_seconds = 0.0
        self._full_seconds = 0.0

    @property
    def window(self) -> float:
        """The seconds over which `rate` is averaged."""
        return _window(self.rate)

    @property
    def has_changed(self) -> bool:
        """Whether `rate` differs from `long_rate` by more than chance explains."""
        apart = abs(self.rate - self.long_rate) * self.window
        return apart > _CHANGE_ERRORS * math.sqrt(max(self.rate, self.long_rate, 1.0) * self.window)

    def learn(self, seen: Seen, elapsed: float) -> None:
        """Adds what came in `elapsed` seconds."""
        picks, done = seen.picks / elapsed, seen.done / elapsed
        window = _window(max(self.rate, picks))
        self._seconds += elapsed
        self._long_seconds += elapsed
        # Until a window is full, the average is the mean of all that came: it does not begin at 0.
        self.rate += min(1.0, elapsed / min(window, self._seconds)) * (picks - self.rate)
        self.long_rate += min(1.0, elapsed / min(_LONG_WINDOWS * window, self._long_seconds)) * (picks - self.long_rate)
        if seen.done or self._done_seconds:
            self._done_seconds += elapsed  # the time before the first answer is no throughput
            self.done_rate += min(1.0, elapsed / min(window, self._done_seconds)) * (done - self.done_rate)
        if self.is_full:
            self._full_seconds = min(self._full_seconds + elapsed, max(_CARRIED_SECONDS, elapsed))
            self.capacity += elapsed / self._full_seconds * (done - self.capacity)

    def piles_up(self, *, share: float, seconds: float) -> bool:
        """Whether the zone gets more than it answers, by more than chance explains.

        `share` leaves the zone, and a request takes `seconds` there. The difference over a window is that of two
        numbers of requests in flight; the variance of each is its mean.
        """
        more = (self.rate * (1.0 - share) - self.done_rate) * self.window
        return more > _PILE_ERRORS * math.sqrt(2.0 * max(self.done_rate * seconds, 1.0))

    def note_queue(self, *, grows: bool, is_full: bool) -> None:
        """A queue begins if it `grows`; `is_full` counts only while there is one."""
        if grows and not self.has_queue:
            self.has_queue = True
            # What came before the queue says little about the load from now on.
            self.long_rate = self.rate
            self._long_seconds = 0.0
        self.is_full = self.has_queue and is_full

    def end_queue(self) -> None:
        """The queue is gone."""
        self.has_queue = False
        self.is_full = False

    def shrink(self, part: float) -> None:
        """Only this part of the endpoints is left. What endpoints that come can carry is seen in the next queue."""
        self.capacity *= part

    def share_beyond(self, part: float, *, errors: float = 0.0) -> float:
        """The share that must leave so that the zone gets `part` of its capacity; 1 while this is unknown.

        By so many standard `errors` of the comparison, the capacity counts for less.
        """
        if not self.capacity:
            return 1.0
        answers = self.capacity * self._full_seconds
        picks = self.long_rate * min(_LONG_WINDOWS * self.window, self._long_seconds)
        error = math.sqrt(1.0 / max(picks, 1.0) + 1.0 / max(answers, 1.0))
        return 1.0 - part * (1.0 - errors * error) * self.capacity / max(self.long_rate, 1e-9)


def _window(rate: float) -> float:
    return max(_RATE_SECONDS, _RATE_REQUESTS / max(rate, 1.0))
