"""Limits the retries of a worker, so that failing endpoints do not multiply the load on the others.

Two bounds of 20 %: at one time, retries compared with requests in flight; over time, retries compared with all
requests. The second bound matters if attempts fail so quickly that hardly any is ever in flight.
"""

from __future__ import annotations

SHARE = 0.2
"""Retries for each request. A larger share would turn a partial failure into a whole one."""

AT_LEAST = 3
"""Retries at one time, and per second, that even an idle worker may make."""

# The most retries that quiet times save up: enough to notice that a zone of twenty endpoints is gone (5 failures eject
# one).
_SAVED_MAX = 100.0


class RetryBudget:
    """The budget of one worker. Times are seconds of a clock that never goes back."""

    __slots__ = ("_at", "_saved", "requests", "retries")

    def __init__(self, now: float) -> None:
        self._at = now
        self._saved = _SAVED_MAX
        self.requests = self.retries = 0

    def begin_request(self) -> None:
        """A request is in flight until `end_request`."""
        self.requests += 1
        if self._saved < _SAVED_MAX:
            self._saved = min(self._saved + SHARE, _SAVED_MAX)

    def end_request(self) -> None:
        self.requests -= 1

    def may_retry(self, now: float, *, nothing_sent: bool = False) -> bool:
        """Whether a retry is within both bounds.

        With `nothing_sent` the failed attempt loaded no endpoint, so only the bound over time applies: when an endpoint
        disappears, many requests may have chosen it at once.
        """
        self._saved = min(self._saved + (now - self._at) * AT_LEAST, _SAVED_MAX)
        self._at = now
        return self._saved >= 1.0 and (nothing_sent or self.retries < max(AT_LEAST, self.requests * SHARE))

    def begin_retry(self) -> None:
        """A retry that `may_retry` allowed is in flight until `end_retry`."""
        self._saved -= 1.0
        self.retries += 1

    def end_retry(self) -> None:
        self.retries -= 1
