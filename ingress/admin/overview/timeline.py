"""Keeps the last hour of a replica as points for a chart: rates, shares and durations of each span.

Spans of the last minutes are short, and older ones longer.

Bounded in number and age. Time is an argument, in seconds. Does not know who looks.
"""

from __future__ import annotations

from collections import deque

import msgspec

from balancer.metrics.kinds import BUCKETS_SECONDS
from ingress.admin.overview.durations import quantile
from ingress.admin.overview.traffic import ServiceAccount

KEPT_SECONDS = 3600.0
FINE_SECONDS = 900.0
"""So long each span is kept as it was noted."""

COARSE_SECONDS = 15.0
_POINTS_MOST = 1000


class TimePoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """What happened in the `seconds` before `at_epoch_seconds`. Rates are for each second.

    `picks` are requests that got an endpoint, `spilled` those of them that left the zone because of its load or health.
    Durations are in seconds, None without a request. `blind_dollars` is what the bytes would have cost without zones.
    """

    at_epoch_seconds: float
    seconds: float
    local: float = 0.0
    remote: float = 0.0
    unknown: float = 0.0
    errors: float = 0.0
    picks: float = 0.0
    spilled: float = 0.0
    dollars: float = 0.0
    blind_dollars: float = 0.0
    p50_local: float | None = None
    p99_local: float | None = None
    p50_remote: float | None = None
    p99_remote: float | None = None


class _Reading(msgspec.Struct, frozen=True):
    """The account of the replica at one moment."""

    at: float
    local: float
    remote: float
    unknown: float
    errors: float
    picks: float
    spilled: float
    dollars: float
    blind_dollars: float
    local_buckets: tuple[float, ...]
    remote_buckets: tuple[float, ...]


class Timeline:
    """The points of the last `KEPT_SECONDS`."""

    __slots__ = ("_coarse", "_last", "_last_coarse", "_points")

    def __init__(self) -> None:
        self._points: deque[TimePoint] = deque(maxlen=_POINTS_MOST)
        self._coarse: deque[TimePoint] = deque(maxlen=_POINTS_MOST)
        self._last: _Reading | None = None
        self._last_coarse: _Reading | None = None

    def note(self, account: ServiceAccount, *, now: float) -> TimePoint | None:
        """Adds a point for the time since the last call. None at the first call, or if no time has passed."""
        reading, last = _read(account, now), self._last
        if last is not None and now <= last.at:
            return None
        self._last = reading
        if last is None:
            self._last_coarse = reading
            return None
        point = _point(last, reading)
        self._points.append(point)
        while self._points[0].at_epoch_seconds < now - FINE_SECONDS:
            self._points.popleft()
        self._note_coarse(reading)
        return point

    def _note_coarse(self, reading: _Reading) -> None:
        before = self._last_coarse
        if before is None or reading.at - before.at < COARSE_SECONDS:
            return
        self._last_coarse = reading
        self._coarse.append(_point(before, reading))
        while self._coarse[0].at_epoch_seconds < reading.at - KEPT_SECONDS:
            self._coarse.popleft()

    def points(self) -> tuple[TimePoint, ...]:
        """All points, the oldest first. No two tell of the same time but for the span in which short ones begin."""
        if not self._points:
            return ()
        begin = self._points[0].at_epoch_seconds - self._points[0].seconds
        return (*(each for each in self._coarse if each.at_epoch_seconds - each.seconds < begin), *self._points)


def _read(account: ServiceAccount, now: float) -> _Reading:
    return _Reading(
        at=now,
        local=account.local,
        remote=account.remote,
        unknown=account.unknown,
        errors=account.errors,
        picks=sum(account.reasons.values()),
        spilled=account.spilled,
        dollars=account.dollars,
        blind_dollars=account.blind_dollars,
        local_buckets=tuple(account.local_buckets),
        remote_buckets=tuple(account.remote_buckets),
    )


def _point(last: _Reading, now: _Reading) -> TimePoint:
    seconds = now.at - last.at
    local_buckets = [after - before for before, after in zip(last.local_buckets, now.local_buckets, strict=True)]
    remote_buckets = [after - before for before, after in zip(last.remote_buckets, now.remote_buckets, strict=True)]
    return TimePoint(
        at_epoch_seconds=now.at,
        seconds=seconds,
        local=(now.local - last.local) / seconds,
        remote=(now.remote - last.remote) / seconds,
        unknown=(now.unknown - last.unknown) / seconds,
        errors=(now.errors - last.errors) / seconds,
        picks=(now.picks - last.picks) / seconds,
        spilled=(now.spilled - last.spilled) / seconds,
        dollars=(now.dollars - last.dollars) / seconds,
        blind_dollars=(now.blind_dollars - last.blind_dollars) / seconds,
        p50_local=quantile(0.5, BUCKETS_SECONDS, local_buckets),
        p99_local=quantile(0.99, BUCKETS_SECONDS, local_buckets),
        p50_remote=quantile(0.5, BUCKETS_SECONDS, remote_buckets),
        p99_remote=quantile(0.99, BUCKETS_SECONDS, remote_buckets),
    )
